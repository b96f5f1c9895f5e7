"""Help is whole, and promises only what is there."""

from __future__ import annotations

import click
import pytest

from fleetctl import __version__
from fleetctl.cli.group import COMMANDS, fleetctl
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
    examples = [line.split() for line in ran.out.partition("Examples:")[2].splitlines() if line.strip()]
    assert examples
    assert all(words[:2] == ["fleetctl", name] for words in examples)
    assert all({word for word in words if word.startswith("--")} <= flags for words in examples)


@pytest.mark.parametrize("name", ["graph"])
def test_what_is_not_built_is_unknown(name: str, fleet: Fleet) -> None:
    assert name not in COMMANDS
    ran = fleet(name)
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.startswith(f"USAGE: No such command '{name}'.")


NOT_BUILT = {
    "validate": ("--format=prometheus", "--server=x"),
    "plan": ("--with=x", "--format=prometheus"),
    "apply": ("--undo=x", "--out=x", "--snapshot=x", "--format=prometheus"),
    "drift": ("--prune", "--notify=x", "--allow=archives=1"),
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


def test_without_arguments_it_helps_and_fails(fleet: Fleet) -> None:
    ran = fleet()
    assert (ran.code, ran.out) == (64, "")
    assert "Commands:" in ran.err


def test_the_shell_can_complete_commands() -> None:
    ran = process([], {"_FLEETCTL_COMPLETE": "bash_complete", "COMP_WORDS": "fleetctl pl", "COMP_CWORD": "1"})
    assert ran.out == "plain,plan\n"
