"""Drift: what, since when, by whom, and through which change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from better_compute.domain.escape import escape
from fleetctl.render.text import values
from fleetctl.render.text.head import head
from fleetctl.render.text.problems import place
from fleetctl.render.text.style import Style, width
from fleetctl.words import count, time

if TYPE_CHECKING:
    from fleetctl.report.forms import Change, Drifted, DriftReport

_TITLES = {
    "changed": "Changed behind the files' back",
    "removed": "Live, and in no file",
    "pending": "Not applied yet",
}
_INDENT = " " * 4
_ALONE = 2
"""So many that drifted in the same way still stand by themselves."""
_NAMED = 3


def drift(report: DriftReport, style: Style) -> Iterator[str]:
    summary = report["summary"]
    pools, offers = count(summary["entries"], "pool"), count(summary["offers"], "offer")
    yield style.bold(f"Drift of fleet {escape(report['fleet'])}")
    yield from head(report, style, {"files": f"{pools}, {offers}", "live": f"as of {time(report['createdAt'])}"})
    for kind, title in _TITLES.items():
        found = [one for one in report["drift"] if one["kind"] == kind]
        if found:
            yield from ("", style.bold(title))
            for equal in _equal(sorted(found, key=_place)):
                yield from _together(equal, style)
    yield ""
    if report["drift"]:
        counts = ", ".join(f"{summary[kind]:,} {kind}" for kind in ("changed", "removed", "pending") if summary[kind])
        yield style.yellow(f"Drift: {counts}.")
    else:
        yield style.green(f"No drift. {pools}, {offers} as the files say.")


def _place(one: Drifted) -> tuple[str, int, str]:
    """Where the files have it; what they have not comes last, by its name."""
    source = one["source"]
    return (source["file"], source["line"], "") if source else ("\U0010ffff", 0, one["key"] or one["poolId"])


def _equal(found: Sequence[Drifted]) -> Iterator[list[Drifted]]:
    """What differs in the same way, by the same hand: more than a few of those are told together."""
    groups: dict[str, list[Drifted]] = {}
    for one in found:
        same = (one["what"], one["toTenantId"], one["changes"], one["actorId"], one["eventType"], one["via"])
        groups.setdefault(repr((same, one["since"] is None)), []).append(one)
    for group in groups.values():
        yield from [group] if len(group) > _ALONE else ([one] for one in group)


def _together(equal: Sequence[Drifted], style: Style) -> Iterator[str]:
    one = equal[0]
    colour = style.dim if one["kind"] == "pending" else style.yellow
    subject = _subject(equal, style) + (f" for {escape(one['toTenantId'])}" if one["toTenantId"] else "")
    more = f" and {len(equal) - 1:,} more" if len(equal) > 1 else ""
    where = f"  {style.dim(place(one['source']) + more)}" if one["source"] else ""
    yield f"  {colour(subject)}  {escape(one['what'])}{where}"
    column = width([escape(change["path"]) for change in one["changes"]])
    yield from (f"{_INDENT}{_change(change, column, style)}" for change in one["changes"])
    times = [each["since"] for each in equal if each["since"] is not None]
    if times:
        event = f" ({escape(one['eventType'])})" if one["eventType"] else ""
        last = f", the last {time(max(times))}" if max(times) > min(times) else ""
        yield f"{_INDENT}since {time(min(times))}{last} by {escape(one['actorId'] or 'nobody known')}{event}"
        yield f"{_INDENT}{style.dim(_via(one['via']))}"


def _subject(equal: Sequence[Drifted], style: Style) -> str:
    names = [escape(each["key"] or each["poolId"]) for each in equal]
    shown = names if style.verbose else names[:_NAMED]
    rest = f" and {len(names) - len(shown):,} more (--verbose)" if len(shown) < len(names) else ""
    return ", ".join(shown) + rest


def _change(change: Change, column: int, style: Style) -> str:
    live, wished = values.sides(change, whole=style.verbose)
    mark = " (differs)" if change.get("sensitive") else ""
    return f"{escape(change['path']):<{column}}  live {live}, files {wished}{mark}"


def _via(via: Mapping[str, Any] | None) -> str:
    """The change that the event names: whatever a caller chose to send."""
    if not via:
        return "via no apply: the call named none"
    known = {name: via[name] for name in ("fleet", "digest", "commit", "reason") if via.get(name) is not None}
    shown = known or via
    return "via " + ", ".join(f"{escape(str(name))} {values.cut(values.value(it), 80)}" for name, it in shown.items())
