"""What the README shows is read as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fleetctl.desired import check
from fleetctl.desired.load import load
from fleetctl.formatting import format_text

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
FLEETS = [block for block in BLOCKS if "apiVersion" in block]


@pytest.mark.parametrize("block", BLOCKS)
def test_yaml_stands_as_it_is_formatted(block: str) -> None:
    assert format_text(block) == block


@pytest.mark.parametrize("block", FLEETS)
def test_a_fleet_is_one_that_validates(block: str, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(block)
    assert [problem for problem in check.problems(load(tmp_path)) if problem.severity == "error"] == []


def test_there_is_a_fleet_to_look_at() -> None:
    assert FLEETS
