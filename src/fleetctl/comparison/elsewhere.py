"""Pools that another fleet keeps by now: the last change of them that names a fleet names another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from better_compute.domain.policy.urls import mask_cut
from better_compute.domain.problems import BLOCKED, INVALID_STATE, Problem
from better_compute.domain.state import Pool
from fleetctl.diff import Diff, PoolDiff
from fleetctl.history import LastEvent, Reader
from fleetctl.words import time

RULE = "fleet.other"
_LONGEST = 80
"""Of what a caller chose to call its fleet."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """The fleet that keeps a pool, and its last change of it."""

    fleet: str
    event: LastEvent

    def __str__(self) -> str:
        event = self.event
        return f"{mask_cut(self.fleet, _LONGEST)} ({event.type} by {event.actor_id} at {time(event.time)})"


def kept(diff: Diff, own: Collection[str], read_history: Reader) -> Mapping[str, Keeper]:
    """By id, of the pools that left the files, or are archived by a key alone, those that another fleet keeps than
    those `own`. Raises ComputeError."""
    asked = {one.pool.id for one in diff.removed} | {pool.entry.pool_id for pool in diff.pools if _is_by_key(pool)}
    if not asked:
        return {}
    found: dict[str, Keeper] = {}
    history = read_history(asked, 0)
    # Whoever takes a pool over meanwhile keeps it too.
    for event in sorted((*history.of_pools(asked), *history.since.values()), key=lambda event: event.sequence):
        fleet = event.via.get("fleet")
        if isinstance(fleet, str) and fleet:
            found[event.subject[0]] = Keeper(fleet, event)
    return {pool_id: keeper for pool_id, keeper in found.items() if keeper.fleet not in own}


def without(diff: Diff, kept: Mapping[str, Keeper]) -> Diff:
    """The diff where what left the files is foreign if another fleet keeps it, and is not pruned."""
    moved = {one.pool.id: one.pool for one in diff.removed if one.pool.id in kept}
    if not moved:
        return diff
    return replace(
        diff,
        pools=tuple(pool for pool in diff.pools if pool.archives != "removed" or pool.entry.pool_id not in moved),
        removed=tuple(one for one in diff.removed if one.pool.id not in moved),
        foreign=tuple(sorted((*diff.foreign, *moved.values()), key=lambda pool: pool.id)),
    )


def problems(diff: Diff, kept: Mapping[str, Keeper]) -> Iterator[Problem]:
    """Rule `fleet.other`: a warning of each pool that is left alone; an error where an entry archives one by a key,
    which the other fleet may have too."""
    for one in diff.removed:
        if keeper := kept.get(one.pool.id):
            yield _left(one.pool, keeper)
    for pool in diff.pools:
        if _is_by_key(pool) and (keeper := kept.get(pool.entry.pool_id)):
            yield _archived(pool, keeper)


def _is_by_key(diff: PoolDiff) -> bool:
    """Whether an entry archives the pool and does not say by its id which one it means."""
    return diff.archives == "replaced" or (diff.archives == "tombstone" and not diff.entry.adopted)


def _left(pool: Pool, keeper: Keeper) -> Problem:
    name = pool.idempotency_key or pool.id
    message = f"{name} is live and in no entry, and the last fleet that changed it is {keeper}: it is left to that one"
    hint = f"if it is to be archived all the same, write `{_tombstone(pool.id)}`"
    return Problem(INVALID_STATE, RULE, message, name, hint, severity="warning")


def _archived(diff: PoolDiff, keeper: Keeper) -> Problem:
    entry, field = (diff.heir, "replaces") if diff.heir else (diff.entry, "archived")
    name = diff.entry.key or diff.entry.pool_id
    message = f"{name} would be archived, and the last fleet that changed it is {keeper}"
    instead = "leave `replaces` out" if diff.heir else "write `released: true`"
    hint = f"{instead}; if it is to go all the same, write `{_tombstone(diff.entry.pool_id)}`"
    path = f"pools[{entry.key or entry.pool_id}].{field}"
    return Problem(BLOCKED, RULE, message, path, hint, source=entry.place.source(field))


def _tombstone(pool_id: str) -> str:
    return f"- {{id: {pool_id}, archived: true}}"
