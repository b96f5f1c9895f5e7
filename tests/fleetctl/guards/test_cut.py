"""The guard of files that were cut short."""

from __future__ import annotations

from pathlib import Path

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


def test_it_is_harmless_where_nothing_is_taken(tmp_path: Path) -> None:
    assert rules(tmp_path, HEAD + POOL % "{toTenantId: acme, quota: {gpu: 9}}") == []
