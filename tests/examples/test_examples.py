"""Each folder of fleet-examples that is one fleet can be applied as it stands, and is then in sync."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fleetctl.cli import run

ROOT = Path(__file__).parents[2] / "fleet-examples"
EXAMPLES = sorted(path.parent for path in ROOT.glob("*/fleet.yaml"))


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.name)
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The example where nothing has been applied yet."""
    shutil.copytree(request.param, tmp_path / "fleet", ignore=shutil.ignore_patterns(".fleet", "expected"))
    return tmp_path / "fleet"


def test_an_example_applied_twice_has_no_changes_and_no_drift(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(fleet)]) == 0
    assert run(["apply", str(fleet), "--yes"]) == 0
    capsys.readouterr()
    assert run(["plan", str(fleet), "--detailed-exitcode"]) == 0
    assert "No changes." in capsys.readouterr().out
    assert run(["drift", str(fleet)]) == 0
