"""What a plan takes back though the files expect it: drift may pass over a difference for a time, a plan does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from better_compute.domain.problems import INVALID_STATE, Problem
from fleetctl.comparison import expected
from fleetctl.comparison.expected import Holding
from fleetctl.desired import Desired, Expected
from fleetctl.paths import Path
from fleetctl.plan.operation import Operation
from fleetctl.words import count, time


def told(operations: list[Operation], desired: Desired, now: int) -> tuple[list[Operation], tuple[Problem, ...]]:
    """The operations, each with what it takes back of that as an effect, and a warning for each expectation. `now` is
    the server's clock in epoch milliseconds."""
    holds = expected.holding(desired.expected, now)
    if not holds:
        return operations, ()
    born = {operation.pool_id for operation in operations if operation.action == "create"}
    met: dict[Expected, int] = {}
    found = []
    for operation in operations:
        is_told = operation.action == "create" or operation.pool_id not in born
        ends = _ended(operation, holds) if is_told else ()
        for each in ends:
            met[each] = met.get(each, 0) + 1
        said = (f"takes back what the files expect to differ{_until(each)}: {each.reason}" for each in ends)
        found.append(replace(operation, effects=(*operation.effects, *said)) if ends else operation)
    return found, tuple(_problem(each, number) for each, number in met.items())


def _ended(operation: Operation, holds: Holding) -> tuple[Expected, ...]:
    """The expectations that hold of any of what it changes."""
    names = [name for name in (operation.key, operation.pool_id) if name]
    return tuple(dict.fromkeys(each for path in _paths(operation) for each in expected.of(holds, names, path)))


def _paths(operation: Operation) -> Iterable[Path]:
    """Where it changes something, seen from the entry: as drift tells the same difference."""
    if operation.action in ("create", "archive"):
        return ((),)
    at = [change.at for change in operation.changes]
    if operation.action not in ("offer", "unoffer"):
        return at
    whole = ("offers", operation.to_tenant_id or "")
    is_whole = operation.before is None or operation.after is None
    return (whole,) if is_whole else [(*whole, *path) for path in at]


def _until(each: Expected) -> str:
    return "" if each.until is None else f" until {time(each.until)}"


def _problem(each: Expected, number: int) -> Problem:
    about = f"{each.key}, {each.path}," if each.path else each.key
    take = "takes" if number == 1 else "take"
    message = f"{about} is expected to differ{_until(each)}, and {count(number, 'operation')} {take} that back"
    hint = f"if it is to stay, leave it out by --except key={each.key}, or write it into the files"
    return Problem(INVALID_STATE, "plan.expected", message, "expected", hint, "warning", each.place.source())
