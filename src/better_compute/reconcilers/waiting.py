"""Where something waits, asked before anything is locked."""

from __future__ import annotations

from collections.abc import Collection

from better_compute.domain.reservations import State
from better_compute.service.core import Service
from better_compute.service.ports import Tx


def pools_where(service: Service, state: State, pools: Collection[str] | None = None) -> list[str]:
    """The pools, of `pools` or of all, that have a reservation in this state."""

    def read(tx: Tx) -> list[str]:
        if pools is None:
            return tx.pools_with(state)
        return [pool_id for pool_id in sorted(pools) if tx.oldest(pool_id, state, 1, None)]

    return service.store.view(read) if pools is None or pools else []
