"""A store with transactions. Adapters stand in `storage`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from better_compute.service.ports.directory import DirectoryTx
from better_compute.service.ports.machines import BoundsTx, NodeTx, WorldTx
from better_compute.service.ports.pools import EventTx, PoolTx
from better_compute.service.ports.usage import UsageTx
from better_compute.service.ports.work import WorkTx

T = TypeVar("T")


class Tx(PoolTx, EventTx, NodeTx, BoundsTx, WorkTx, WorldTx, UsageTx, DirectoryTx, Protocol):
    """One transaction. In a read transaction every method sees one state of the database. In a write transaction two
    may see different ones (on PostgreSQL): only a row that is locked stands still, from the read that says it locks to
    the end, and what is decided must stand on such rows, or on what never changes once it is there."""

    room: int | None
    """So much may a list hold, in characters of the JSON that is kept; the first item whatever it holds. None: all."""
    cut: bool
    """Whether a list ended early for want of room."""


class Store(Protocol):
    """A database. `view` and `transact` may call `work` again, after a conflict or a lost connection: it must have no
    other effect."""

    def view(self, work: Callable[[Tx], T]) -> T:
        """Run in a read transaction with one snapshot."""

    def transact(self, work: Callable[[Tx], T]) -> T:
        """Run in a write transaction: on SQLite it holds the database's write lock from its start, on PostgreSQL the
        locks of single rows (see `Tx`).

        Raises ComputeError with code UNAVAILABLE when the database or a lock was not to be had in time; then nothing
        was written, save where the message says that this is not known.
        """

    def number_events(self, tenant_id: str) -> None:
        """Give sequence and hash to the tenant's committed events that have none (PostgreSQL; on SQLite they are given
        in the transaction): without gaps, the events of one pool in the order of its changes."""

    def close(self) -> None: ...
