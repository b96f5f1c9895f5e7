"""The difference of two fleets in words: what guards less, the fleet's fields, guards and checks, pools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from better_compute.domain.escape import escape
from fleetctl.outline import values
from fleetctl.outline.head import commit, files
from fleetctl.outline.problems import place
from fleetctl.outline.shape import Fact, Item, Outline, Section, Sentence, Tone, Words, filled
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import Change, ChangedLimit, ChangedOffer, ChangedPool, ComparedSide, FleetDiffReport

_MARKS: Final = {"added": "+", "removed": "-", "changed": "~"}
_VERBS: Final = {"added": "add", "removed": "remove", "changed": "change"}
_TONES: Final[dict[str, Tone]] = {"added": "good", "removed": "bad", "changed": "notice"}
_DIRECTIONS: Final[dict[str, Tone]] = {"looser": "bad", "tighter": "good", "other": "notice"}
_ON_THE_LINE = ("gpuModel", "siteId", "class", "sharing")
_SAID = ("idempotencyKey", "offers", "agent", *_ON_THE_LINE)


_ORDER: Final = ("removed", "changed", "added")


def outline(report: FleetDiffReport, *, verbose: bool) -> Outline:
    pools = sorted(report["pools"], key=lambda pool: _ORDER.index(pool["kind"]))
    return Outline(
        kind="diff",
        fleet=report["after"]["fleet"],
        title=(
            Words("Difference of "),
            Words(escape(report["before"]["given"]), foreign=True),
            Words(" and "),
            Words(escape(report["after"]["given"]), foreign=True),
        ),
        facts=(Fact("before", _side(report["before"])), Fact("after", _side(report["after"]))),
        opening=tuple(_alarm(report)),
        sections=filled(
            Section(title="Fleet", items=tuple(_field(change, verbose) for change in report["fields"])),
            Section(title="Guards and checks", items=tuple(_limit(limit, verbose) for limit in report["limits"])),
            Section(title="Pools", items=tuple(_pool(pool, verbose) for pool in pools)),
        ),
        closing=(_sum(report),),
    )


def _side(side: ComparedSide) -> str:
    return f"{escape(side['given'])}{commit(side['commit'])}: {files(side['entries'], side['offers'])}"


def _alarm(report: FleetDiffReport) -> Iterator[Sentence]:
    if looser := report["summary"]["looser"]:
        verb = "guards" if looser == 1 else "guard"
        yield (Words(f"{count(looser, 'limit')} {verb} less than before.", "bad"),)


def _field(change: Change, verbose: bool) -> Item:
    subject = escape(change["path"])
    return Item(mark="~", verb="change", tone="notice", subject=subject, details=(_sides(change, verbose),))


def _limit(limit: ChangedLimit, verbose: bool) -> Item:
    change, direction = limit["change"], limit["direction"]
    said = _sides(change, verbose)
    return Item(
        mark="~",
        verb="change",
        tone=_DIRECTIONS[direction],
        subject=escape(change["path"]),
        details=(said if direction == "other" else f"{said}  {direction}",),
        alarm=direction == "looser",
    )


def _pool(pool: ChangedPool, verbose: bool) -> Item:
    kind = pool["kind"]
    return Item(
        mark=_MARKS[kind],
        verb=_VERBS[kind],
        tone=_TONES[kind],
        subject=escape(pool["key"] or pool["poolId"]),
        details=() if kind == "changed" else tuple(_looks(pool)),
        where=place(pool["source"]),
        changes=tuple(_changes(pool, verbose)),
        notes=(Words("! it was protected, and is no more", "bad"),) if pool["looser"] else (),
        alarm=kind == "removed" or pool["looser"],
    )


def _looks(pool: ChangedPool) -> Iterator[str]:
    """What a pool is that one side alone has: `H100, site_fra1, metal-host`."""
    side = "after" if pool["kind"] == "added" else "before"
    for path in _ON_THE_LINE:
        yield from (values.value(change.get(side)) for change in pool["changes"] if change["path"] == path)


def _changes(pool: ChangedPool, verbose: bool) -> Iterator[tuple[str, str]]:
    """What differs in a pool. Of one that one side alone has, the line has said most; what was in one that goes is
    told to those who ask for everything."""
    kind = pool["kind"]
    for change in pool["changes"]:
        if kind == "changed" or verbose:
            yield escape(change["path"]), _sides(change, verbose)
        elif kind == "added" and change["path"] not in _SAID:
            yield escape(change["path"]), values.cut(values.value(change.get("after")))
    for offer in pool["offers"]:
        name = f"offers[{escape(offer['toTenantId'])}]"
        if offer["kind"] == "changed":
            yield from ((f"{name}.{escape(change['path'])}", _sides(change, verbose)) for change in offer["changes"])
        else:
            yield name, f"{offer['kind']}: {', '.join(_terms(offer)) or 'no row (grants 0)'}"


def _terms(offer: ChangedOffer) -> Iterator[str]:
    """An offer that one side alone has: `gpu 32, priority 10`."""
    for change in offer["changes"]:
        told = change.get("after", change.get("before"))
        path = change["path"].removeprefix("quota.")
        yield f"{escape(path)} {values.limit(told) if path != change['path'] else values.value(told)}"


def _sides(change: Change, verbose: bool) -> str:
    before, after = values.sides(change, whole=verbose)
    return f"{before} -> {after}" + (" (changed)" if change.get("sensitive") else "")


def _sum(report: FleetDiffReport) -> Sentence:
    summary = report["summary"]
    kinds = {"added": summary["added"], "removed": summary["removed"], "changed": summary["changed"]}
    said = [f"{number:,} {kind}" for kind, number in kinds.items() if number]
    parts = [f"pools: {', '.join(said)}, {summary['unchanged']:,} as before"] if said else []
    parts += [f"fields of the fleet: {summary['fields']:,}"] if summary["fields"] else []
    parts += [f"guards and checks: {summary['limits']:,}"] if summary["limits"] else []
    if not parts:
        return (Words(f"No difference: {files(report['after']['entries'], report['after']['offers'])}.", "good"),)
    return (Words("Difference: ", "strong"), Words(f"{'; '.join(parts)}."))
