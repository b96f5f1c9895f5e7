"""No flag is dead: each one of every command changes what some run says, writes or ends with."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from fleetctl.cli.group import COMMANDS, fleetctl
from tests.fleetctl.cli.runs import ROOT, WORLD, Fleet, process
from tests.repository import Repository

Outcome = tuple[int, str, str, dict[str, str]]
Run = Callable[[list[str]], Outcome]

MANY = range(60)
FILLER = "x" * 80
OF_THE_MOMENT = re.compile(r"""\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|\b\d{13}\b|"(?:checksum|seal)": ?"\w+\"""")

BASES = {
    "init": "init new",
    "validate": "validate fleet",
    "fmt": "fmt fleet",
    "plan": "plan fleet",
    "apply": "apply fleet --parallelism 1 --yes",
    "drift": "drift fleet",
    "show": "show plan.json",
    "diff": "diff was fleet",
    "snapshot": "snapshot fleet",
    "export": "export fleet",
    "graph": "graph fleet",
    "explain": "explain fra1-a --fleet fleet",
    "test": "test tested",
    "id": "id fra1-a --fleet fleet",
    "whoami": "whoami fleet",
}
"""How a command is run without the flag, where nothing else is said."""

MARKDOWN = "--format markdown --max-bytes 4000"
FLAGS = {
    "--format": "--format json",
    "--verbose": "--verbose",
    "--max-bytes": MARKDOWN,
    "--server": "--server https://compute.invalid",
    "--token-file": "--token-file token",
    "--base": "--base HEAD",
    "--base-dir": "--base-dir was",
    "--prune": "--prune",
    "--only": "--only key=fra1-a",
    "--except": "--except key=fra1-a",
    "--snapshot": "--snapshot live.json",
    "--reason": "--reason why",
    "--allow": "--allow withdrawals=0 --reason why",
    "--with": "--with HEAD",
    "--out": "--out written",
    "--detailed-exitcode": "--detailed-exitcode",
    "--check": "--check",
    "--expires": "--expires 1h --format json",
    "--journal": "--journal written",
    "--report": "--report written",
    "--fleet": "--fleet other",
    "--tenant": "--tenant acme",
    "--caller": "--caller sa_other",
    "--no-ci": "--no-ci",
    "--offline": "--offline",
    "--notify": "--notify http://127.0.0.1:1",
    "--plan": "--plan plan.json",
    "--expect": f"--expect {'0' * 64}",
    "--undo": "--undo report.json",
    "--yes": "--yes",
}
"""The arguments that are added."""
DRAWN = "--format svg"
"""Those of `--format` for a graph."""

WITHOUT = {
    ("graph", "--prune"): "graph fleet --base HEAD",
    ("plan", "--prune"): "plan fleet --base HEAD",
    ("apply", "--prune"): "apply fleet --parallelism 1 --yes --base HEAD",
    ("plan", "--allow"): "plan fleet --reason why",
    ("apply", "--allow"): "apply fleet --parallelism 1 --yes --reason why",
    ("plan", "--expires"): "plan fleet --format json",
    ("apply", "--yes"): "apply fleet --parallelism 1",
    ("apply", "--plan"): "apply fleet --parallelism 1",
    ("apply", "--expect"): "apply fleet --parallelism 1",
    ("validate", "--verbose"): "validate broken",
    ("fmt", "--verbose"): "fmt many",
    ("snapshot", "--format"): "snapshot nothing",
    **{
        (name, "--max-bytes"): f"{BASES[name]} --verbose --format markdown"
        for name in ("plan", "apply", "drift", "diff")
    },
    ("validate", "--max-bytes"): "validate broken --verbose --format markdown",
    ("fmt", "--max-bytes"): "fmt many --verbose --format markdown",
    ("show", "--max-bytes"): "show plan.json --verbose --format markdown",
    ("test", "--max-bytes"): "test tested --format markdown",
}
"""The run without the flag, where it is not the usual one."""

ELSEWHERE = {
    ("apply", "--parallelism"),
    *(("graph", flag) for flag in ("--base", "--base-dir", "--snapshot")),
    *((name, "--timeout") for name in ("plan", "apply", "drift", "snapshot", "export", "graph", "explain", "whoami")),
}
"""What does not change the result but how long it takes, which tests of calls are about; or, of a graph, no more than
what blocks its plan, or where that is read, which its own tests are about."""


def parameters() -> Iterator[tuple[str, str]]:
    for name in COMMANDS:
        command = fleetctl.get_command(click.Context(fleetctl), name)
        assert command is not None
        yield from ((name, parameter.opts[0]) for parameter in command.params if isinstance(parameter, click.Option))


def fleet_file(gone: str, policy: str, offers: str) -> str:
    """A pool with such offers, many that are alike, and perhaps one more."""
    many = "".join(
        f"  - {{idempotencyKey: fra1-{'long-' * 9}{n:02}, policy: {{note: '{FILLER} {policy} {n}'}}, offers: []}}\n"
        for n in MANY
    )
    first = f"  - {{idempotencyKey: fra1-a, policy: {{note: '{FILLER} {policy}'}}, offers: [{offers}]}}\n"
    return f"{ROOT}{first}{many}{gone}"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a fleet that was applied and has changed since, its base, a plan, a snapshot, and more."""
    home = tmp_path_factory.mktemp("flags")
    gone = "  - {idempotencyKey: fra1-gone, offers: [{toTenantId: globex, quota: {gpu: 1}}]}\n"
    before = fleet_file(gone, "old", "{toTenantId: acme, quota: {gpu: 8}}")
    broken = "".join(f"  - {{idempotencyKey: fra1-{n}, gpumodel: H100}}\n" for n in MANY)
    other = ROOT.replace("caller: sa_fleet", "caller: sa_other")
    texts = {
        "fleet": before,
        "was": before,
        "broken": ROOT + broken,
        "other": f"{other}  - {{idempotencyKey: fra1-a}}\n",
    }
    for name, text in texts.items():
        (home / name).mkdir()
        (home / name / "fleet.yaml").write_text(text)
        (home / name / "world.yaml").write_text(WORLD)
    tests = (f"name: {FILLER} {n}\nfleet: ../other\nexpect: {{}}\n" for n in MANY)
    (home / "tested").mkdir()
    (home / "tested" / "all.fleet-test.yaml").write_text("---\n".join(tests))
    (home / "many").mkdir()
    for n in MANY:
        (home / "many" / f"{FILLER}-{n}.yaml").write_text(f"apiVersion: fleet/v1\npools:\n  - idempotencyKey: p{n}\n")
    (home / "token").write_text("secret\n")
    Repository(home).commit()
    ran(home, "apply fleet --yes --report report.json")
    (home / "fleet" / "fleet.yaml").write_text(fleet_file("", "new", ""))
    ran(home, "plan fleet --out plan.json")
    ran(home, "snapshot fleet --out live.json")
    return home


def ran(home: Path, command: str) -> None:
    assert process(command.split(), cwd=home).code == 0


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every run is: what says where it is says the same."""
    return tmp_path_factory.mktemp("flags") / "copy"


@pytest.fixture
def outcome(prepared: Path, place: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Run:
    """What a run in a copy of that directory says, ends with, and leaves, but for the time of day."""

    def of(arguments: list[str]) -> Outcome:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(prepared, place)
        monkeypatch.chdir(place)
        done = fleet(*arguments)
        files = (path for path in place.rglob("*") if path.is_file() and not {".git", ".fleet"} & set(path.parts))
        left = {str(path.relative_to(place)): OF_THE_MOMENT.sub("-", path.read_text()) for path in files}
        return done.code, OF_THE_MOMENT.sub("-", done.out), OF_THE_MOMENT.sub("-", done.err), left

    return of


@pytest.fixture(scope="session")
def plain() -> dict[str, Outcome]:
    """The outcomes of runs without a flag, so far."""
    return {}


@pytest.mark.parametrize(("command", "flag"), [each for each in parameters() if each not in ELSEWHERE])
def test_a_flag_changes_something(command: str, flag: str, outcome: Run, plain: dict[str, Outcome]) -> None:
    without = WITHOUT.get((command, flag), BASES[command])
    if without not in plain:
        plain[without] = outcome(without.split())
    given = DRAWN if (command, flag) == ("graph", "--format") else FLAGS[flag]
    assert plain[without] != outcome([*without.split(), *given.split()])


@pytest.mark.parametrize("without", sorted({*BASES.values(), *WITHOUT.values()}))
def test_and_nothing_but_the_flag_does(without: str, outcome: Run, plain: dict[str, Outcome]) -> None:
    if without not in plain:
        plain[without] = outcome(without.split())
    assert plain[without] == outcome(without.split())


def test_nothing_is_said_of_flags_that_are_not_there() -> None:
    there = set(parameters())
    assert {*WITHOUT, *ELSEWHERE} <= there
    assert set(FLAGS) <= {flag for _, flag in there}
