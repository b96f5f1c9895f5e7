"""What of a plan is not of its change, in words: who moved live state and since when, or that nobody applied it yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.words import count, listed, time

if TYPE_CHECKING:
    from fleetctl.report.forms import PlanReport, UndoneOperation

NOT_APPLIED = "not applied yet"
_NOBODY = "nobody known"


def by_number(report: PlanReport) -> Mapping[int, UndoneOperation]:
    """The operations that are not of the change, or not of it alone."""
    return {one["n"]: one for one in report["drift"] or ()}


def word(one: UndoneOperation | None) -> str:
    """What a single change of such an operation is marked with."""
    return NOT_APPLIED if one is not None and one["kind"] == "pending" else "drift"


def hand(one: UndoneOperation | None) -> str:
    """What must be equal for operations to be told together: the kind, and by whom."""
    return "" if one is None else f"{one['kind']} {one['actorId']}"


def told(found: Sequence[UndoneOperation], drift: str = "drift: by {}") -> str:
    """`drift: by alice since ...`, `not applied yet`, or both; of several the first time."""
    changed = [one for one in found if one["kind"] == "changed"]
    parts = []
    if changed:
        actors = dict.fromkeys(escape(one["actorId"] or _NOBODY) for one in changed)
        times = [one["since"] for one in changed if one["since"] is not None]
        since = f" since {time(min(times))}" if times else ""
        parts.append(drift.format(listed([*actors], "caller")) + since)
    if len(changed) < len(found):
        parts.append(NOT_APPLIED)
    return ", ".join(parts)


def lost(found: Sequence[UndoneOperation]) -> str:
    """The same of what a tenant loses: who moved live state did not take it, the operation does."""
    return told(found, "undoes what {} changed")


def summed(counts: Mapping[str, int]) -> Iterator[str]:
    """How much of a plan is not of its change, by kind."""
    if changed := counts.get("changed"):
        verb = "undoes" if changed == 1 else "undo"
        yield f"{count(changed, 'operation')} {verb} what moved behind the files' back."
    if pending := counts.get("pending"):
        verb = "does" if pending == 1 else "do"
        yield f"{count(pending, 'operation')} {verb} what the base asks for too, and nobody applied yet."
