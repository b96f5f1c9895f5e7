"""Output: results on stdout, everything else on stderr, and no stream that cannot print a letter ends a run."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

from better_compute.domain.escape import escape
from fleetctl.errors import EXIT_ERROR, EXIT_OK

if TYPE_CHECKING:
    from fleetctl.flow.finished import FileText, Finished
    from fleetctl.report.forms import Report


def prepare() -> None:
    """What a stream's encoding does not have is printed as an escape; what is printed to a closed stream is lost."""
    for name in ("stdin", "stdout", "stderr"):  # in this order: a closed one gets its own number back
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere(name))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def colours(stream: TextIO) -> bool:
    """Colour is for terminals, and for people who have not said no to it."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def in_words(report: Report, stream: TextIO, verbose: bool = False) -> str:
    """A report as the text that `stream` will show."""
    from fleetctl.render import text  # not at the top, nor below: `--help` renders nothing

    return text.render(report, colour=colours(stream), verbose=verbose, width=window(stream))


def window(stream: TextIO) -> int | None:
    """The columns of the terminal's window; None where it is none, or does not say."""
    if not stream.isatty():
        return None
    with suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or None
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a result is to look: nothing is left out where it is `verbose`, else it keeps within `max_bytes` bytes.
    `under` is the fleet's directory from where the command runs, so that a file is found from there."""

    stream: TextIO
    verbose: bool
    max_bytes: int
    under: str


def _as_text(report: Report, look: Look) -> str:
    return in_words(report, look.stream, look.verbose)


def _as_json(report: Report, _: Look) -> str:
    from fleetctl.render import json_

    return json_.render(report)


def _as_markdown(report: Report, look: Look) -> str:
    from fleetctl.render import markdown

    return markdown.render(report, verbose=look.verbose, max_bytes=look.max_bytes)


def _as_html(report: Report, look: Look) -> str:
    from fleetctl.render import html

    return html.render(report, verbose=look.verbose)


def _as_github(report: Report, look: Look) -> str:
    from fleetctl.render import github

    return github.render(report, under=look.under)


def _as_junit(report: Report, look: Look) -> str:
    from fleetctl.render import junit

    return junit.render(report, under=look.under)


def _as_sarif(report: Report, look: Look) -> str:
    from fleetctl.render import sarif

    return sarif.render(report, under=look.under)


def _as_prometheus(report: Report, _: Look) -> str:
    from fleetctl.render import prometheus

    return prometheus.render(report)


MAX_BYTES: Final = 65_000
"""What hosts of pull requests take as one comment."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a result is said, by `name`. What is not for people is told them on stderr besides, and has a document for an
    error in the result's place. `max_bytes` and `under` are as of `Look`."""

    name: str
    render: Callable[[Report, Look], str]
    for_people: bool = False
    max_bytes: int = MAX_BYTES
    under: str = ""

    def __call__(self, report: Report, stream: TextIO, verbose: bool) -> str:
        """The report as `stream` will show it."""
        return self.render(report, Look(stream=stream, verbose=verbose, max_bytes=self.max_bytes, under=self.under))


FORMATS: Final = {
    form.name: form
    for form in (
        Format("text", _as_text, for_people=True),
        Format("json", _as_json),
        Format("markdown", _as_markdown),
        Format("html", _as_html),
        Format("github", _as_github),
        Format("junit", _as_junit),
        Format("sarif", _as_sarif),
        Format("prometheus", _as_prometheus),
    )
}
"""By the name that `--format` takes; there are no others."""

FACTS: Final = ("text", "json")
"""The formats of a result that is a fact or two."""
METRICS: Final = tuple(FORMATS)
"""Those of one that is watched: all there are."""
REVIEWS: Final = tuple(name for name in FORMATS if name != "prometheus")
"""Those of one that people review, and that tools gather."""


def finish(finished: Finished, form: Format, *, verbose: bool = False) -> int:
    """Print the report and give the exit code.

    A reader that went away is an error as any other, told by the exit code alone; but what an apply did is done, also
    where nobody can be told.
    """
    if finished.remark:
        note(finished.remark)
    try:
        show(finished.report, form, verbose=verbose)
    except OSError as error:
        code = give_up(error)
        return finished.exit_code if finished.report["kind"] == "apply" else code
    return finished.exit_code


def deliver(file: FileText) -> int:
    """Print a result that is a file, and give the exit code. Raises OSError."""
    note(file.remark)
    sys.stdout.write(file.text)
    sys.stdout.flush()
    return EXIT_OK


def show(report: Report, form: Format, *, verbose: bool = False) -> None:
    """Print a report as the result. Raises OSError."""
    sys.stdout.write(form(report, sys.stdout, verbose))
    sys.stdout.flush()


def say(text: str) -> None:
    """Tell people something beside the result. That nobody can be told must not stop what is under way."""
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def note(text: str) -> None:
    """Tell people one line beside the result."""
    say(f"{escape(text)}\n")


def end(code: int) -> int:
    """The exit code of a run, once all that it printed is out: what cannot be printed is no success."""
    try:
        sys.stdout.flush()
    except OSError as error:
        lost = give_up(error)
        return code or lost
    return code


def give_up(error: OSError) -> int:
    """Say that stdout takes no more, unless its reader went away, and leave the interpreter nothing to flush into it at
    its end. The exit code of a run that this ends."""
    sys.stdout = _nowhere("stdout")
    if not isinstance(error, BrokenPipeError):
        say(f"STOPPED: the result cannot be written: {error.strerror}\n")
    return EXIT_ERROR


def _nowhere(name: str) -> TextIO:
    """Stays open until the process ends."""
    return open(os.devnull, "r" if name == "stdin" else "w")
