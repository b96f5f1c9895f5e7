"""A plan in words: what it is of, who loses, what will be done, what was found, and the sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline import agreement, capacity, moved, operations, problems, together, undone
from fleetctl.outline.head import NO_BASE, base, commit, files, head, live, outside, selection
from fleetctl.outline.problems import place, places
from fleetctl.outline.shape import Item, Outline, Section, Sentence, Words, filled
from fleetctl.words import count, short, time

if TYPE_CHECKING:
    from fleetctl.report.forms import DriftedOperation, Note, PlanReport, Selection, Shift, Source

_SUMS = {
    "archive": ("to archive", "to archive"),
    "unoffer": ("to withdraw", "to withdraw"),
    "cut": ("cut", "cuts"),
    "create": ("to create", "to create"),
    "update": ("to update", "to update"),
    "newOffer": ("new offer", "new offers"),
    "raise": ("raise", "raises"),
    "terms": ("offer on other terms", "offers on other terms"),
}
_COUNTED = {"archives": "archives", "withdrawals": "withdrawals", "gpusWithdrawn": "GPUs withdrawn"}
_NOTES = {
    "id": "entries adopt pools by their ids",
    "key": "entries are pools that were made under another key",
    "caller": "entries are pools that another caller made",
    "unoffered": "new pools are offered to nobody: write their offers, or `offers: []` if that is meant",
}
_NOTED = 3


def outline(report: PlanReport, *, verbose: bool) -> Outline:
    drift = moved.by_number(report)
    return Outline(
        kind="plan",
        fleet=report["fleet"],
        title=(Words("Plan of fleet "), Words(escape(report["fleet"]), foreign=True)),
        facts=tuple(head(report, _facts(report))),
        sections=filled(
            _losses(report, drift),
            _gains(report),
            operations.section(report["operations"], drift, verbose=verbose),
            problems.section(report["findings"], verbose=verbose),
            undone.standing(report["undo"], verbose=verbose) if "undo" in report else None,
            together.revisions(report),
            together.section(report, verbose=verbose),
            Section(title="Notes", items=tuple(_notes(report["notes"], verbose))),
            capacity.shares(report["capacity"]["shares"], verbose=verbose),
            capacity.stock(report["capacity"]["stock"], verbose=verbose),
            _foreign(report) if verbose else None,
        ),
        closing=tuple(_closing(report)),
    )


def _facts(report: PlanReport) -> Mapping[str, str]:
    summary, as_of = report["summary"], f"event {report['sequence']}, {time(report['createdAt'])}"
    facts = {
        "base": base(report["base"]) if report["base"] else NO_BASE,
        "files": files(summary["entries"], summary["offers"]) + commit(report["commit"]),
        "live": live(as_of, snapshot=report["snapshot"]),
    }
    if "undo" in report:
        facts["files"] = f"not asked: it takes back the apply {undone.which(report['undo'])}"
    if "together" in report:
        facts["with"] = together.fact(report["together"])
    if part := report["selection"]:
        facts["part"] = undone.part(part, report["undo"]) if "undo" in report else selection(part)
    if report["prune"]:
        facts["prune"] = "pools that left the files, and that the base names, are archived"
    if report["allow"]:
        allowed = ", ".join(f"{escape(name)}={number}" for name, number in report["allow"].items())
        facts["allow"] = f"{allowed}: {escape(report['reason'] or '')}"
    elif report["reason"]:
        facts["reason"] = escape(report["reason"])
    if report["expiresAt"] is not None:
        facts["expires"] = time(report["expiresAt"])
    return facts


def _losses(report: PlanReport, drift: Mapping[int, DriftedOperation]) -> Section:
    sources, items = _sources(report), []
    over = {operation["n"] for operation in report["operations"] if moved.overwrites(operation)}
    for shift in report["losses"]:
        others = [drift[n] for n in shift["operations"] if n in drift]
        part = "in part " if len(others) < len(shift["operations"]) else ""
        told = (part + moved.lost(others, over),) if others else ()
        items.append(_shift(shift, sources, Item(subject="", mark="-", tone="bad", details=told, alarm=True)))
    return Section(title="Who loses", items=tuple(items), in_columns=True)


def _gains(report: PlanReport) -> Section:
    sources, gain = _sources(report), Item(subject="", mark="+", tone="good")
    items = tuple(_shift(shift, sources, gain) for shift in report["gains"])
    return Section(title="Who gains", items=items, in_columns=True, is_open=True)


def _sources(report: PlanReport) -> Mapping[int, Source]:
    return {operation["n"]: operation["source"] for operation in report["operations"]}


def _shift(shift: Shift, sources: Mapping[int, Source], item: Item) -> Item:
    """The item with the tenant, what moves, and where."""
    return item._replace(
        subject=escape(shift["tenantId"]),
        details=(escape(shift["sentence"]), *item.details),
        where=places(sources[n] for n in shift["operations"] if n in sources),
    )


def _notes(notes: Sequence[Note], verbose: bool) -> Iterator[Item]:
    """They stand in every plan, so that more than a few of a kind are counted."""
    for kind, said in _NOTES.items():
        alike = [note for note in notes if note["kind"] == kind]
        if len(alike) > _NOTED and not verbose:
            counted = f"{len(alike):,} {said}"
            names = tuple((escape(note["sentence"]), place(note["source"])) for note in alike)
            yield Item(subject=f"{counted} (--verbose)", whole=Item(subject=counted, names=names))
        else:
            yield from (Item(subject=escape(note["sentence"]), where=place(note["source"])) for note in alike)


def _foreign(report: PlanReport) -> Section:
    """Nobody's business here, and what one looks for who misses a pool."""
    items = (
        Item(
            subject=escape(pool["key"] or pool["poolId"]),
            details=(f"{escape(pool['gpuModel'])} at {escape(pool['siteId'])}",),
            where=f"made by {escape(pool['createdBy'])}" if pool["createdBy"] else "",
        )
        for pool in report["foreign"]
    )
    left = report["summary"]["foreign"] - len(report["foreign"])
    more = (Words(f"and {left:,} more", "quiet"),) if left else ()
    return Section(title="Foreign pools", items=tuple(items), more=more, in_columns=True)


def _closing(report: PlanReport) -> Iterator[Sentence]:
    summary = report["summary"]
    yield from _sum(report)
    yield from capacity.net(report["capacity"]["shares"])
    yield from ((Words(said),) for said in moved.summed(report))
    yield from agreement.left(report)
    if summary["foreign"]:
        yield (Words(f"{count(summary['foreign'], 'foreign pool')} left alone.", "quiet"),)
    found = problems.tally(summary["errors"], summary["warnings"], summary["unchecked"])
    if summary["blocked"]:
        end = Words(". Nothing of this plan can be applied.", "bad")
        yield (Words(f"Blocked: {found}", "bad"), *_first(report), end)
    else:
        yield from _free(report)
        if found:
            yield (Words(f"Found: {found}.", "notice"),)
    if "undo" in report:
        undo = report["undo"]
        yield from undone.before(undo)
        yield from undone.files(undo, report["operations"])
    yield (Words("Digest:", "strong"), Words(" "), Words(escape(report["digest"]), foreign=True), *_rest_of(report))
    if "together" in report:
        yield together.closing(report["together"], is_blocked=summary["blocked"])


def _rest_of(report: PlanReport) -> Iterator[Words]:
    """Whose rest it is: events, and the report, name that."""
    if "restOf" in report:
        yield from (Words(", of the rest of the plan "), Words(escape(short(report["restOf"])), foreign=True))


def _sum(report: PlanReport) -> Iterator[Sentence]:
    """What will be done."""
    summary, part = report["summary"], report["selection"]
    if report["operations"]:
        kinds = Counter(map(operations.kind, report["operations"]))
        sums = [f"{n:,} {_SUMS[kind][n > 1]}" for kind in _SUMS if (n := kinds[kind])]
        unchanged = f"{summary['unchanged']:,} of {count(summary['entries'], 'pool')} unchanged"
        rest = f" ({_part(report, part)})" if part else ""
        yield Words("Plan:", "strong"), Words(f" {', '.join(sums)}; {unchanged}{rest}.")
    elif "undo" in report:
        yield undone.nothing(report["undo"], part)
    elif not summary["blocked"]:
        yield (agreement.no_changes(report),)


def _part(report: PlanReport, part: Selection) -> str:
    if "undo" in report:
        return f"a part of the apply: {undone.outside(report['undo'])}"
    return f"a part of the fleet: {outside(part)}"


def _free(report: PlanReport) -> Iterator[Sentence]:
    """That nothing blocks, and how much of what guards let pass is used up."""
    counts = [f"{_COUNTED[one['guard']]} {one['number']:,}, at most {one['limit']:,}" for one in report["guards"]]
    if report["operations"]:
        alone = " by itself" if "together" in report and report["together"]["blocked"] else ""
        yield (Words(f"Not blocked{alone}{': ' if counts else ''}{'; '.join(counts)}."),)


def _first(report: PlanReport) -> Iterator[Words]:
    """Where the first error is: what blocks a long plan has long left the screen."""
    source = next((f["source"] for f in report["findings"] if f["severity"] == "error" and f["source"]), None)
    if source:
        yield from (Words(" (first: ", "bad"), Words(place(source), "bad", foreign=True), Words(")", "bad"))
