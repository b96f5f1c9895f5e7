"""Coverage: how much of what is live is under code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from better_compute.domain.state import Pool, PoolState
from fleetctl.identity import Settled, is_live


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many pools of the fleet's tenant are live, how many of those an entry of the fleet names, and the GPU atoms
    of their machines likewise; `unnamed` are the others, by key. It is of the whole fleet, whatever part of it is
    looked at."""

    live: int
    named: int
    live_atoms: int
    named_atoms: int
    unnamed: tuple[Pool, ...] = field(default=(), compare=False)

    @property
    def percent(self) -> float | None:
        """Of the live pools; in tenths and rounded down, so that 100 says that all are named. None where none is
        live."""
        return self.named * 1000 // self.live / 10 if self.live else None


def coverage(settled: Settled, live: Mapping[str, PoolState]) -> Coverage:
    """That of files among `live`, all pools that the fleet's tenant owns. An entry that lets its pool go names none."""
    entries = settled.desired.entries
    pools = {pool_id: state.rollup.atoms for pool_id, state in live.items() if is_live(state)}
    released = {pool_id for pool_id, entry in entries.items() if entry.released}
    kept = settled.named - released
    named = {pool_id: atoms for pool_id, atoms in pools.items() if pool_id in kept}
    unnamed = [pool for pool_id in pools.keys() - named.keys() if (pool := live[pool_id].pool)]
    return Coverage(
        live=len(pools),
        named=len(named),
        live_atoms=sum(pools.values()),
        named_atoms=sum(named.values()),
        unnamed=tuple(sorted(unnamed, key=lambda pool: (pool.idempotency_key or "", pool.id))),
    )
