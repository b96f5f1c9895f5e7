"""All that a pool goes by."""

from __future__ import annotations

from better_compute.domain.state import Pool
from fleetctl.desired import PoolEntry


def names(pool: Pool | None, *entries: PoolEntry | None) -> frozenset[str]:
    """The id of a pool, the key that it was made under, and the keys that entries give it, also before they were
    renamed. `entries` mean this pool: that of the files, and that of the base."""
    found = {pool.id, pool.idempotency_key} if pool else set[str | None]()
    for entry in entries:
        found |= {entry.pool_id, entry.key, entry.previously} if entry else set()
    return frozenset(name for name in found if name)
