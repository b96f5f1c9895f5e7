"""An apply: a line for each operation as it ends, and the report of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.render.text import problems
from fleetctl.render.text.operations import named
from fleetctl.render.text.problems import place
from fleetctl.render.text.style import Style
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import ApplyReport, Outcome

_SHOWN = 20
_REST = {
    False: "Run the same command again to go on: what is done is not done twice.",
    True: "The expected digest was of the whole change: plan again, and approve the digest of what is left.",
}


def progress_line(outcome: Outcome, number: int, total: int, style: Style) -> str:
    """`[ 3/12] done    offer fra1-h100 to acme`."""
    done = outcome["status"] == "done"
    status = (style.green if done else style.red)(f"{outcome['status']:<7}")
    problem = outcome["problem"]
    said = f": {escape(problem['code'])}: {escape(problem['message'])}" if problem else ""
    return f"[{number:>{len(str(total))}}/{total}] {status} {named(outcome)}{_note(outcome)}{said}"


def applied(report: ApplyReport, style: Style) -> Iterator[str]:
    summary = report["summary"]
    if report["interrupted"]:
        yield style.yellow(f"Interrupted by {escape(report['interrupted'])}: nothing new was started after it.")
    for why in sorted({outcome["note"] for outcome in report["notStarted"] if outcome["note"]}):
        yield style.yellow(f"Nothing new was started: {escape(why)}.")
    yield from _failed(report["failed"], style)
    yield from _waiting("Blocked", report["blocked"], style)
    yield from _waiting("Not started", report["notStarted"], style)
    if style.verbose and report["done"]:
        yield from (style.bold("Done"), *(f"  {named(outcome)}{_note(outcome)}" for outcome in report["done"]), "")
    yield _sum(report, style)
    if summary["done"] < summary["operations"]:
        yield _REST[report["approvedBy"] == "digest"]
    yield f"{style.bold('Digest:')} {escape(report['digest'])}"


def _sum(report: ApplyReport, style: Style) -> str:
    summary = report["summary"]
    if not summary["operations"]:
        return style.green("No changes: everything is as the files say.")
    words = {"failed": summary["failed"], "blocked": summary["blocked"], "not started": summary["notStarted"]}
    rest = ", ".join(f"{number:,} {word}" for word, number in words.items() if number)
    if not rest:
        return style.green(f"Applied: {count(summary['done'], 'operation')} done.")
    word = "Applied in part" if summary["done"] else "Not applied"
    return style.red(f"{word}: {summary['done']:,} of {count(summary['operations'], 'operation')} done, {rest}.")


def _failed(outcomes: Sequence[Outcome], style: Style) -> Iterator[str]:
    if not outcomes:
        return
    yield style.bold("Failed")
    for outcome in outcomes:
        tries = f" after {outcome['attempts']} attempts" if outcome["attempts"] > 1 else ""
        yield f"  {style.red(named(outcome))}{tries}  {style.dim(place(outcome['source']))}"
        if outcome["problem"]:
            yield from (f"    {line}" for line in problems.lines(outcome["problem"], style))
    yield ""


def _waiting(title: str, outcomes: Sequence[Outcome], style: Style) -> Iterator[str]:
    if not outcomes:
        return
    yield style.bold(title)
    for outcome in outcomes if style.verbose else outcomes[:_SHOWN]:
        waited = f" (waits for {', '.join(f'#{n}' for n in outcome['waitsFor'])})" if outcome["waitsFor"] else ""
        yield f"  {named(outcome)}{style.dim(waited)}"
    if len(outcomes) > _SHOWN and not style.verbose:
        yield style.dim(f"  and {len(outcomes) - _SHOWN:,} more (--verbose)")
    yield ""


def _note(outcome: Outcome) -> str:
    return f" ({escape(outcome['note'])})" if outcome["note"] else ""
