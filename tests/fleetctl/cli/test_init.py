"""`fleetctl init`: a fleet that works at once, in the place of nothing that is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from jsonschema import Draft202012Validator

from fleetctl.cli.group import fleetctl
from fleetctl.files import read_text
from tests.fleetctl.cli.runs import Fleet, process

WRITTEN = {
    ".gitignore",
    "fleet.yaml",
    "first.fleet-test.yaml",
    "pools/first-site.yaml",
    "schemas/fleet-test.v1.json",
    "schemas/fleet.v1.json",
    "schemas/world.v1.json",
    "world.yaml",
    ".github/CODEOWNERS",
    ".github/workflows/fleet.yml",
}
URL = "https://compute.example.com"


@pytest.fixture
def begun(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to begin in, and to stand in."""
    directory = fleet.directory / "begun"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "flags", [(), ("--fleet", "fra1", "--tenant", "platform", "--caller", "sa_other")], ids=["plain", "named"]
)
def test_what_it_begins_works_at_once(fleet: Fleet, begun: Path, flags: tuple[str, ...]) -> None:
    ran = fleet("init", *flags)
    assert (ran.code, ran.err) == (0, "")
    assert files(begun) == WRITTEN
    for command in ("validate", "test", "fmt --check", "plan --detailed-exitcode", "apply --yes", "drift", "whoami"):
        name, *more = command.split()
        ran = fleet(name, *more)
        assert ran.code == (2 if name == "plan" else 0), (command, ran)
    planned = json.loads(fleet("plan", "--format", "json").out)
    assert planned["summary"]["operations"] == 0
    assert planned["findings"] == []


def test_its_plan_shows_a_few_creations(fleet: Fleet, begun: Path) -> None:
    assert fleet("init").code == 0
    assert begun.is_dir()
    assert json.loads(fleet("plan", "--format", "json").out)["summary"]["actions"] == {
        "archive": 0,
        "create": 2,
        "offer": 3,
        "setQuota": 0,
        "unoffer": 0,
        "update": 0,
    }


def test_the_way_to_a_served_control_plane_is_in_the_file(fleet: Fleet, begun: Path) -> None:
    assert fleet("init").code == 0
    text = (begun / "fleet.yaml").read_text()
    commented = re.search(r"^# (server: https://\S+)$", text, re.MULTILINE)
    assert commented
    served = re.sub(r"^server:\n(?:  .*\n)+", f"{commented[1]}\n", text, flags=re.MULTILINE)
    (begun / "fleet.yaml").write_text(served)
    (begun / "world.yaml").unlink()
    assert fleet("validate").code == 0
    ran = fleet("plan")
    assert ran.code == 1
    assert f"there is no token for {commented[1].removeprefix('server: ')}" in ran.err


def test_a_served_control_plane_may_be_named_and_needs_no_world(fleet: Fleet, begun: Path) -> None:
    ran = fleet("init", "--server", URL)
    assert ran.code == 0
    assert "FLEETCTL_TOKEN" in ran.out
    assert files(begun) == WRITTEN - {"world.yaml", "schemas/world.v1.json"}
    assert f"\nserver: {URL}\n" in (begun / "fleet.yaml").read_text()
    assert (fleet("validate").code, fleet("fmt", "--check").code) == (0, 0)


def test_what_the_environment_pins_is_what_it_begins_with(begun: Path) -> None:
    pins = {"FLEETCTL_TENANT": "platform", "FLEETCTL_CALLER": "sa_other"}
    assert process(["init"], pins).code == 0
    assert process(["plan"], pins).code == 0
    assert "tenantId: platform" in (begun / "fleet.yaml").read_text()


@pytest.mark.parametrize("there", sorted(WRITTEN))
def test_where_a_file_is_there_none_is_written(fleet: Fleet, begun: Path, there: str) -> None:
    path = begun / there
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    ran = fleet("init")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("STOPPED: there are files already, and none is overwritten\n")
    assert f"\n  {there}\n" in ran.err
    assert "Hint: begin in an empty directory" in ran.err
    assert files(begun) == {there}
    assert path.read_text() == "mine"


def test_where_one_cannot_be_written_none_is_and_it_can_begin_again(fleet: Fleet, begun: Path) -> None:
    (begun / "pools").write_text("no folder")
    ran = fleet("init")
    assert (ran.code, ran.out) == (1, "")
    assert "pools/first-site.yaml cannot be written: Not a directory; nothing is left of the starter" in ran.err
    assert files(begun) == {"pools"}
    (begun / "pools").unlink()
    assert fleet("init").code == 0


def test_a_link_that_leads_nowhere_is_there_too(fleet: Fleet, begun: Path) -> None:
    (begun / "fleet.yaml").symlink_to(fleet.directory / "outside.yaml")
    assert fleet("init").code == 1
    assert not (fleet.directory / "outside.yaml").exists()
    assert files(begun) == set()


def test_what_github_reads_stands_at_the_top_of_the_repository(fleet: Fleet, begun: Path) -> None:
    (begun / ".git").mkdir()
    ran = fleet("init", "fleets/fra1")
    assert ran.code == 0
    assert "../../.github/CODEOWNERS" in ran.out
    assert "fleetctl plan fleets/fra1" in ran.out
    assert files(begun) == {name if name.startswith(".github") else f"fleets/fra1/{name}" for name in WRITTEN}
    owners = (begun / ".github" / "CODEOWNERS").read_text()
    assert re.search(r"^/fleets/fra1/fleet\.yaml @\S+/platform$", owners, re.MULTILINE)
    assert re.search(r"^/fleets/fra1/pools/ @\S+/capacity$", owners, re.MULTILINE)
    assert workflow(begun)["env"]["FLEET"] == "fleets/fra1"


def test_without_ci_nothing_is_for_github(fleet: Fleet, begun: Path) -> None:
    assert fleet("init", "--no-ci").code == 0
    assert files(begun) == {name for name in WRITTEN if not name.startswith(".github")}


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--tenant", "a b"),
        ("--caller", "x: y"),
        ("--fleet", "#1"),
        ("--server", "ftp://x"),
        ("--server", "https://u:p@x"),
    ],
)
def test_what_no_file_may_hold_is_refused(fleet: Fleet, begun: Path, flag: str, value: str) -> None:
    ran = fleet("init", flag, value)
    assert (ran.code, ran.out) == (64, "")
    assert flag in ran.err
    assert files(begun) == set()


def test_the_report_says_what_was_written(fleet: Fleet, begun: Path) -> None:
    document = json.loads(fleet("init", "--format", "json").out)
    assert set(document.pop("files")) == files(begun)
    assert document == {
        "formatVersion": 1,
        "kind": "init",
        "directory": ".",
        "fleet": "default",
        "tenantId": "root",
        "caller": "sa_fleet",
        "server": None,
    }


def test_each_yaml_file_leads_to_its_schema_and_keeps_to_it(fleet: Fleet, begun: Path) -> None:
    assert fleet("init").code == 0
    for path in (begun / name for name in WRITTEN if name.endswith(".yaml")):
        modeline = path.read_text().partition("\n")[0]
        schema = path.parent / modeline.removeprefix("# yaml-language-server: $schema=")
        validator = Draft202012Validator(json.loads(schema.read_text()))
        for document in read_text(path.read_bytes(), path.name):
            assert [error.message for error in validator.iter_errors(document.root)] == []


def workflow(directory: Path) -> Any:
    return yaml.safe_load((directory / ".github" / "workflows" / "fleet.yml").read_text())


def test_the_jobs_give_flags_that_there_are(fleet: Fleet, begun: Path) -> None:
    assert fleet("init").code == 0
    runs = [step.get("run", "") for job in workflow(begun)["jobs"].values() for step in job["steps"]]
    called = [found for run in runs for found in re.findall(r"fleetctl (\w+) (.*)", run)]
    assert {name for name, _ in called} == {"fmt", "validate", "test", "plan", "show", "apply", "drift"}
    for name, rest in called:
        command = fleetctl.get_command(click.Context(fleetctl), name)
        assert command is not None
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert set(re.findall(r"--[\w-]+", rest)) <= flags, name


def test_a_pull_request_has_a_token_that_may_read_alone(fleet: Fleet, begun: Path) -> None:
    assert fleet("init").code == 0
    jobs = workflow(begun)["jobs"]
    secrets = {name: set(re.findall(r"secrets\.(\w+)", json.dumps(job))) for name, job in jobs.items()}
    assert secrets == {"plan": {"FLEETCTL_READ_TOKEN"}, "apply": {"FLEETCTL_TOKEN"}, "drift": {"FLEETCTL_READ_TOKEN"}}
    assert "head.repo.full_name == github.repository" in jobs["plan"]["if"]
