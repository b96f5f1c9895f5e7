"""Flags that several commands share, and the request made from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetctl.cli import failure, streams, values
from fleetctl.cli.named import FILE, PLACE
from fleetctl.cli.streams import Format
from fleetctl.look import LEAST_BYTES, MAX_BYTES, Look

if TYPE_CHECKING:
    from fleetctl.request import Request

Command = Callable[..., int]

TIMEOUT = 30.0
"""Seconds for one call, where no flag says others."""
EXAMPLES = "\b\nExamples:\n  "
PATH = " PATH is the fleet's directory, read with all below it, or one file; left out: the current directory."


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What the shared flags say: what is asked for, and how the result is said."""

    request: Request
    format: Format
    verbose: bool


def examples(*lines: str) -> str:
    """The epilog of a command's help."""
    return EXAMPLES + "\n  ".join(lines)


def common(*groups: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """The flags of `groups`, one that is about the format among them, handed to the command as one `Common`. They hold
    for an error too: where the result is for tools, so is the error."""

    def decorate(function: Command) -> Command:
        @wraps(function)
        def command(**given: Any) -> int:
            if given.get("allow") and given.get("reason") is None:
                raise click.UsageError("--allow needs --reason: who reads the events later wants to know why")
            form, verbose = _form(given), given.pop("verbose", None)
            try:
                shared = Common(request=_request(given), format=form, verbose=bool(verbose))
                return function(shared, **given)
            except click.UsageError:
                raise
            except Exception as error:
                whole = verbose is not False  # only where a flag shows the rest may something be left out
                if not form.for_people:
                    failure.report(error, form, verbose=whole)
                return failure.tell(error, verbose=whole)

        decorated: Command = command
        for group in reversed(groups):
            decorated = group(decorated)
        return decorated

    return decorate


def _form(given: dict[str, Any]) -> Format:
    """How the result is said, of the flags that are about that."""
    form: Format = given.pop("format")
    most = given.pop("max_bytes", None)
    if most is not None and form.name != "markdown":
        raise click.UsageError("--max-bytes is about a comment: it goes with --format markdown")
    return Format(form.name, Look(max_bytes=most or MAX_BYTES, under=_under(given.get("path"))))


def _under(path: Path | None) -> str:
    """The fleet's directory as the way to it from the top of its repository, which is what hosts of pull requests name
    files from; else of the job's workspace, or from here. Nothing where there is no fleet."""
    if path is None:
        return ""
    from fleetctl.base import git  # not at the top: `--help` asks for no repository

    directory = Path(os.path.realpath(path if path.is_dir() else path.parent))
    top = git.top(directory)
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if top is None and workspace and directory.is_relative_to(os.path.realpath(workspace)):
        top = Path(os.path.realpath(workspace))
    with suppress(ValueError):  # on another drive
        return Path(os.path.relpath(directory, top or os.path.realpath("."))).as_posix()
    return ""


def _request(given: dict[str, Any]) -> Request:
    """What the shared flags ask for, which are taken out of `given`; those that a command does not take have their
    defaults."""
    from fleetctl.override import Override
    from fleetctl.request import Frame, Request  # not at the top, nor below: `--help` asks for nothing

    return Request(
        path=given.pop("path", Path(".")),
        server=given.pop("server", None),
        environ=dict(os.environ),
        token_file=given.pop("token_file", None),
        timeout=given.pop("timeout", TIMEOUT),
        override=Override(given.pop("allow", {}), given.pop("reason", None)),
        tell=streams.note,
        frame=Frame(**{field.name: given.pop(field.name) for field in fields(Frame) if field.name in given}),
        snapshot=given.pop("snapshot", None),
    )


def fleet(command: Command) -> Command:
    return click.argument("path", type=PLACE, default=".", metavar="[PATH]")(command)


def verbose(command: Command) -> Command:
    """For a result of which something may be left out."""
    return click.option("--verbose", is_flag=True, help="Leave nothing out.")(command)


def output(command: Command) -> Command:
    """For a result that is a fact or two."""
    return _output(command, streams.FACTS)


def errors(command: Command) -> Command:
    """For a result that is JSON in any case."""
    return _output(command, streams.FACTS, "How an error is said; json: on stdout too.")


def review(command: Command) -> Command:
    """For a result that people review, and that tools gather."""
    return _most_bytes(_output(command, streams.REVIEWS))


def metrics(command: Command) -> Command:
    """For a result that is watched as well."""
    return _most_bytes(_output(command, streams.METRICS))


def drawing(command: Command) -> Command:
    """For a result that is a picture, or becomes one."""
    return _output(command, tuple(streams.GRAPHS), "How the graph is written.")


def _output(command: Command, names: Sequence[str], says: str = "How the result is said.") -> Command:
    return click.option(
        "--format", type=click.Choice(names), callback=_format, default=names[0], show_default=True, help=says
    )(command)


def _most_bytes(command: Command) -> Command:
    return click.option(
        "--max-bytes",
        type=click.IntRange(LEAST_BYTES, 1 << 30),
        metavar="N",
        help=f"How long markdown may be; {MAX_BYTES:,} by default.",
    )(command)


def target(command: Command) -> Command:
    options = (
        click.option("--server", metavar="URL", help="Another control plane than the files name."),
        click.option(
            "--token-file",
            type=FILE,
            metavar="FILE",
            help="Holds the token; without it, the variable FLEETCTL_TOKEN does.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True, max=3600),
            default=TIMEOUT,
            callback=values.seconds,
            show_default=True,
            metavar="SECONDS",
            help="For one call.",
        ),
    )
    return with_all(options, command)


def override(command: Command) -> Command:
    options = (
        click.option(
            "--allow",
            multiple=True,
            callback=values.allowed,
            metavar="NAME=N",
            shell_complete=values.allowable,
            help="Let so many pass a guard, such as archives=2. Needs --reason.",
        ),
        click.option("--reason", callback=values.reason, metavar="TEXT", help="Why; kept in the events."),
    )
    return with_all(options, command)


def with_all(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    """The command with these options, shown in their order."""
    for option in reversed(options):
        command = option(command)
    return command


def _format(_ctx: click.Context, _param: click.Parameter, name: str) -> Format:
    return Format(name)


def check_apart(request: Request, named: Mapping[str, Path | None]) -> None:
    """What is written in the place of a plan file, a snapshot or a token would cost these, a journal in that of the
    report its lines. What is no file (`/dev/stderr`) may be named twice. Raises click.UsageError; files by their flags,
    beside those that the request reads."""
    from fleetctl.machine.disk import identity  # not at the top: `--help` writes nothing

    flags: dict[object, str] = {}
    for flag, path in {**named, "--snapshot": request.snapshot, "--token-file": request.token_file}.items():
        if path is not None and (os.path.isfile(path) or not os.path.exists(path)):
            first = flags.setdefault(identity(path), flag)
            if first != flag:
                raise click.UsageError(f"{first} and {flag} name the same file")
