"""What of a plan is not of its change, in words: who moved live state and since when, or that nobody applied it yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.words import count, listed, time

if TYPE_CHECKING:
    from fleetctl.report.forms import DriftedOperation, Operation, PlanReport

NOT_APPLIED = "not applied yet"
CHANGE = "this change"
_NOBODY = "nobody known"
_REPLACED = "in place of what is not applied yet"
_SUMS = {
    ("changed", False): ("undoes", "undo", "what moved behind the files' back"),
    ("changed", True): ("overwrites", "overwrite", "what moved behind the files' back"),
    ("pending", False): ("does", "do", "what the base asks for too, and nobody applied yet"),
    ("pending", True): ("replaces", "replace", "what the base asks for, and nobody applied yet"),
}
"""By kind, and whether the files moved as well: for one, for several, and what it is about."""


def by_number(report: PlanReport) -> Mapping[int, DriftedOperation]:
    """The operations that are not of the change, or not of it alone."""
    return {one["n"]: one for one in report["drift"] or ()}


def word(one: DriftedOperation | None) -> str:
    """What a single change of such an operation is marked with."""
    return NOT_APPLIED if one is not None and one["kind"] == "pending" else "drift"


def hand(one: DriftedOperation | None) -> str:
    """What must be equal for operations to be told together: the kind, and by whom."""
    return "" if one is None else f"{one['kind']} {one['actorId']}"


def told(found: Sequence[DriftedOperation], drift: str = "drift: by {}", pending: str = NOT_APPLIED) -> str:
    """`drift: by alice since ...`, `not applied yet`, or both; of several the first time."""
    changed = [one for one in found if one["kind"] == "changed"]
    parts = []
    if changed:
        actors = dict.fromkeys(escape(one["actorId"] or _NOBODY) for one in changed)
        times = [one["since"] for one in changed if one["since"] is not None]
        since = f" since {time(min(times))}" if times else ""
        parts.append(drift.format(listed([*actors], "caller")) + since)
    if len(changed) < len(found):
        parts.append(pending)
    return ", ".join(parts)


def why(causes: Sequence[str], others: Sequence[DriftedOperation]) -> str:
    """`this change and drift: by alice since ...`: all that moved since the base."""
    said = {"intent": CHANGE, "drift": told(others) or "drift"}
    return " and ".join(said.get(cause, cause) for cause in causes)


def overwrites(operation: Operation) -> bool:
    """Whether the files moved as well wherever live state did: the operation brings nothing back, but sets to what the
    files say now."""
    is_both = len(operation["causes"]) > 1
    return is_both and all(change.get("cause") != "drift" for change in operation["changes"])


def lost(found: Sequence[DriftedOperation], over: Collection[int]) -> str:
    """The same of what a tenant loses: who moved live state did not take it, the operation does. `over` are the numbers
    of those that overwrite."""
    back = [one for one in found if one["n"] not in over]
    rest = [one for one in found if one["n"] in over]
    parts = told(back, "undoes what {} changed"), told(rest, "overwrites what {} changed", _REPLACED)
    return ", ".join(filter(None, parts))


def summed(report: PlanReport) -> Iterator[str]:
    """How much of a plan is not of its change, or not of it alone, by kind."""
    over = {operation["n"] for operation in report["operations"] if overwrites(operation)}
    counts: Counter[tuple[str, bool]] = Counter((one["kind"], one["n"] in over) for one in report["drift"] or ())
    for key, (one, several, what) in _SUMS.items():
        if number := counts[key]:
            yield f"{count(number, 'operation')} {one if number == 1 else several} {what}."
