"""Guards: limits on what one plan may take away, in force unless an override names the number that may pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from better_compute.domain.atoms import ATOMS
from better_compute.domain.problems import BLOCKED, Problem
from fleetctl.live import Live
from fleetctl.plan import Operation, Plan
from fleetctl.words import count

MAX_ARCHIVES = 1
"""At every size of fleet: the other limit, max(1, 10 percent of the live pools), is never below it."""
MAX_WITHDRAWALS = 10

ALLOWABLE = ("archives", "withdrawals")
"""What `--allow NAME=N` can name."""


@dataclass(frozen=True, slots=True)
class Override:
    """`--allow` and why: the numbers that may pass, by name."""

    numbers: Mapping[str, int]
    reason: str | None = None


NO_OVERRIDE = Override({})


def check(plan: Plan, live: Live, override: Override) -> list[Problem]:
    """A problem for every guard that the plan breaks; the plan itself is always shown whole."""
    archives = [operation for operation in plan.operations if operation.action == "archive"]
    withdrawals = [operation for operation in plan.operations if _withdraws(operation, live)]
    lost = sum(len(live.others(operation.pool_id)) for operation in archives) + len(withdrawals)
    found = []
    if (limit := override.numbers.get("archives", MAX_ARCHIVES)) < len(archives):
        message = f"{count(len(archives), 'archive')}, and one apply may do {limit}"
        found.append(_problem("guard.archives", message, "archives", len(archives), archives[0]))
    if (limit := override.numbers.get("withdrawals", MAX_WITHDRAWALS)) < lost:
        message = f"{count(lost, 'withdrawal')}, and one apply may do {limit}"
        found.append(_problem("guard.withdrawals", message, "withdrawals", lost, (withdrawals or archives)[0]))
    return found


def _withdraws(operation: Operation, live: Live) -> bool:
    """An unoffer, or an offer whose GPUs all go: the row of the pool's own atom falls to 0. Rows of other atoms grant
    nothing there (rule quota.value), so they keep nothing either."""
    if operation.action == "unoffer":
        return True
    if operation.action != "offer" or operation.before is None:
        return False
    pool = live.pools[operation.pool_id].pool
    atom = ATOMS[pool.sharing] if pool else ""
    had, keeps = operation.before["quota"].get(atom, 0), operation.after["quota"].get(atom, 0)
    return bool(had and not keeps)


def _problem(rule: str, message: str, name: str, number: int, first: Operation) -> Problem:
    hint = f'if that is meant: --allow {name}={number} --reason "why"'
    return Problem(BLOCKED, rule, message, hint=hint, source=first.source)
