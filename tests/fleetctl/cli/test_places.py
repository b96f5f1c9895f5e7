"""Files in what hosts of pull requests read: named from the top of the repository, wherever the command runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.fleetctl.cli.runs import Fleet
from tests.repository import Repository

BROKEN = "apiVersion: fleet/v1\ntenantId: root\npools: [{idempotencyKey: a, sit: b}]\n"


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place with a broken fleet in `fleets/fra1`."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    directory = tmp_path / "top" / "fleets" / "fra1"
    directory.mkdir(parents=True)
    (directory / "fleet.yaml").write_text(BROKEN)
    return tmp_path / "top"


def places(fleet: Fleet, path: str, form: str) -> set[str]:
    """The files that a run names."""
    out = fleet("validate", path, "--format", form).out
    if form == "sarif":
        (run,) = json.loads(out)["runs"]
        where = [result["locations"][0]["physicalLocation"] for result in run["results"]]
        return {place["artifactLocation"]["uri"] for place in where}
    return set(re.findall(r"""file="?([^",]+)""", out))


@pytest.mark.parametrize("form", ["github", "sarif", "junit"])
class TestFiles:
    def named(self, fleet: Fleet, top: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
        """From the top, from inside the fleet, and from elsewhere."""
        found = []
        for here, path in ((top, "fleets/fra1"), (top / "fleets" / "fra1", "."), (top / "fleets", "fra1/fleet.yaml")):
            monkeypatch.chdir(here)
            found.append(places(fleet, path, form))
        return found

    def test_are_named_from_the_top_of_the_repository(
        self, fleet: Fleet, top: Path, form: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Repository(top)
        monkeypatch.setenv("GITHUB_WORKSPACE", str(top.parent))
        assert self.named(fleet, top, form, monkeypatch) == [{"fleets/fra1/fleet.yaml"}] * 3
        (top / "link").symlink_to("fleets")
        assert places(fleet, str(top / "link" / "fra1"), form) == {"fleets/fra1/fleet.yaml"}

    def test_else_from_the_workspace_of_the_job(
        self, fleet: Fleet, top: Path, form: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(top))
        assert self.named(fleet, top, form, monkeypatch) == [{"fleets/fra1/fleet.yaml"}] * 3

    def test_else_from_where_the_command_runs(
        self, fleet: Fleet, top: Path, form: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = [{"fleets/fra1/fleet.yaml"}, {"fleet.yaml"}, {"fra1/fleet.yaml"}]
        assert self.named(fleet, top, form, monkeypatch) == expected
