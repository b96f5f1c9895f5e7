"""A fleet that was begun, in words: what was written, and what comes next."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Final

from better_compute.domain.escape import escape
from fleetctl.outline.shape import Item, Outline, Section, Sentence, Words, filled
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import InitReport

_EMBEDDED: Final = (
    ("validate", "what is wrong with the files, offline"),
    ("test", "what their plan is against a live state that you make up"),
    ("plan", "what an apply would do"),
    ("apply", "do it: the control plane is a file, made on the spot"),
    ("drift", "what differs afterwards: nothing"),
)
_SERVED: Final = (
    ("validate", "what is wrong with the files, offline"),
    ("test", "what their plan is against a live state that you make up"),
    ("whoami", "who you are there, and which rights are missing; the token is in FLEETCTL_TOKEN"),
    ("plan", "what an apply would do"),
)


def outline(report: InitReport, **_: bool) -> Outline:
    files = tuple(Item(mark="+", tone="good", subject=escape(file)) for file in report["files"])
    lines = tuple(Item(subject=escape(line)) for line in report["toIgnore"])
    own = report["toOwn"]
    owners = tuple(Item(subject=escape(line), details=(escape(own["file"]),)) for line in own["lines"]) if own else ()
    return Outline(
        kind="init",
        fleet=report["fleet"],
        sections=filled(
            Section(title="Written", items=files),
            Section(title="Not ignored by git yet", items=lines),
            Section(title="To add to CODEOWNERS", items=owners, in_columns=True),
            Section(title="Next", items=_next(report), in_columns=True),
        ),
        closing=(_sum(report),),
    )


def _next(report: InitReport) -> tuple[Item, ...]:
    steps = _EMBEDDED if report["server"] is None else _SERVED
    where = "" if report["directory"] == "." else f" {quote(report['directory'])}"
    return tuple(Item(subject=escape(f"fleetctl {command}{where}"), details=(said,)) for command, said in steps)


def _sum(report: InitReport) -> Sentence:
    files = count(len(report["files"]), "file")
    end = Words(f": {files} written. Their comments say what to change.", "good")
    return Words("Fleet ", "good"), Words(escape(report["fleet"]), "good", foreign=True), end
