"""The guard of files that were cut short."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetctl.desired.load import load
from tests.fleetctl.guards.case import Case

HEAD = "apiVersion: fleet/v1\ntenantId: root\ncaller: sa_fleet\npools:\n"
POOL = "  - {idempotencyKey: a, siteId: site_fra1, class: metal-host, gpuModel: H100, offers: [%s]}"


def rules(directory: Path, text: str, offered: int = 8) -> list[str]:
    case = Case()
    case.pool("a", acme=offered)
    (directory / "fleet.yaml").write_text(text)
    return [problem.rule for problem in case.judged(load(directory)) if problem.severity == "error"]


def test_a_file_that_ends_inside_a_line_takes_nothing_away(tmp_path: Path) -> None:
    text = HEAD + POOL % ""
    assert rules(tmp_path, text) == ["files.cut"]
    assert rules(tmp_path, text + "\n") == []


FLEET = HEAD + POOL % "" + "\n"


@pytest.mark.parametrize("text", ["", "# gone\n", "---\n", "null\n", "{}\n", "x-a: 1\n", "apiVersion: fleet/v1\n"])
def test_a_file_that_says_nothing_takes_nothing_away(tmp_path: Path, text: str) -> None:
    (tmp_path / "offers.yaml").write_text(text)
    assert rules(tmp_path, FLEET) == ["files.blank"]
    assert rules(tmp_path, FLEET.replace("offers: []", "offers: [{toTenantId: acme, quota: {gpu: 9}}]")) == []


@pytest.mark.parametrize("gone", ["", "# gone\n", "~\n", "{}\n", "apiVersion: fleet/v1\n"])
@pytest.mark.parametrize("first", [True, False])
def test_nor_does_a_document_beside_others(tmp_path: Path, gone: str, first: bool) -> None:
    parts = [f"---\n{gone}", f"---\n{FLEET}"]
    text = "".join(parts if first else reversed(parts))
    assert rules(tmp_path, text) == ["files.blank"]
    [line] = load(tmp_path).blank.values()
    begins = 1 if first else len(FLEET.splitlines()) + 2
    assert line in (begins, begins + 1)


def test_it_is_harmless_where_nothing_is_taken(tmp_path: Path) -> None:
    assert rules(tmp_path, HEAD + POOL % "{toTenantId: acme, quota: {gpu: 9}}") == []
