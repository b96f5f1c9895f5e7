"""`fleetctl init`: a fleet that works at once, in the place of nothing that is there."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from jsonschema import Draft202012Validator

from better_compute.bootstrap import Embedded, connect
from fleetctl.cli.group import fleetctl
from fleetctl.files import read_text
from tests.fleetctl.cli.runs import Fleet, process
from tests.repository import Repository

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


def test_its_check_finds_the_pool_that_has_no_policy(fleet: Fleet, begun: Path) -> None:
    assert fleet("init").code == 0
    pool = "pools: [{idempotencyKey: gpu-new, siteId: site_first, gpuModel: H100, offers: []}]\n"
    (begun / "pools" / "new.yaml").write_text(pool)
    ran = fleet("plan")
    assert ran.code == 3
    assert "an H100 pool runs diag.nvml at acceptance" in ran.out
    assert "cannot be judged" not in ran.out
    assert "gpu-new" in ran.out.partition("Findings")[2]


def test_its_check_lets_pools_of_others_be(fleet: Fleet, begun: Path) -> None:
    """Somebody made one by hand: nobody who keeps this fleet could mend it."""
    assert fleet("init").code == 0
    world = (begun / "world.yaml").read_text()
    (begun / "world.yaml").write_text(
        world.replace("identities:\n", "identities:\n  - {id: sa_hand, tenantId: root}\n")
    )
    assert fleet("apply", "--yes").code == 0
    plane = Embedded(f"sqlite:///{begun}/.fleet/control-plane.db", create=False)
    with connect(plane, tenant_id="root", caller="sa_hand") as connection:
        body = {"idempotencyKey": "by-hand", "siteId": "site_first", "class": "metal-host", "gpuModel": "H100"}
        connection.client.call("pools/create", body)
    ran = fleet("plan")
    assert (ran.code, "1 foreign pool left alone" in ran.out) == (0, True)
    text = (begun / "fleet.yaml").read_text()
    asking = text.replace("pool.gpuModel != 'H100' ||", "pool.gpuModel != 'H100' || pool.foreign && false ||")
    (begun / "fleet.yaml").write_text(asking)
    ran = fleet("plan")
    assert ran.code == 3
    assert "an H100 pool runs diag.nvml at acceptance: by-hand (not of this fleet, made by sa_hand)" in ran.out


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
    assert f'\nserver: "{URL}"\n' in (begun / "fleet.yaml").read_text()
    assert (fleet("validate").code, fleet("fmt", "--check").code) == (0, 0)


def test_what_the_environment_pins_is_what_it_begins_with(begun: Path) -> None:
    pins = {"FLEETCTL_TENANT": "platform", "FLEETCTL_CALLER": "sa_other"}
    assert process(["init"], pins).code == 0
    assert process(["plan"], pins).code == 0
    assert "tenantId: platform" in (begun / "fleet.yaml").read_text()


@pytest.mark.parametrize("there", sorted(WRITTEN - {".gitignore", ".github/CODEOWNERS"}))
def test_where_a_file_is_there_none_is_written(fleet: Fleet, begun: Path, there: str) -> None:
    path = begun / there
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    ran = fleet("init")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("STOPPED: there are files already, and none is overwritten\n")
    assert f"\n  {there}\n" in ran.err
    assert "--no-ci" in ran.err
    assert ("in an empty directory" in ran.err) is not there.startswith(".github")
    assert files(begun) == {there}
    assert path.read_text() == "mine"


def test_a_file_in_the_place_of_a_folder_is_there_too_and_it_can_begin_again(fleet: Fleet, begun: Path) -> None:
    (begun / "f").mkdir()
    (begun / "f" / "pools").write_text("no folder")
    ran = fleet("init", "f")
    assert (ran.code, ran.out) == (1, "")
    assert "\n  f/pools/first-site.yaml: pools is no directory\n" in ran.err
    assert files(begun) == {"f/pools"}
    (begun / "f" / "pools").unlink()
    assert fleet("init", "f").code == 0


def test_where_one_cannot_be_written_none_is(fleet: Fleet, begun: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        ran = fleet("init", "deep/fleet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (ran.code, ran.out) == (1, "")
    assert "fleet.yaml cannot be written: File too large; nothing is left of the starter" in ran.err
    assert [*begun.iterdir()] == []


@pytest.mark.parametrize("folder", ["pools", "schemas", ".github", ".github/workflows"])
def test_nothing_is_written_through_a_link(fleet: Fleet, begun: Path, folder: str) -> None:
    outside = fleet.directory / "outside"
    outside.mkdir()
    (begun / folder).parent.mkdir(exist_ok=True)
    (begun / folder).symlink_to(outside)
    ran = fleet("init")
    assert (ran.code, ran.out) == (1, "")
    assert f": {folder} is a link\n" in ran.err
    assert [*outside.iterdir()] == []


def test_a_directory_that_a_link_leads_to_may_be_named(fleet: Fleet, begun: Path) -> None:
    (fleet.directory / "real").mkdir()
    (begun / "link").symlink_to(fleet.directory / "real")
    ran = fleet("init", "link", "--no-ci")
    assert (ran.code, "  link/fleet.yaml\n" in ran.out) == (0, True)
    assert (fleet.directory / "real" / "pools" / "first-site.yaml").is_file()


def test_a_link_that_leads_nowhere_is_there_too(fleet: Fleet, begun: Path) -> None:
    (begun / "fleet.yaml").symlink_to(fleet.directory / "outside.yaml")
    assert fleet("init").code == 1
    assert not (fleet.directory / "outside.yaml").exists()
    assert files(begun) == set()


@pytest.mark.parametrize("name", [".gitignore", "docs/CODEOWNERS"])
@pytest.mark.parametrize("what", ["pipe", "device", "folder", "nothing"])
@pytest.mark.parametrize("of_git", [False, True])
def test_what_is_there_and_has_no_lines_is_an_obstacle(begun: Path, name: str, what: str, of_git: bool) -> None:
    """In a process of its own: a pipe is waited for, git waits for it too, and a device has no end."""
    if of_git:
        Repository(begun)
    there = begun / name
    there.parent.mkdir(exist_ok=True)
    if what in ("pipe", "folder"):
        os.mkfifo(there) if what == "pipe" else there.mkdir()
    else:
        there.symlink_to("/dev/zero" if what == "device" else "nowhere")
    ran = process(["init"], preexec_fn=_bounded)
    reasons = {"folder": "cannot be read: is a directory", "nothing": "cannot be read: no such file or directory"}
    why = reasons.get(what, "not a regular file")
    assert (ran.code, ran.out, ran.err) == (
        1,
        "",
        f"STOPPED: there are files already, and none is overwritten\n  {name}: {why}\n"
        "Hint: begin in an empty directory, or move them away; --no-ci leaves out .github\n",
    )
    assert not (begun / "fleet.yaml").exists()


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    signal.alarm(8)


def test_lines_that_a_link_leads_to_are_there(fleet: Fleet, begun: Path) -> None:
    (fleet.directory / "ignored").write_text("node_modules/\n")
    (begun / ".gitignore").symlink_to(fleet.directory / "ignored")
    ran = fleet("init")
    assert (ran.code, "\nNot ignored by git yet\n  .fleet/\n" in ran.out) == (0, True)
    assert (fleet.directory / "ignored").read_text() == "node_modules/\n"


def test_what_github_reads_stands_at_the_top_of_the_repository(fleet: Fleet, begun: Path) -> None:
    (begun / ".git").mkdir()
    ran = fleet("init", "fleets/fra1")
    assert ran.code == 0
    assert "  .github/CODEOWNERS\n  .github/workflows/fleet.yml\n  .gitignore\n" in ran.out
    assert "  fleets/fra1/fleet.yaml\n" in ran.out
    assert "fleetctl plan fleets/fra1" in ran.out
    assert files(begun) == {name if name.startswith(".git") else f"fleets/fra1/{name}" for name in WRITTEN}
    assert owners(begun) == [
        ["/fleets/fra1/", "@your-org/platform"],
        ["/fleets/fra1/pools/", "@your-org/capacity"],
        ["/.github/", "@your-org/platform"],
    ]
    assert workflow(begun)["env"]["FLEET"] == "fleets/fra1"


def test_files_are_named_from_where_people_are(fleet: Fleet, begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (begun / ".git").mkdir()
    (begun / "here").mkdir()
    monkeypatch.chdir(begun / "here")
    ran = fleet("init", "../sub/fleet")
    assert ran.code == 0
    for line in ("  ../sub/fleet/fleet.yaml\n", "  ../.github/CODEOWNERS\n", "  fleetctl validate ../sub/fleet "):
        assert line in ran.out
    document = json.loads(fleet("init", str(begun / "other"), "--no-ci", "--format", "json").out)
    assert f"{begun}/other/pools/first-site.yaml" in document["files"]


def test_a_second_fleet_of_a_repository_is_refused_whole_and_has_a_way(fleet: Fleet, begun: Path) -> None:
    (begun / ".git").mkdir()
    assert fleet("init", "fleet").code == 0
    before = files(begun)
    ran = fleet("init", "sub/fleet2")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "STOPPED: there are files already, and none is overwritten\n"
        "  .github/workflows/fleet.yml\n"
        "Hint: --no-ci begins a fleet without them: add it to the jobs that are there\n"
    )
    assert files(begun) == before
    assert not (begun / "sub").exists()
    ran = fleet("init", "sub/fleet2", "--no-ci")
    assert ran.code == 0
    assert ".gitignore" not in ran.out
    assert fleet("validate", "sub/fleet2").code == 0


@pytest.mark.parametrize("directory", [".", "fleet"])
def test_a_gitignore_that_is_there_stays_and_what_it_lacks_is_told(fleet: Fleet, begun: Path, directory: str) -> None:
    (begun / ".git").mkdir()
    (begun / ".gitignore").write_text("node_modules/\nplan.json\n.fleet/\n")
    document = json.loads(fleet("init", directory, "--format", "json").out)
    assert ".gitignore" not in document["files"]
    assert document["toIgnore"] == [
        "compute.db*", "better-compute.db*", "*.token", "live.json", "exported/", "comment.md", "report.json*",
        "journal.jsonl",
    ]  # fmt: skip
    assert (begun / ".gitignore").read_text() == "node_modules/\nplan.json\n.fleet/\n"


def test_what_it_lacks_is_shown(fleet: Fleet, begun: Path) -> None:
    (begun / ".gitignore").write_text("node_modules/\n")
    assert "\nNot ignored by git yet\n  .fleet/\n  compute.db*\n  better-compute.db*\n  *.token\n" in fleet("init").out


@pytest.mark.parametrize("there", ["CODEOWNERS", "docs/CODEOWNERS", ".github/CODEOWNERS"])
def test_code_owners_that_are_there_stay_in_force_and_the_lines_to_add_are_told(
    fleet: Fleet, begun: Path, there: str
) -> None:
    (begun / ".git").mkdir()
    (begun / there).parent.mkdir(exist_ok=True)
    (begun / there).write_text("* @me\n/.github/ @your-org/platform\n")
    ran = fleet("init", "fleet")
    assert ran.code == 0
    lines = ["/fleet/ @your-org/platform", "/fleet/pools/ @your-org/capacity"]
    shown = ran.out.partition("\nTo add to CODEOWNERS\n")[2].splitlines()
    assert [line.split(maxsplit=2) for line in shown[:2]] == [[*line.split(), there] for line in lines]
    assert "9 files written" in ran.out
    assert {name for name in files(begun) if name.endswith("CODEOWNERS")} == {there}
    assert (begun / there).read_text() == "* @me\n/.github/ @your-org/platform\n"
    (begun / ".github" / "workflows" / "fleet.yml").unlink()
    document = json.loads(fleet("init", "other", "--format", "json").out)
    assert document["toOwn"] == {"file": there, "lines": [line.replace("/fleet", "/other") for line in lines]}
    (begun / ".github" / "workflows" / "fleet.yml").unlink()
    assert json.loads(fleet("init", "third", "--no-ci", "--format", "json").out)["toOwn"] is None


def test_live_state_is_ignored_where_the_repository_does_not_say_so(fleet: Fleet, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    (repository.path / ".gitignore").write_text("node_modules/\n")
    assert fleet("init", str(repository.path / "fleet")).code == 0
    assert fleet("plan", str(repository.path / "fleet")).code == 0
    assert (repository.path / "fleet" / ".fleet" / "control-plane.db").is_file()
    repository.git("add", "-A")
    assert "/.fleet/" not in repository.git("diff", "--cached", "--name-only")


def test_git_takes_up_no_token_and_nothing_that_the_jobs_write(fleet: Fleet, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    assert fleet("init", str(repository.path / "fleet")).code == 0
    kept = files(repository.path)
    assert {name for name in kept if not name.startswith(".git/")} - {"fleet/.fleet/control-plane.db"} > {".gitignore"}
    written = ("plan.json", "comment.md", "report.json", "journal.jsonl", "root.token", "compute.db", "compute.db-wal")
    more = ("better-compute.db", "live.json", "exported/fleet.yaml")
    for name in (*written, *more, ".fleet/control-plane.db"):
        for folder in (repository.path, repository.path / "fleet"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("x")
    repository.git("add", "-A")
    staged = repository.git("diff", "--cached", "--name-only").split()
    assert {name for name in staged if "/schemas/" not in name} == {
        name if name.startswith(".git") else f"fleet/{name}" for name in WRITTEN if not name.startswith("schemas/")
    }


@pytest.mark.parametrize(
    "name", [".fleet", "exported", "a/exported/b", "compute.db-1", "x.token", "live.json", "plan.json"]
)
@pytest.mark.parametrize("flags", [(), ("--no-ci",)])
@pytest.mark.parametrize("there", [True, False])
def test_a_directory_that_its_own_gitignore_hides_is_refused(
    fleet: Fleet, tmp_path: Path, name: str, flags: tuple[str, ...], there: bool
) -> None:
    repository = Repository(tmp_path / "repository")
    if there:  # and is told to get the lines
        (repository.path / ".gitignore").write_text("node_modules/\n")
    before = files(repository.path)
    ran = fleet("init", str(repository.path / name), *flags)
    assert (ran.code, ran.out) == (1, "")
    assert "git would ignore what is written" in ran.err
    assert f"{name}/fleet.yaml: " in ran.err
    assert files(repository.path) == before


@pytest.mark.parametrize(
    ("ignored", "said"),
    [
        ("build/", "build/f/fleet.yaml: build/ in .gitignore"),
        ("*.yml", ".github/workflows/fleet.yml: *.yml in .gitignore"),
    ],
)
def test_so_is_one_of_which_git_hides_a_file_already(fleet: Fleet, tmp_path: Path, ignored: str, said: str) -> None:
    repository = Repository(tmp_path / "repository")
    (repository.path / ".gitignore").write_text(f"{ignored}\n")
    before = files(repository.path)
    ran = fleet("init", str(repository.path / "build" / "f"))
    assert (ran.code, f"{repository.path}/{said}\n" in ran.err) == (1, True), ran.err
    assert files(repository.path) == before
    (repository.path / ".gitignore").write_text(f"{ignored}\n!{ignored}\n")
    assert fleet("init", str(repository.path / "build" / "f")).code == 0


@pytest.mark.parametrize("name", [".", "fleet", "fleets/exported.1", "my.fleet", "tokens", "plans.json"])
def test_all_that_is_written_is_seen_by_git(fleet: Fleet, tmp_path: Path, name: str) -> None:
    repository = Repository(tmp_path / "repository")
    assert fleet("init", str(repository.path / name)).code == 0
    repository.git("add", "-A")
    written = {file for file in files(repository.path) if not file.startswith(".git/")}
    assert len(written) == len(WRITTEN)
    assert set(repository.git("diff", "--cached", "--name-only").split()) == written


def test_what_was_there_and_is_read_as_a_part_of_the_fleet_is_told(fleet: Fleet, begun: Path) -> None:
    (begun / "fleet" / "deep").mkdir(parents=True)
    for name in ("other.yaml", "deep/more.yml", "notes.md", ".hidden.yaml", "a.fleet-test.yaml"):
        (begun / "fleet" / name).write_text("services: {}")
    ran = fleet("init", "fleet")
    assert ran.code == 0
    assert ran.err == (
        "fleet/deep/more.yml and fleet/other.yaml are there already, and read as a part of this fleet:"
        " move away what is none of it, or name it in `exclude` in fleet.yaml\n"
    )
    assert (begun / "fleet" / "other.yaml").read_text() == "services: {}"


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
        "toIgnore": [],
        "toOwn": None,
    }


def test_each_yaml_file_leads_to_its_schema_and_keeps_to_it(fleet: Fleet, begun: Path) -> None:
    assert fleet("init").code == 0
    for path in (begun / name for name in WRITTEN if name.endswith(".yaml")):
        modeline = path.read_text().partition("\n")[0]
        schema = path.parent / modeline.removeprefix("# yaml-language-server: $schema=")
        validator = Draft202012Validator(json.loads(schema.read_text()))
        for document in read_text(path.read_bytes(), path.name):
            assert [error.message for error in validator.iter_errors(document.root)] == []


def owners(directory: Path) -> list[list[str]]:
    """The lines of CODEOWNERS: a pattern, in which a blank is escaped, and owners."""
    lines = (directory / ".github" / "CODEOWNERS").read_text().splitlines()
    said = (line for line in lines if line and not line.startswith("#"))
    return [re.split(r"(?<!\\) +", line) for line in said]


ODD = ["a b", "-x", "a'b", "null", "123", "1e3", "~", "ä", "a: b", "@x", "%a", "a,b", "{a}", "on", "a&b", ".hidden"]


@pytest.mark.parametrize("name", ODD)
def test_whatever_its_directory_is_called_all_that_is_written_is_read(fleet: Fleet, begun: Path, name: str) -> None:
    (begun / ".git").mkdir()
    assert fleet("init", "--", name).code == 0
    assert Path(workflow(begun)["env"]["FLEET"]) == Path(name)
    assert not workflow(begun)["env"]["FLEET"].startswith("-")
    pattern = "/" + name.replace(" ", "\\ ")
    assert [line[0] for line in owners(begun)] == [f"{pattern}/", f"{pattern}/pools/", "/.github/"]
    assert {len(line) for line in owners(begun)} == {2}
    assert fleet("validate", "--", name).code == 0


@pytest.mark.parametrize("name", ["#a", "a*", "a?", "[x]", "!a", "a\\b", 'a"b', "${{ x }}", "a\nb", "a\u202eb"])
def test_a_directory_that_codeowners_cannot_name_is_refused(fleet: Fleet, begun: Path, name: str) -> None:
    (begun / ".git").mkdir()
    ran = fleet("init", name)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 2
    assert "--no-ci leaves out .github" in ran.err
    assert [path.name for path in begun.iterdir()] == [".git"]
    assert fleet("init", name, "--no-ci").code == 0


@pytest.mark.parametrize("value", ["123", "null", "no", "1e3", "0010", "true", "1_0", "y"])
def test_values_are_written_as_the_texts_that_they_are(fleet: Fleet, begun: Path, value: str) -> None:
    assert fleet("init", "--fleet", value, "--caller", value, "--tenant", value).code == 0
    for name in (name for name in WRITTEN if name.endswith((".yaml", ".yml"))):
        yaml.safe_load((begun / name).read_text())
    root = yaml.safe_load((begun / "fleet.yaml").read_text())
    assert [root[name] for name in ("fleet", "tenantId", "caller")] == [value] * 3
    for command in ("validate", "test", "fmt --check", "plan"):
        ran = fleet(*command.split())
        assert ran.code == 0, ran


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
