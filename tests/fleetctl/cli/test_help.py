"""Help is whole, and promises only what is there."""

from __future__ import annotations

import shlex
from itertools import takewhile
from pathlib import Path

import click
import pytest

from fleetctl import __version__
from fleetctl.cli.group import COMMANDS, fleetctl
from fleetctl.request import CALLER, SERVER, TENANT
from tests.e2e.homes import Home, served
from tests.e2e.homes import fleetctl as fleetctl_run
from tests.fleetctl.cli.runs import Fleet, process


def test_the_version_is_the_same_with_another_flag() -> None:
    assert process(["--version"]).out == f"fleetctl {__version__}\n"
    assert process(["--version", "--version"]).out == f"fleetctl {__version__}\n"


def test_every_command_is_listed_with_what_it_does(fleet: Fleet) -> None:
    ran = fleet("--help")
    assert ran.code == 0
    assert all(f"  {name}" in ran.out and says in ran.out for name, says in COMMANDS.items())
    assert "fleetctl completion bash" in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_its_own_flags_allow(name: str, fleet: Fleet) -> None:
    ran = fleet(name, "--help")
    assert ran.code == 0
    command = fleetctl.get_command(click.Context(fleetctl), name)
    assert command is not None
    assert command.name == name
    flags = {flag for parameter in command.params for flag in parameter.opts if flag.startswith("--")}
    examples = [shlex.split(line) for line in given(ran.out)]
    assert examples
    for words in examples:
        pins = list(takewhile(lambda word: "=" in word, words))
        assert {pin.partition("=")[0] for pin in pins} <= {SERVER, TENANT, CALLER}
        assert words[len(pins) : len(pins) + 2] == ["fleetctl", name]
        arguments = list(takewhile(lambda word: word != ">", words[len(pins) + 2 :]))
        assert {word for word in arguments if word.startswith("--")} <= flags
        command.make_context(name, ["0" * 64 if word == "DIGEST" else word for word in arguments])


def given(helped: str) -> list[str]:
    """The examples of a help, each on one line."""
    lines = helped.partition("Examples:")[2].replace("\\\n", "").splitlines()
    return [line for line in lines if line.strip()]


def test_the_example_of_an_export_without_a_fleet_is_whole(
    tmp_path: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = (line for line in given(fleet("export", "--help").out) if "--server" in line)
    home = Home(tmp_path)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with served(home) as (server, _):
        Path("token").write_text(server.token("sa_fleet"))
        pins = {name: value for name, equals, value in (word.partition("=") for word in shlex.split(example)) if equals}
        words = shlex.split(example.partition(">")[0].replace("https://compute.example.com", server.url))
        Path("fleet.yaml").touch()  # as the shell does first
        ran = fleetctl_run(*words[len(pins) + 1 :], **pins)
    assert ran.code == 0, ran.said
    assert "allowEmpty: true" in ran.out


NOT_BUILT = {
    "validate": ("--format=prometheus", "--server=x"),
    "plan": ("--yes", "--format=prometheus"),
    "apply": ("--out=x", "--snapshot=x", "--format=prometheus"),
    "drift": ("--prune", "--allow=archives=1"),
}


@pytest.mark.parametrize(("command", "flag"), [(command, flag) for command in NOT_BUILT for flag in NOT_BUILT[command]])
def test_a_flag_that_is_not_built_is_unknown_and_not_promised(command: str, flag: str, fleet: Fleet) -> None:
    name, _, value = flag.partition("=")
    ran = fleet.on(command, flag)
    assert (ran.code, ran.out) == (64, "")
    assert f"'{value}' is not one of" in ran.err if name == "--format" else f"No such option '{name}'" in ran.err
    assert (value if name == "--format" else f"  {name} ") not in fleet(command, "--help").out


def test_a_slip_is_met_with_the_nearest_word(fleet: Fleet) -> None:
    assert "Did you mean 'plan'?" in fleet("plna").err
    assert "--verbose" in fleet.on("plan", "--verbos").err


@pytest.mark.parametrize("flag", ["--prun", "--allows", "--alow", "--ye", "--yess"])
def test_no_slip_leads_to_a_flag_that_takes_away(flag: str, fleet: Fleet) -> None:
    for command in ("plan", "apply"):
        ran = fleet.on(command, flag, "x")
        assert ran.code == 64
        assert ran.err.startswith(f"USAGE: No such option '{flag}'.")
        assert not any(said in ran.err for said in ("'--prune'", "'--allow'", "'--yes'"))


def test_without_arguments_it_helps_and_fails(fleet: Fleet) -> None:
    ran = fleet()
    assert (ran.code, ran.out) == (64, "")
    assert "Commands:" in ran.err


def test_the_shell_can_complete_commands() -> None:
    ran = process([], {"_FLEETCTL_COMPLETE": "bash_complete", "COMP_WORDS": "fleetctl pl", "COMP_CWORD": "1"})
    assert ran.out == "plain,plan\n"
