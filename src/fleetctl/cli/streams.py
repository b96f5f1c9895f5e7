"""Output: results on stdout, everything else on stderr, and no stream that cannot print a letter ends a run."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

from fleetctl.errors import EXIT_ERROR
from fleetctl.render.escape import escape

if TYPE_CHECKING:
    from fleetctl.flow import Finished
    from fleetctl.report import Report

Format = Literal["text", "json"]


def prepare() -> None:
    """What a stream's encoding does not have is printed as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def colours(stream: TextIO) -> bool:
    """Colour is for terminals, and for people who have not said no to it."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def finish(finished: Finished, form: Format, *, verbose: bool = False) -> int:
    """Print the report and give the exit code.

    A reader that went away is an error as any other, told by the exit code alone; but what an apply did is done.
    """
    if finished.remark:
        say(f"{escape(finished.remark)}\n")
    try:
        show(finished.report, form, verbose=verbose)
    except BrokenPipeError:
        _silence()
        return finished.exit_code if finished.report["kind"] == "apply" else EXIT_ERROR
    return finished.exit_code


def show(report: Mapping[str, Any], form: Format, *, verbose: bool = False) -> None:
    """Print a report as the result. Raises OSError."""
    if form == "json":
        from fleetctl.render import json_  # not at the top: `--help` renders nothing

        sys.stdout.write(json_.render(cast("Report", report)))
    else:
        sys.stdout.write(in_words(report, sys.stdout, verbose=verbose))
    sys.stdout.flush()


def in_words(report: Mapping[str, Any], stream: TextIO, *, verbose: bool = False) -> str:
    """A report as the text that `stream` will show."""
    from fleetctl.render import text  # as above

    return text.render(cast("Report", report), colour=colours(stream), verbose=verbose)


def say(text: str) -> None:
    """Tell people something beside the result. That nobody can be told must not stop what is under way."""
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _silence() -> None:
    """Nothing is left for the interpreter to flush into the broken pipe at its end."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (it stays open until the process ends)
