"""An apply in words: a line for each operation as it ends, and the report of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline import agreement, overtaken, undone
from fleetctl.outline.head import head, outside, selection
from fleetctl.outline.operations import named
from fleetctl.outline.problems import finding, place, places, section
from fleetctl.outline.shape import Item, Outline, Section, Sentence, Words, filled
from fleetctl.words import count, short, time

if TYPE_CHECKING:
    from fleetctl.report.forms import ApplyReport, Outcome, Undo

_SHOWN = 20
_DONE = ("Done", "Done before")
_APPROVED = {"plan": "by a plan file", "digest": "by its digest", "hand": "by whoever ran it"}
_REST = {
    False: "Run the same command again to go on: what is done is not done twice.",
    True: "The expected digest was of the whole change: plan again, and approve the digest of what is left.",
}
_EARLIER = "What they did can be taken back by this report, as far as nobody moved it since."
_LEFT = "What changed meanwhile is not taken back: leave it out by --only or --except, or look at what was changed."


_ALONE = 2
"""So many that failed for the same change still stand by themselves."""


def progress(outcome: Outcome, *, whole: bool) -> tuple[Words, str]:
    """What became of an operation, and of which: `done`, `offer fra1-h100 to acme`. `whole`: with all that is known of
    why it failed, since nothing says so later."""
    problem = outcome["problem"]
    said = f": {escape(problem['code'])}" if problem else ""
    said += f": {escape(problem['message'])}" if problem and whole else ""
    tone: Words = Words(outcome["status"], "good" if outcome["status"] == "done" else "bad")
    return tone, f"{named(outcome)}{_note(outcome)}{said}"


def outline(report: ApplyReport, *, verbose: bool) -> Outline:
    undo = report["undo"]
    return Outline(
        kind="apply",
        fleet=report["fleet"],
        title=(Words("Apply of fleet "), Words(escape(report["fleet"]), foreign=True)),
        facts=tuple(head(report, _facts(report))),
        opening=tuple(_opening(report)),
        sections=filled(
            section([report["refused"]], "Refused", verbose=verbose) if report["refused"] else None,
            Section(title="Failed", items=tuple(_failed(report["failed"]))),
            _waiting("Blocked", report["blocked"], verbose),
            _waiting("Not started", report["notStarted"], verbose),
            Section(title="Meanwhile", items=tuple(_meanwhile(report["done"]))),
            *((undone.left(undo), undone.standing(undo, verbose=verbose)) if undo else ()),
            _told(_DONE[0], report["done"], verbose),
            _told(_DONE[1], report["before"], verbose),
        ),
        closing=(
            *(((_sum(report),),) if undo is None else _taken_back(report, undo)),
            *_found(report["done"]),
            *_before(report["before"]),
            *(_closing(report) if report["refused"] is None else ((Words(_EARLIER),),)),
            (Words(_digest(report), "strong"), Words(" "), Words(escape(report["digest"]), foreign=True)),
        ),
    )


def below_plan(words: Outline, *, verbose: bool) -> Outline:
    """The report right below its plan, which says whose it is; but for `verbose`, what was done was told as it ran."""
    sections = words.sections if verbose else tuple(one for one in words.sections if one.title not in _DONE)
    return words._replace(title=(), facts=(), sections=sections)


def _facts(report: ApplyReport) -> Mapping[str, str]:
    """When it was, of which files and which part, by whose word, and what it takes back."""
    by = report["approvedBy"]
    facts = {"when": time(report["createdAt"]), "approved": _APPROVED.get(by, escape(by))}
    if report["commit"]:
        facts["commit"] = escape(short(report["commit"]))
    if (undo := report["undo"]) is not None:
        facts["undo"] = f"of the apply {undone.which(undo)}"
    if part := report["selection"]:
        facts["part"] = undone.part(part, undo) if undo else selection(part)
    if report["allow"]:
        facts["allow"] = ", ".join(f"{escape(name)}={number}" for name, number in report["allow"].items())
    if report["reason"]:
        facts["reason"] = escape(report["reason"])
    return facts


def _opening(report: ApplyReport) -> Iterator[Sentence]:
    if report["interrupted"]:
        signal = Words(escape(report["interrupted"]), "notice", foreign=True)
        yield Words("Interrupted by ", "notice"), signal, Words(": nothing new was started after it.", "notice")
    for why in sorted({outcome["note"] for outcome in report["notStarted"] if outcome["note"]}):
        yield (
            Words("Nothing new was started: ", "notice"),
            Words(escape(why), "notice", foreign=True),
            Words(".", "notice"),
        )


def _closing(report: ApplyReport) -> Iterator[Sentence]:
    summary = report["summary"]
    yield from agreement.left(report) if report["undo"] is None else ()
    if summary["done"] < summary["operations"]:
        yield (Words(_rest(report)),)


def _digest(report: ApplyReport) -> str:
    """Whose digest it is where this run did the rest alone."""
    return "Digest of the whole plan:" if report["before"] else "Digest:"


def _before(outcomes: Sequence[Outcome]) -> Iterator[Sentence]:
    if outcomes:
        was = "was" if len(outcomes) == 1 else "were"
        yield (Words(f"{count(len(outcomes), 'operation')} of this plan {was} done before."),)


def _rest(report: ApplyReport) -> str:
    """How to go on. An object that moved would be taken back by the same command unseen; one that moved while it was
    taken back would end it before it begins."""
    if any(map(overtaken.is_moved, report["failed"])):
        return overtaken.advice(report["failed"]) if report["undo"] is None else _LEFT
    return _REST[report["approvedBy"] == "digest"]


def _sum(report: ApplyReport) -> Words:
    summary = report["summary"]
    if report["refused"] is not None:
        return Words("Nothing was written by this run: it may not go on where earlier ones ended.", "bad")
    if not summary["operations"]:
        is_whole = agreement.is_whole(report)
        return (
            Words("No changes: everything is as the files say.", "good") if is_whole else agreement.no_changes(report)
        )
    words = {"failed": summary["failed"], "blocked": summary["blocked"], "not started": summary["notStarted"]}
    rest = ", ".join(f"{number:,} {word}" for word, number in words.items() if number)
    if not rest:
        return Words(f"Applied: {count(summary['done'], 'operation')} done{_part(report)}.", "good")
    word = "Applied in part" if summary["done"] else "Not applied"
    return Words(f"{word}: {summary['done']:,} of {count(summary['operations'], 'operation')} done, {rest}.", "bad")


def _found(outcomes: Sequence[Outcome]) -> Iterator[Sentence]:
    """How much this run found done: whose doing that is it does not know."""
    if found := sum(outcome["found"] for outcome in outcomes):
        was = "was" if found == 1 else "were"
        why = "by another run, or by a call whose answer was lost"
        yield (Words(f"{count(found, 'operation')} {was} done already, {why}."),)


def _part(report: ApplyReport) -> str:
    if not report["selection"]:
        return ""
    undo = report["undo"]
    return (
        f" (a part of the fleet: {outside(report['selection'])})"
        if undo is None
        else (f" (a part of the apply: {undone.outside(undo)})")
    )


def _taken_back(report: ApplyReport, undo: Undo) -> Iterator[Sentence]:
    """How much was taken back, and what is to be done beside it, whatever that was."""
    summary = report["summary"]
    yield (_sum(report),) if summary["operations"] else undone.nothing(undo, report["selection"])
    yield from undone.before(undo)
    yield from undone.files(undo, report["done"])


def _failed(outcomes: Sequence[Outcome]) -> Iterator[Item]:
    for alike in overtaken.together(outcomes):
        yield from [_overtaken(alike)] if len(alike) > _ALONE else map(_alone, alike)


def _alone(outcome: Outcome) -> Item:
    return Item(
        mark="-",
        subject=named(outcome),
        tone="bad",
        aside=f" after {outcome['attempts']} attempts" if outcome["attempts"] > 1 else "",
        where=place(outcome["source"]),
        problem=finding(outcome["problem"]) if outcome["problem"] else None,
        alarm=True,
    )


def _overtaken(alike: Sequence[Outcome]) -> Item:
    """What one change kept from being done: why once, and each operation."""
    first = alike[0]
    assert first["problem"] is not None
    message = f"their objects were changed meanwhile by {overtaken.by(first['movedBy'])}"
    return Item(
        mark="-",
        subject=count(len(alike), "operation"),
        tone="bad",
        where=places(one["source"] for one in alike),
        problem=finding(first["problem"])._replace(text=message),
        names=tuple((named(one), place(one["source"])) for one in alike),
        alarm=True,
    )


def _waiting(title: str, outcomes: Sequence[Outcome], verbose: bool) -> Section:
    shown = outcomes if verbose else outcomes[:_SHOWN]
    items = tuple(Item(mark="!", subject=named(o), aside=_waits(o)) for o in shown)
    return Section(title=title, items=items, more=_more(outcomes, shown))


def _told(title: str, outcomes: Sequence[Outcome], verbose: bool) -> Section:
    shown = outcomes if verbose else outcomes[:_SHOWN]
    items = tuple(Item(subject=named(one), aside=_note(one)) for one in shown)
    return Section(title=title, items=items, more=_more(outcomes, shown))


def _more(outcomes: Sequence[Outcome], shown: Sequence[Outcome]) -> Sentence:
    """How many are not shown, and how to see them; empty: none."""
    left = len(outcomes) - len(shown)
    return (Words(f"and {left:,} more (--verbose)", "quiet"),) if left else ()


def _waits(outcome: Outcome) -> str:
    return f" (waits for {', '.join(f'#{n}' for n in outcome['waitsFor'])})" if outcome["waitsFor"] else ""


def _meanwhile(outcomes: Sequence[Outcome]) -> Iterator[Item]:
    """What was given up for a moment, and goes on until the rest is done."""
    for outcome in outcomes:
        if outcome["meanwhile"]:
            notes = tuple(Words(f"! {escape(sentence)}", "notice", foreign=True) for sentence in outcome["meanwhile"])
            yield Item(mark="!", subject=named(outcome), where=place(outcome["source"]), notes=notes, alarm=True)


def note(outcome: Outcome) -> str:
    """What is to be known beside its status; empty: nothing."""
    if outcome["found"]:
        return "already gone" if outcome["action"] == "unoffer" else "already as wished"
    return escape(outcome["note"])


def _note(outcome: Outcome) -> str:
    return f" ({said})" if (said := note(outcome)) else ""
