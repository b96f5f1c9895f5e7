"""What a comparison found that is told beside a plan's operations: why pools cannot become as wished, what is left."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from better_compute.domain.problems import INVALID_STATE, UNCHECKED, Problem
from better_compute.domain.state import PoolState
from fleetctl.comparison.compare import Comparison, tombstone, whose
from fleetctl.desired import PoolEntry
from fleetctl.diff import Removed, Waiting
from fleetctl.live import ORIGIN, Live
from fleetctl.words import count


def findings(comparison: Comparison, live: Live) -> list[Problem]:
    """All of them, with their places. A server that does not tell who made a pool leaves open which ones are removed,
    unless a base names them."""
    diff = comparison.diff
    found = [
        replace(problem, source=pool.entry.place.source(problem.path), path=named(pool.entry, problem.path))
        for pool in diff.pools
        for problem in pool.problems
    ]
    found += comparison.problems
    told = {problem.path for problem in comparison.problems}
    found += [_gone(entry) for entry in diff.gone if named(entry, "archived") not in told]
    found += [_waiting(one) for one in diff.waiting]
    taken = {entry.key for entry in comparison.desired.entries.values()}
    found += [_removed(one, comparison, taken) for one in comparison.left if one.pool.id not in comparison.renamed]
    if ORIGIN not in live.instance.capabilities and comparison.asked.base is None:
        message = "this server does not say who made a pool, so pools that left the files cannot be told from others"
        hint = "--base names those that left them"
        found.append(Problem(UNCHECKED, "fleet.removed", message, hint=hint, severity="unchecked"))
    return found


def named(entry: PoolEntry, path: str = "") -> str:
    """A path that starts with the entry's key, as people look for it."""
    name = f"pools[{entry.key or entry.pool_id}]"
    return f"{name}.{path}" if path else name


def _gone(entry: PoolEntry) -> Problem:
    message = f"{named(entry)} never existed: there is nothing to archive"
    source = entry.place.source("archived")
    return Problem(INVALID_STATE, "fleet.tombstone", message, severity="warning", source=source)


def _waiting(waiting: Waiting) -> Problem:
    heir = waiting.heir
    message = f"{heir.replaces} is replaced by {heir.key or heir.pool_id} and has {_work(waiting.live)}: it is kept"
    hint = "it is archived by the first plan that finds none"
    source = heir.place.source("replaces")
    return Problem(INVALID_STATE, "fleet.replaces", message, named(heir, "replaces"), hint, "warning", source)


def _work(state: PoolState) -> str:
    """What keeps a replaced pool."""
    work = state.rollup.total_work
    numbers = {"pending": work.pending, "placed": work.placed, "active": work.active}
    told = [count(number, f"{name} reservation") for name, number in numbers.items() if number]
    return ", ".join(told or [f"{number} {resource} in use" for resource, number in sorted(state.booked.items())])


def _removed(removed: Removed, comparison: Comparison, taken: Collection[str | None]) -> Problem:
    pool, entry = removed.pool, removed.entry
    name = pool.idempotency_key or pool.id
    message = f"{name} is live, {whose(removed, comparison.desired)}, and no entry names it: it is left as it is"
    prune = " or give --prune" if entry else ""
    hint = f"to archive it, write `{tombstone(pool, comparison.desired, taken)}`{prune}"
    return Problem(INVALID_STATE, "fleet.removed", message, name, hint, severity="warning")
