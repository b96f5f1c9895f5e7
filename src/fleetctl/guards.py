"""Guards: limits on what one plan may take away, in force unless an override names the number that may pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from better_compute.domain.problems import BLOCKED, Problem
from fleetctl.live import Live
from fleetctl.plan import Operation, Plan
from fleetctl.plan.grants import Grant, Pools, grants
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


def check(plan: Plan, live: Live, override: Override) -> list[Problem]:
    """A problem for every guard that the plan breaks; the plan itself is always shown whole."""
    archives = [operation for operation in plan.operations if operation.action == "archive"]
    withdrawals = [grant.operation for grant in grants(plan, live, Pools(plan, live)) if _withdraws(grant)]
    lost = len(withdrawals)
    found = []
    if (limit := override.numbers.get("archives", MAX_ARCHIVES)) < len(archives):
        message = f"{count(len(archives), 'archive')}, and one apply may do {limit}"
        found.append(_problem("guard.archives", message, "archives", len(archives), archives[0]))
    if (limit := override.numbers.get("withdrawals", MAX_WITHDRAWALS)) < lost:
        message = f"{count(lost, 'withdrawal')}, and one apply may do {limit}"
        found.append(_problem("guard.withdrawals", message, "withdrawals", lost, withdrawals[0]))
    return found


def _withdraws(grant: Grant) -> bool:
    """An offer that goes, by itself or with its pool; or one whose GPUs all go: the row of the pool's own atom falls
    to 0."""
    if grant.before is None or grant.operation.action == "setQuota":
        return False
    had, has = grant.atoms
    return grant.after is None or bool(had and not has)


def _problem(rule: str, message: str, name: str, number: int, first: Operation) -> Problem:
    hint = f'if that is meant: --allow {name}={number} --reason "why"'
    return Problem(BLOCKED, rule, message, hint=hint, source=first.source)
