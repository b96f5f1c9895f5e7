"""The service's `Store` and `Tx` on a database."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sqlalchemy import select

from better_compute.domain.ids import random_id
from better_compute.service.ports import Clock, Entropy, Tx
from better_compute.storage import schema
from better_compute.storage import tables as t
from better_compute.storage.bounds import BoundsTx
from better_compute.storage.database import Database, Sleep
from better_compute.storage.directory import DirectoryTx
from better_compute.storage.engines import STATEMENT_SECONDS
from better_compute.storage.looks import LookTx
from better_compute.storage.nodes import NodeTx
from better_compute.storage.parts import PartTx
from better_compute.storage.pools import PoolTx
from better_compute.storage.reservations import ReservationTx
from better_compute.storage.rows import upsert
from better_compute.storage.usage import UsageTx
from better_compute.storage.world import WorldTx

T = TypeVar("T")

WAIT_SECONDS = 5.0

_INSTANCE = select(t.meta.c.value).where(t.meta.c.name == "instance_id")


class SqlTx(PoolTx, PartTx, ReservationTx, NodeTx, BoundsTx, LookTx, WorldTx, UsageTx, DirectoryTx):
    """A transaction: see `Tx`. Each of its ports is the class of that name in the file of that name, but: of PoolTx,
    offers and quota rows are PartTx (parts.py); WorkTx is ReservationTx (reservations.py) on BookingTx (bookings.py);
    of NodeTx, what can be booked is HostTx (devices.py), attributes are AttributeTx, and looks LookTx."""

    def instance_id(self) -> str:
        row = self._first(_INSTANCE)
        assert row is not None, "written with the schema"
        found: str = row.value
        return found

    def put_instance_id(self, instance_id: str) -> None:
        self._write(upsert(t.meta, self._dialect), {"name": "instance_id", "value": instance_id})


class SqlStore:
    """A database: see `Store`. Safe to use from many threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def view(self, work: Callable[[Tx], T]) -> T:
        return self._database.read(lambda connection: work(SqlTx(connection, writes=False)))

    def transact(self, work: Callable[[Tx], T]) -> T:
        return self._database.write(lambda connection: work(SqlTx(connection, writes=True)))

    def number_events(self, tenant_id: str) -> None:
        if self._database.dialect == "sqlite":
            return
        from better_compute.storage import numbering  # not at the top: it knows PostgreSQL's dialect alone

        for batch in self._database.read(lambda connection: numbering.waiting(connection, tenant_id)):
            self._database.write(partial(numbering.number, tenant_id=tenant_id, batch=batch))

    def close(self) -> None:
        self._database.close()


def open_store(
    url: str,
    *,
    clock: Clock,
    sleep: Sleep,
    entropy: Entropy,
    wait_seconds: float = WAIT_SECONDS,
    statement_seconds: float = STATEMENT_SECONDS,
) -> SqlStore:
    """The store at `sqlite:///PATH` or `postgresql://…` (libpq's URL), created or brought to today's schema if need be.

    `wait_seconds` is how long a transaction waits for a lock or a connection, `statement_seconds` how long PostgreSQL
    may take for one statement, those that change the schema aside. Raises ComputeError: INVALID_INPUT when
    the URL names no database that could be ours, UNAVAILABLE when it cannot be had now, SchemaTooNewError when a later
    build migrated it; then nothing was written.
    """
    database = Database(url, wait_seconds, sleep, entropy, statement_seconds)
    try:
        schema.prepare(database, random_id("inst", clock(), entropy(10)))
    except BaseException:
        database.close()
        raise
    return SqlStore(database)
