"""Numbering: sequence and hash for the events that were committed without, so that no writer waits for another."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, func, select
from sqlalchemy.dialects.postgresql import insert

from better_compute.storage import tables as t
from better_compute.storage.chain import START, link
from better_compute.storage.events import EVENTS, HEAD, E, event_of

_BATCH = 500
"""So many events, each with up to two policies, are in memory at once."""

_WAITING = E.tenant_id == bindparam("tenant_id"), E.sequence.is_(None)
_ANY = select(E.id).where(*_WAITING).limit(1)

# By time; and the events of one pool by its revisions, whatever the clocks of their writers said: none is placed before
# the latest of those it follows. A pool's row is locked until its writer commits, so whoever sees a revision sees all
# before it, and those that have a number already are the first.
_placed = func.max(E.time).over(partition_by=E.pool_id, order_by=E.revision)
_ORDER = select(E.id).where(*_WAITING).order_by(_placed, E.pool_id, E.revision, E.id)
_BY_ID = EVENTS.columns.where(E.id.in_(bindparam("ids", expanding=True)))
_SET = (
    t.events.update()
    .where(E.id == bindparam("event_id"))
    .values(sequence=bindparam("new_sequence"), hash=bindparam("new_hash"))
)
_FIRST_HEAD = insert(t.event_heads).on_conflict_do_nothing()
_MOVE_HEAD = (
    t.event_heads.update()
    .where(t.event_heads.c.tenant_id == bindparam("of_tenant"))
    .values(sequence=bindparam("new_sequence"), hash=bindparam("new_hash"))
)


def any_waiting(connection: Connection, tenant_id: str) -> bool:
    """Whether an event of the tenant has no number. One look at an index, and no lock."""
    return connection.execute(_ANY, {"tenant_id": tenant_id}).first() is not None


def number(connection: Connection, tenant_id: str) -> None:
    """Give sequence and hash to the tenant's events that have none. The row of the chain's head is locked until the
    transaction ends: numbers are given by one at a time, and never twice."""
    connection.execute(_FIRST_HEAD, {"tenant_id": tenant_id, "sequence": 0, "hash": START})
    sequence, previous = connection.execute(HEAD.with_for_update(), {"tenant_id": tenant_id}).one()
    ids = connection.scalars(_ORDER, {"tenant_id": tenant_id}).all()
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        by_id = {row.id: event_of(row) for row in connection.execute(_BY_ID, {"ids": batch})}
        numbered = []
        for event_id in batch:
            sequence += 1
            event = link(by_id[event_id], sequence, previous)
            previous = event.hash
            numbered.append({"event_id": event_id, "new_sequence": sequence, "new_hash": previous})
        connection.execute(_SET, numbered)
    if ids:
        connection.execute(_MOVE_HEAD, {"of_tenant": tenant_id, "new_sequence": sequence, "new_hash": previous})
