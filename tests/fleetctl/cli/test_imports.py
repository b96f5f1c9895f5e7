"""A command imports what it does: those that do little start at once."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fleetctl.cli.runs import Fleet

HEAVY = {
    "alembic",
    "cel_expr_python",
    "deepdiff",
    "httpx",
    "jinja2",
    "jsonschema",
    "msgspec",
    "pydantic",
    "ruamel.yaml",
    "sqlalchemy",
    "yaml",
    "fleetctl.desired",
    "fleetctl.live",
    "fleetctl.plan",
    "fleetctl.session",
}
LIGHT = {
    "--help": set(),
    "plan --help": set(),
    "apply --help": set(),
    "schema --help": set(),
    "id fra1-a --tenant root --caller sa_fleet": set(),
    "explain guard.archives": set(),
    "explain CONFLICT": set(),
    "fmt fleet.yaml --check": {"yaml"},
    "fmt broken.yaml": {"yaml"},
    "show drift.json": {"msgspec"},
    "show drift.json --format json": {"msgspec"},
    "show drift.json --format markdown": {"msgspec"},
    "show drift.json --format html": {"msgspec", "jinja2"},
    "show nothing.json": {"msgspec"},
}
"""Command -> what of the heavy it needs."""
FEW_NEED = {
    "better_compute.api",
    "better_compute.service",
    "better_compute.storage",
    "fleetctl.apply",
    "fleetctl.checks",
    "fleetctl.report.forms",
    "fleetctl.together",
    "fleetctl.undo",
}
"""What a plan of files alone, without checks and without an embedded control plane, does nothing with."""
IMPORTED = """\
import sys
sys.argv = ["fleetctl", *sys.argv[1:]]
from fleetctl.entry import main
sys.stdout = open("/dev/null", "w")
main()
sys.stdout = sys.__stdout__
print("\\n".join(sys.modules))
"""


def imported(*arguments: str, cwd: Path | None = None) -> set[str]:
    """The modules that a run leaves imported."""
    command = [sys.executable, "-c", IMPORTED, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd)
    return set(ran.stdout.split())


@pytest.mark.parametrize("command", LIGHT)
def test_it_imports_nothing_heavy_that_it_does_not_need(command: str, fleet: Fleet) -> None:
    (fleet.directory / "drift.json").write_text(fleet.on("drift", "--format", "json").out)
    (fleet.directory / "broken.yaml").write_text("a: [")
    modules = imported(*command.split(), cwd=fleet.directory)
    assert "click" in modules
    assert modules & HEAVY == LIGHT[command]


@pytest.mark.parametrize("command", ["--help", "plan --help", "schema --help"])
def test_help_knows_little_of_the_control_plane(command: str) -> None:
    assert not {
        name for name in imported(*command.split()) if name.startswith("better_compute") and name.count(".") > 2
    }


def test_a_plan_imports_nothing_that_few_plans_need(fleet: Fleet) -> None:
    fleet.make()
    assert fleet.on("snapshot", "--out", str(fleet.directory / "live.json")).code == 0
    modules = imported("plan", "--snapshot", "live.json", cwd=fleet.directory)
    assert "fleetctl.plan" in modules
    assert modules & FEW_NEED == set()


def test_the_version_imports_not_even_click() -> None:
    modules = imported("--version")
    assert "fleetctl" in modules
    assert "click" not in modules
    assert "importlib.metadata" not in modules


def test_what_is_heavy_would_be_seen(fleet: Fleet) -> None:
    assert all(find_spec(name) for name in HEAVY | FEW_NEED)
    assert imported("plan", cwd=fleet.directory) & HEAVY >= {"pydantic", "sqlalchemy", "httpx", "yaml", "fleetctl.plan"}
