"""Reading and writing pools, their offers and quota rows, and events."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from better_compute.domain.state import Delta, Pool, PoolState
from better_compute.service.ports.queries import EventQuery, HeldOffer, HeldRow, PartQuery, PoolQuery
from better_compute.service.ports.records import EventRecord


class PoolTx(Protocol):
    def pool(self, pool_id: str) -> PoolState:
        """The pool and its rollup, with one statement: its offers and quota rows are neither loaded nor counted. Empty
        when there is no such pool. In a write transaction the pool's row is locked."""

    def pool_state(self, pool_id: str, tenants: Collection[str] | None) -> PoolState:
        """The aggregate, with the offers and rows of `tenants` and the owner (None: of all). Empty when there is no
        such pool. In a write transaction the pool's row is locked."""

    def pool_states(self, query: PoolQuery) -> list[PoolState]:
        """A page: each with the acting tenant's own rows, and with all offers where the query asks and it owns."""

    def pools_by_key(self, keys: Collection[str]) -> list[Pool]:
        """The pools, of all tenants and callers, that were made with one of these idempotency keys."""

    def save(self, state: PoolState, delta: Delta, event: EventRecord) -> None:
        """Write a delta together with its authz rows and its event. `state` is the aggregate after it, and was loaded
        in this transaction: the lock of its pool's row is what keeps others off its offers and quota rows."""

    def sees(self, tenant_id: str, pool_id: str, *, owned: bool = False) -> bool:
        """Whether the tenant owns the pool or (unless `owned`) holds an offer of it, by the authz projection."""

    def offers(self, query: PartQuery) -> list[HeldOffer]:
        """Offers of pools that the tenant owns, in order of pool and tenant."""

    def quota_rows(self, query: PartQuery) -> list[HeldRow]:
        """Rows in order of pool, tenant and resource: all of pools that the tenant owns, its own of the others."""


class EventTx(Protocol):
    def last_sequence(self, tenant_id: str) -> int:
        """The sequence of the tenant's last numbered event, 0 when there is none."""

    def events(self, query: EventQuery) -> list[EventRecord]: ...
