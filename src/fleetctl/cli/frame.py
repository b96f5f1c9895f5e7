"""Flags that say with what the files are compared, and which part of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetctl.cli import offered
from fleetctl.cli.named import FILE, PLACE
from fleetctl.cli.options import Command, with_all

if TYPE_CHECKING:
    from fleetctl.request import Request

_NO_PLAN_FILE = ": no plan file is needed, for `apply --undo REPORT --expect DIGEST` runs the plan of that digest alone"
_NO_UNDO = {
    "--out": _NO_PLAN_FILE,
    "--expires": _NO_PLAN_FILE,
    "--plan": ": a plan file is of what the files wish",
    "--snapshot": ": what happened since is told by the control plane's events",
}
"""Why a flag and an undo do not go together, where that is not plain."""
_SELECTOR = "key=GLOB, site=, model=, tenant= or file=; a comma is and, repeated is or"


def base(command: Command) -> Command:
    """The files as they were: a revision, or a directory."""
    options = (
        click.option(
            "--base",
            "base_ref",
            metavar="REF",
            shell_complete=offered.refs,
            help="Compare with the files where REF and HEAD went apart. Tells intent from drift, names what left the"
            " files, and holds the guards of both.",
        ),
        click.option(
            "--base-dir",
            type=PLACE,
            metavar="DIR",
            help="The same with the files in a directory.",
        ),
    )
    return _one_of("base_ref", "base_dir", "--base and --base-dir name two bases", with_all(options, command))


def prune(command: Command) -> Command:
    return click.option(
        "--prune", is_flag=True, help="Archive live pools that the base names and the files do not. Needs a base."
    )(command)


def selection(command: Command) -> Command:
    options = (
        click.option(
            "--only",
            multiple=True,
            metavar="SELECTOR",
            shell_complete=offered.selectors,
            help=f"Look at a part of the fleet: {_SELECTOR}.",
        ),
        click.option(
            "--except",
            "exclude",
            multiple=True,
            metavar="SELECTOR",
            shell_complete=offered.selectors,
            help="Leave a part out, likewise.",
        ),
    )
    return with_all(options, command)


def snapshot(command: Command) -> Command:
    decorated = click.option(
        "--snapshot",
        type=FILE,
        metavar="FILE",
        help="Take the live state from a file that `fleetctl snapshot` wrote; no server is asked.",
    )(command)
    return _one_of("snapshot", "token_file", "--snapshot asks no server, and takes no --token-file", decorated)


def check_undo(undo: Path | None, request: Request, others: Mapping[str, object]) -> None:
    """Raises click.UsageError for flags beside `--undo` that ask for something else than its report tells, or for what
    an undo has not: `others`, and those that are about the files as they were."""
    asked = request.frame
    flags = {"--base": asked.base_ref, "--base-dir": asked.base_dir, "--prune": asked.prune, **others}
    wrong = next((flag for flag, value in flags.items() if value), None)
    if undo is not None and wrong is not None:
        why = _NO_UNDO.get(wrong, "")
        raise click.UsageError(f"--undo takes back what its report tells, and goes without {wrong}{why}")


def _one_of(first: str, second: str, message: str, command: Command) -> Command:
    @wraps(command)
    def checked(**given: Any) -> int:
        if given.get(first) is not None and given.get(second) is not None:
            raise click.UsageError(message)
        return command(**given)

    return checked
