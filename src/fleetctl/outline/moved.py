"""What of a plan is not of its change, in words: who moved live state or took an apply back, and since when, or that
nobody applied it yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline import values
from fleetctl.words import count, listed, time

if TYPE_CHECKING:
    from fleetctl.report.forms import DriftedOperation, Operation, PlanReport

NOT_APPLIED = "not applied yet"
TAKEN_BACK = "taken back"
CHANGE = "this change"
_NOBODY = "nobody known"
_REPLACED = "in place of what is not applied yet"
_IN_PLACE = "in place of what was {}"
_SUMS = {
    ("changed", False): ("undoes", "undo", "what moved behind the files' back"),
    ("changed", True): ("overwrites", "overwrite", "what moved behind the files' back"),
    ("pending", False): ("does", "do", "what the base asks for too, and nobody applied yet"),
    ("pending", True): ("replaces", "replace", "what the base asks for, and nobody applied yet"),
    ("undone", False): ("does", "do", "what the base asks for too, where an undo took an apply back"),
    ("undone", True): ("replaces", "replace", "what the base asks for, where an undo took an apply back"),
}
"""By what it is, and whether the files moved as well: for one, for several, and what it is about."""


def by_number(report: PlanReport) -> Mapping[int, DriftedOperation]:
    """The operations that are not of the change, or not of it alone."""
    return {one["n"]: one for one in report["drift"] or ()}


def word(one: DriftedOperation | None) -> str:
    """What a single change of such an operation is marked with."""
    return "drift" if one is None else {"pending": NOT_APPLIED, "undone": TAKEN_BACK}.get(_what(one), "drift")


def hand(one: DriftedOperation | None) -> str:
    """What must be equal for operations to be told together: what it is, by whom, and of which apply."""
    of = one["undoes"] if one is not None and _what(one) == "undone" else ""
    return "" if one is None else f"{_what(one)} {one['actorId']} {of}"


def taken_back(digests: Iterable[str]) -> str:
    """`taken back by apply --undo of 637fc2f46e10`: the apply that was taken back, or several."""
    return f"{TAKEN_BACK} by apply --undo of {listed([values.sent(one) for one in dict.fromkeys(digests)], 'digest')}"


def told(
    found: Sequence[DriftedOperation], drift: str = "drift: by {}", pending: str = NOT_APPLIED, undone: str = "{}"
) -> str:
    """`drift: by alice since ...`, `taken back by apply --undo of ... by sa_ci since ...`, `not applied yet`, or more
    than one of these; of several times the first."""
    kinds: dict[str, list[DriftedOperation]] = {}
    for one in found:
        kinds.setdefault(_what(one), []).append(one)
    parts = []
    if changed := kinds.get("changed"):
        parts.append(drift.format(_actors(changed)) + _since(changed))
    if back := kinds.get("undone"):
        of = taken_back(one["undoes"] or "" for one in back)
        parts.append(f"{undone.format(of)} by {_actors(back)}{_since(back)}")
    if "pending" in kinds:
        parts.append(pending)
    return ", ".join(parts)


def _what(one: DriftedOperation) -> str:
    """The kind. What this fleet's caller took back was applied, so that files are not ahead: that is `undone`."""
    return "undone" if one["kind"] == "pending" and one["undoes"] else one["kind"]


def _actors(found: Sequence[DriftedOperation]) -> str:
    return listed([*dict.fromkeys(escape(one["actorId"] or _NOBODY) for one in found)], "caller")


def _since(found: Sequence[DriftedOperation]) -> str:
    times = [one["since"] for one in found if one["since"] is not None]
    return f" since {time(min(times))}" if times else ""


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
    parts = told(back, "undoes what {} changed"), told(rest, "overwrites what {} changed", _REPLACED, _IN_PLACE)
    return ", ".join(filter(None, parts))


def summed(report: PlanReport) -> Iterator[str]:
    """How much of a plan is not of its change, or not of it alone, by what it is."""
    over = {operation["n"] for operation in report["operations"] if overwrites(operation)}
    counts: Counter[tuple[str, bool]] = Counter((_what(one), one["n"] in over) for one in report["drift"] or ())
    for key, (one, several, what) in _SUMS.items():
        if number := counts[key]:
            yield f"{count(number, 'operation')} {one if number == 1 else several} {what}."
