"""Each folder of fleet-examples that is one fleet can be applied as it stands; where it has an `expected/plan.txt`, its
plan reads so.

After a change that is meant, `UPDATE_EXAMPLES=1 .venv/bin/pytest tests/examples` writes the files anew.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from fleetctl.cli import run

ROOT = Path(__file__).parents[2] / "fleet-examples"
EXAMPLES = sorted(path.parent for path in ROOT.glob("*/fleet.yaml"))
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.name)
def example(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def fleet(example: Path, tmp_path: Path) -> Path:
    """The example where nothing has been applied yet."""
    shutil.copytree(example, tmp_path / "fleet", ignore=shutil.ignore_patterns(".fleet", "expected"))
    return tmp_path / "fleet"


@pytest.mark.parametrize("example", [path for path in EXAMPLES if (path / "expected/plan.txt").exists()], indirect=True)
def test_the_plan_of_an_example_is_the_expected_one(
    example: Path, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(fleet)]) == 0
    plan = _TIME.sub("(time)", capsys.readouterr().out)
    expected = example / "expected" / "plan.txt"
    if os.environ.get("UPDATE_EXAMPLES"):
        expected.write_text(plan)
    assert plan == expected.read_text()


def test_an_example_applied_twice_has_no_changes_and_no_drift(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(fleet)]) == 0
    assert run(["apply", str(fleet), "--yes"]) == 0
    capsys.readouterr()
    assert run(["plan", str(fleet), "--detailed-exitcode"]) == 0
    assert "No changes." in capsys.readouterr().out
    assert run(["drift", str(fleet)]) == 0
