"""Drift in words: what, since when, by whom, and through which change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from better_compute.domain.escape import escape
from fleetctl.outline import agreement, moved, values
from fleetctl.outline.head import base, commit, files, head, live, outside, selection
from fleetctl.outline.problems import place, places
from fleetctl.outline.shape import Item, Outline, Section, Sentence, Words, filled
from fleetctl.words import count, listed, time

if TYPE_CHECKING:
    from fleetctl.report.forms import Change, Coverage, Drifted, DriftReport

_TITLES = {
    "changed": "Changed behind the files' back",
    "removed": "Live, and in no file",
    "undone": "Taken back by an undo, and still in the files",
    "pending": "Not applied yet",
}
_EXPECTED = "Expected to differ"
_ALONE = 2
"""So many that drifted in the same way still stand by themselves."""
_NAMED = 3
_WIDEST = 64


def outline(report: DriftReport, *, verbose: bool) -> Outline:
    unexpected = [one for one in report["drift"] if one["expected"] is None]
    expected = [one for one in report["drift"] if one["expected"] is not None]
    return Outline(
        kind="drift",
        fleet=report["fleet"],
        title=(Words("Drift of fleet "), Words(escape(report["fleet"]), foreign=True)),
        facts=tuple(head(report, _facts(report))),
        sections=filled(
            *(
                _section(title, [one for one in unexpected if _under(one) == kind], verbose)
                for kind, title in _TITLES.items()
            ),
            _section(_EXPECTED, expected, verbose),
            unnamed(report) if verbose else None,
        ),
        closing=(_sum(report), *agreement.waiting(report)),
    )


def _under(one: Drifted) -> str:
    """The kind, of which a title is. What this fleet's caller took back was applied, so that files are not ahead."""
    return "undone" if one["kind"] == "pending" and _undoes(one) else one["kind"]


def _undoes(one: Drifted) -> str | None:
    """The digest of the apply that the last event took back."""
    undoes = (one["via"] or {}).get("undoes")
    return undoes if isinstance(undoes, str) and undoes else None


def subject(one: Drifted) -> str:
    """`fra1-h100 for acme`."""
    return _name(one) + _for(one)


def changes(one: Drifted, *, whole: bool) -> Iterator[tuple[str, str]]:
    """Each field that differs, and how."""
    yield from ((escape(change["path"]), _change(change, whole)) for change in one["changes"])


def coverage(it: Coverage) -> str:
    """`12 of 14 live pools under code (85.7 %), 96 of 112 GPU atoms`: of none nobody says a share."""
    if it["percent"] is None:
        return "no live pools"
    atoms = f", {it['namedAtoms']:,} of {it['liveAtoms']:,} GPU atoms" if it["liveAtoms"] else ""
    return f"{it['namedPools']:,} of {count(it['livePools'], 'live pool')} under code ({it['percent']:g} %){atoms}"


def unnamed(report: DriftReport) -> Section:
    """The live pools that are not under code, and who made them."""
    it = report["coverage"]
    items = (
        Item(
            subject=escape(pool["key"] or pool["poolId"]),
            details=(f"{escape(pool['gpuModel'])} at {escape(pool['siteId'])}", escape(pool["poolId"])),
            where=f"made by {escape(pool['createdBy'])}" if pool["createdBy"] else "",
        )
        for pool in it["unnamed"]
    )
    left = it["livePools"] - it["namedPools"] - len(it["unnamed"])
    more = (Words(f"and {left:,} more", "quiet"),) if left else ()
    return Section(title="Live, and not under code", items=tuple(items), more=more, in_columns=True)


def _facts(report: DriftReport) -> Mapping[str, str]:
    summary = report["summary"]
    facts = {
        **({"base": base(report["base"])} if report["base"] else {}),
        "files": files(summary["entries"], summary["offers"]) + commit(report["commit"]),
        "live": live(time(report["createdAt"]), snapshot=report["snapshot"]),
        "coverage": "".join(_coverage(report)),
    }
    if report["selection"]:
        facts["part"] = selection(report["selection"])
    return facts


def _coverage(report: DriftReport) -> Iterator[str]:
    """With the first of the pools that are not under code."""
    it = report["coverage"]
    yield coverage(it)
    if report["selection"]:
        yield ", in the whole fleet"
    if it["unnamed"]:
        rest = it["livePools"] - it["namedPools"] - len(it["unnamed"])
        names = [escape(values.cut(pool["key"] or pool["poolId"], _WIDEST)) for pool in it["unnamed"]]
        yield f"; not {listed([*names, *[''] * rest], 'pool')}"


def _sum(report: DriftReport) -> Sentence:
    """Of a part of a fleet nobody says that nothing drifted."""
    summary, part = report["summary"], report["selection"]
    aside = f", {summary['expected']:,} expected" if summary["expected"] else ""
    counts = ", ".join(f"{summary[kind]:,} {kind}" for kind in ("changed", "removed", "pending") if summary[kind])
    if counts:
        rest = f" (a part of the fleet: {outside(part)})" if part else ""
        return (Words(f"Drift: {counts}{aside}{rest}.", "notice"),)
    said = files(summary["entries"], summary["offers"])
    if part:  # of which what was left out may differ
        return (Words(f"No drift in the selection of {said}{aside}; {outside(part)}.", agreement.tone(report)),)
    return (Words(f"No drift. {said} as the files say{' or expect' if aside else ''}{aside}.", agreement.tone(report)),)


def _section(title: str, found: Sequence[Drifted], verbose: bool) -> Section:
    items = (_together(equal, verbose) for equal in _equal(sorted(found, key=_place)))
    return Section(title=title, items=tuple(items))


def _place(one: Drifted) -> tuple[str, int, str]:
    """Where the files have it; what they have not comes last, by its name."""
    source = one["source"]
    return (source["file"], source["line"], "") if source else ("\U0010ffff", 0, one["key"] or one["poolId"])


def _equal(found: Sequence[Drifted]) -> Iterator[list[Drifted]]:
    """What differs in the same way, by the same hand: more than a few of those are told together."""
    groups: dict[str, list[Drifted]] = {}
    for one in found:
        event = one["actorId"], one["eventType"], one["via"], one["since"] is None
        same = one["what"], one["toTenantId"], one["changes"], one["expected"], one["source"] is None
        groups.setdefault(repr((same, event)), []).append(one)
    for group in groups.values():
        yield from [group] if len(group) > _ALONE else ([one] for one in group)


def _together(equal: Sequence[Drifted], verbose: bool) -> Item:
    one = equal[0]
    is_mild = one["kind"] == "pending" or one["expected"] is not None
    told = Item(
        mark="~" if one["kind"] == "pending" else "!",
        tone="quiet" if is_mild else "notice",
        subject=_subject(equal, verbose) + _for(one),
        details=(escape(one["what"]),),
        where=places(each["source"] for each in equal if each["source"]),
        changes=tuple(changes(one, whole=verbose)),
        notes=(*since(equal), *_why(one)),
        alarm=not is_mild,
    )
    return told if verbose else _with_whole(told, equal)


def _with_whole(told: Item, equal: Sequence[Drifted]) -> Item:
    """With all that is left out of it, for those who cannot ask for more."""
    one, whole = equal[0], told._replace(changes=tuple(changes(equal[0], whole=True)))
    if len(equal) > _NAMED:
        names = tuple((_name(each), place(each["source"]) if each["source"] else "") for each in equal)
        whole = whole._replace(subject=count(len(equal), "pool") + _for(one), names=names)
    return told if whole == told else told._replace(whole=whole)


def _name(one: Drifted) -> str:
    return escape(one["key"] or one["poolId"])


def _for(one: Drifted) -> str:
    return f" for {escape(one['toTenantId'])}" if one["toTenantId"] else ""


def since(equal: Sequence[Drifted]) -> Iterator[Words]:
    """The last event of what drifted in the same way: since when, by whom, and through which change."""
    one, times = equal[0], [each["since"] for each in equal if each["since"] is not None]
    if times:
        event = f" ({escape(one['eventType'])})" if one["eventType"] else ""
        last = f", the last {time(max(times))}" if max(times) > min(times) else ""
        actor = escape(one["actorId"] or "nobody known")
        yield Words(f"since {time(min(times))}{last} by {actor}{event}", foreign=True)
        if not (one["toTenantId"] and one["eventType"] == "pool.created"):  # nobody knows it of rows made with a pool
            if (undoes := _undoes(one)) is not None:
                yield Words(moved.taken_back([undoes]), "quiet", foreign=True)
            yield Words(_via(one["via"]), "quiet", foreign=True)


def _why(one: Drifted) -> Iterator[Words]:
    if one["expected"] is not None:
        yield Words(f"expected: {escape(one['expected'])}", foreign=True)


def _subject(equal: Sequence[Drifted], verbose: bool) -> str:
    names = [_name(each) for each in equal]
    shown = names if verbose else names[:_NAMED]
    rest = f" and {len(names) - len(shown):,} more (--verbose)" if len(shown) < len(names) else ""
    return ", ".join(shown) + rest


def _change(change: Change, whole: bool) -> str:
    live_side, wished = values.sides(change, whole=whole)
    mark = " (differs)" if change.get("sensitive") else ""
    return f"live {live_side}, files {wished}{mark}"


def _via(via: Mapping[str, Any] | None) -> str:
    """The change that the event names: whatever a caller chose to send."""
    if not via:
        return "via no apply: the call named no change"
    known = {name: via[name] for name in ("fleet", "digest", "commit", "reason") if via.get(name) is not None}
    shown = known or via
    return "via " + ", ".join(f"{escape(str(name))} {values.sent(it)}" for name, it in shown.items())
