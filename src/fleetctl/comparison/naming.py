"""All that a pool goes by."""

from __future__ import annotations

from better_compute.domain.commands import CreatePool
from better_compute.domain.state import Pool
from fleetctl.desired import PoolEntry


def names(pool: Pool | None, *entries: PoolEntry | None) -> frozenset[str]:
    """All of them."""
    return ids(pool, *entries).union(keys(pool, *entries))


def key(pool: Pool | CreatePool | None, entry: PoolEntry | None) -> str | None:
    """The key that people know a pool by: that of its entry, else the one that it was made under."""
    return next(iter(keys(pool, entry)), None)


def keys(pool: Pool | CreatePool | None, *entries: PoolEntry | None) -> tuple[str, ...]:
    """The keys of a pool, the one that it has now first: those that entries give it, also before they were renamed, and
    the one that it was made under. `entries` mean this pool: that of the files, and that of the base."""
    first, *others = entries or (None,)
    found = [first and first.key, pool and pool.idempotency_key, first and first.previously]
    found += [key for entry in others if entry for key in (entry.key, entry.previously)]
    return tuple(dict.fromkeys(key for key in found if key))


def ids(pool: Pool | None, *entries: PoolEntry | None) -> frozenset[str]:
    """The ids of a pool: its own, and those that entries give it."""
    return frozenset(each.pool_id for each in entries if each) | ({pool.id} if pool else frozenset())
