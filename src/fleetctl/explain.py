"""A pool from all sides: which entry means it, what is live, and what happened to it last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from better_compute.domain.ids import derive, is_key
from better_compute.domain.state import PoolState
from fleetctl import identity
from fleetctl.comparison import naming
from fleetctl.desired import Desired, PoolEntry

if TYPE_CHECKING:
    from better_compute.client import Client, EventView

_EVENTS = 20
_TYPES = ("pool.*", "quota.*")
"""Changes; of machines that join there may be thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """`server` of None: nobody was asked. `events` are the last ones, the newest first."""

    pool_id: str
    key: str | None
    entry: PoolEntry | None
    server: str | None = None
    state: PoolState | None = None
    events: Sequence[EventView] = ()


def find_entry(desired: Desired, what: str) -> PoolEntry | None:
    """The entry of a key or an id; one that was renamed is found by its old key too, and one that means a pool by its
    id by the key that the pool was made under."""
    entries = desired.entries.values()
    named = [entry for entry in entries if what in (entry.key, entry.pool_id)]
    named = named or [entry for entry in entries if entry.previously == what]
    return named[0] if named else _of_ids(desired, _ids(desired, what, None))


def _of_ids(desired: Desired, ids: Iterable[str]) -> PoolEntry | None:
    return next((entry for pool_id in ids if (entry := desired.entries.get(pool_id))), None)


def of_files(desired: Desired, what: str) -> Explained:
    """All that the files and the key itself tell; `what` is a key or an id."""
    entry = find_entry(desired, what)
    if entry is not None:
        return Explained(pool_id=entry.pool_id, key=entry.key, entry=entry)
    return Explained(pool_id=_ids(desired, what, None)[0], key=what, entry=None)


def with_live(found: Explained, desired: Desired, what: str, client: Client, server: str) -> Explained:
    """With the live pool that is meant, whichever key or caller made it, and its last events. Raises ComputeError."""
    live = {state.pool.id: state for state in _read(client, _ids(desired, what, found.entry)) if state.pool}
    if found.entry is None and not live:
        live = _by_key(client, what)
    meant = identity.settle(desired, live).desired if desired.caller else desired
    entry = find_entry(meant, found.entry.key or found.entry.pool_id) if found.entry else _of_ids(meant, live)
    pool_id = entry.pool_id if entry else _first(live, found.pool_id)
    state = live.get(pool_id)
    pool = state.pool if state else None
    events: Sequence[EventView] = ()
    if pool is not None:
        events = client.events.list(pool_ids=[pool_id], types=_TYPES, order="desc", limit=_EVENTS).items
    key = naming.key(pool, entry) or found.key
    return replace(found, pool_id=pool_id, key=key, entry=entry, server=server, state=state, events=events)


def _read(client: Client, ids: Sequence[str]) -> Sequence[PoolState]:
    return client.pools.list(ids=ids, limit=len(ids)).items


def _by_key(client: Client, key: str) -> dict[str, PoolState]:
    """Pools with a key that others made: their ids derive from callers that nobody here names."""
    pools, _ = client.pools.all(owned=True)
    return {state.pool.id: state for state in pools if state.pool and state.pool.idempotency_key == key}


def _ids(desired: Desired, what: str, entry: PoolEntry | None) -> list[str]:
    """The ids that the pool may have: as it stands, or as its keys derive it under one caller or another."""
    return list(dict.fromkeys(_possible(desired, what, entry)))


def _possible(desired: Desired, what: str, entry: PoolEntry | None) -> Iterator[str]:
    keys = [what] if entry is None else [key for key in (entry.key, entry.previously) if key]
    if entry is not None:
        yield entry.pool_id
    elif what.startswith("pool_"):
        yield what
    for caller in desired.callers:
        yield from (derive("pool", desired.tenant_id, caller, key) for key in keys if is_key(key))


def _first(live: Mapping[str, PoolState], pool_id: str) -> str:
    """Of pools that no entry means the one that is not archived, or else any."""
    there = [i for i, state in live.items() if identity.is_live(state)] or list(live)
    return there[0] if there else pool_id
