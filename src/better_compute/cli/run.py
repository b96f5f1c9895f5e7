"""Running a command: its exit code, and how errors are shown."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click

from better_compute.domain.escape import escape, inert
from better_compute.domain.problems import ComputeError, Problem

OK = 0
ERROR = 1
USAGE = 64
INTERRUPTED = 130
TERMINATED = 143

DEBUG = ("BETTER_COMPUTE_DEBUG", "FLEETCTL_DEBUG")
"""Variables that let a traceback through when they are `1`."""


def run(arguments: Sequence[str]) -> int:
    """The exit code of one call of the command."""
    from better_compute.cli import cli

    _escape_what_a_stream_cannot_hold()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = cli.main(list(arguments), prog_name="better-compute", standalone_mode=False)
        if sys.stdout is not None:  # as it is where the caller closed it
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _quietly()
    except Exception as error:
        return _failed(error)
    return code if isinstance(code, int) else OK


def _failed(error: Exception) -> int:
    if any(os.environ.get(name) == "1" for name in DEBUG):
        import traceback

        _say("\n".join(map(escape, "".join(traceback.format_exception(error)).split("\n"))))
    match error:
        case click.exceptions.NoArgsIsHelpError():
            # Its message is the help text, in lines of its own.
            _say(error.format_message())
            return USAGE
        case click.UsageError():
            _say(escape(f"USAGE: {error.format_message()}"))
            if error.ctx is not None:
                _say(f"Hint: see {error.ctx.command_path} --help")
            return USAGE
        case click.ClickException():
            _say(escape(f"ERROR: {error.format_message()}"))
        case ComputeError():
            for problem in error.problems:
                show_problem(problem)
        case OSError():
            # Files that are read have their own errors; this is stdout, on a full disk.
            _say(escape(f"STOPPED: {error.strerror or type(error).__name__}"))
        case _:
            # A fault of ours; the text of an unknown exception may hold anything.
            from better_compute.domain.policy.urls import mask_cut  # as below

            _say(f"INTERNAL_ERROR: {type(error).__name__}: {escape(mask_cut(str(error), 500))}")
            _say(f"Hint: set {DEBUG[0]}=1 to see where")
    return ERROR


def show_problem(problem: Problem) -> None:
    """`CODE: place: message`, then a hint, on stderr."""
    place = f"{problem.source}: " if problem.source else ""
    path = f"{problem.path}: " if problem.path else ""
    _say(escape(f"{problem.code}: {place}{path}{problem.message}"))
    if problem.hint:
        _say(escape(f"Hint: {problem.hint}"))


def _say(text: str) -> None:
    """Of what an error says nothing is a user part of a URL, or a command to a build's log."""
    if "@" in text:
        from better_compute.domain.policy.urls import mask_message  # not at the top: few texts hold a URL

        text = "\n".join(map(mask_message, text.split("\n")))
    try:
        click.echo("\n".join(map(inert, text.split("\n"))), err=True)
    except BrokenPipeError:
        _quietly()


def _quietly() -> int:
    """Whoever read our output has gone. Nothing more is written, not even at the interpreter's end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    return ERROR


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(TERMINATED)


def _escape_what_a_stream_cannot_hold() -> None:
    """A letter that the console's encoding lacks is escaped: it must not stop a command half way."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
