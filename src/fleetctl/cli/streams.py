"""Output: results on stdout, everything else on stderr, and no stream that cannot print a letter ends a run."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Final, TextIO

from better_compute.domain.escape import escape, inert
from fleetctl.errors import EXIT_ERROR, EXIT_OK
from fleetctl.look import PLAIN, Look

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
    return FORMATS["text"](report, stream, verbose)


def window(stream: TextIO) -> int | None:
    """The columns of the terminal's window; None where it is none, or does not say."""
    if not stream.isatty():
        return None
    with suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or None
    return None


RENDERERS: Final = {
    "text": "text",
    "json": "json_",
    "markdown": "markdown",
    "html": "html",
    "github": "github",
    "junit": "junit",
    "sarif": "sarif",
    "prometheus": "prometheus",
}
"""By the name that `--format` takes, the module that renders it; there are no others."""
GRAPHS: Final = {"mermaid": "graph.mermaid", "dot": "graph.dot", "svg": "graph.svg"}
"""The same of drawings."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a result is said, by `name`, as far as that does not depend on a stream."""

    name: str
    look: Look = PLAIN

    @property
    def for_people(self) -> bool:
        """Whether people read the result as it is, or look at it. Where they do not, an apply shows its plan on stderr,
        and an error is a report in the place of the result."""
        return self.name == "text" or self.name in GRAPHS

    def __call__(self, report: Report, stream: TextIO, verbose: bool) -> str:
        """The report as `stream` will show it."""
        look = replace(self.look, verbose=verbose, colour=colours(stream), width=window(stream))
        said: str = import_module(f"fleetctl.render.{(RENDERERS | GRAPHS)[self.name]}").render(report, look)
        return said


FORMATS: Final = {name: Format(name) for name in RENDERERS}

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
    for remark in finished.remarks:
        note(remark)
    lost = show(finished.report, form, verbose=verbose)
    return lost if lost and finished.report["kind"] != "apply" else finished.exit_code


def deliver(file: FileText) -> int:
    """Print a result that is a file, and give the exit code."""
    note(file.remark)
    return write(file.text)


def show(report: Report, form: Format, *, verbose: bool = False) -> int:
    """Print a report as the result; the exit code as far as that goes."""
    return write(form(report, sys.stdout, verbose))


def write(text: str) -> int:
    """Print a result: all that stdout gets comes through here. What cannot be printed is told, once, and no success."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        return give_up(error)
    return EXIT_OK


def say(text: str) -> None:
    """Tell people something beside the result: all that stderr gets comes through here, and is left without user parts
    of URLs and commands to a build's log. That nobody can be told must not stop what is under way."""
    if "@" in text:
        from better_compute.domain.policy.urls import mask_message  # not at the top: few texts hold a URL

        text = "\n".join(map(mask_message, text.split("\n")))
    shown = "\n".join(map(inert, text.split("\n")))
    with suppress(OSError, ValueError):
        sys.stderr.write(shown)
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
