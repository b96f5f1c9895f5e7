"""Numbering: sequence and hash for the events that were committed without, so that no writer waits for another."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, String, any_, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY, insert

from better_compute.storage import tables as t
from better_compute.storage.chain import START, link
from better_compute.storage.events import EVENTS, HEAD, E, event_of

BATCH = 500
BATCH_TEXT = 1024 * 1024
"""So many events, with so many bytes of JSON unless one alone has more, are read at once and numbered in one
transaction: others wait for its lock."""

_WAITING = E.tenant_id == bindparam("tenant_id"), E.sequence.is_(None)
_ANY = select(E.id).where(*_WAITING).limit(1)

# By time; and the events of one pool by its revisions, whatever the clocks of their writers said: none is placed before
# the latest of those it follows. A pool's row is locked until its writer commits, so whoever sees a revision sees all
# before it, and those that have a number already are the first.
_placed = func.max(E.time).over(partition_by=E.pool_id, order_by=E.revision)
_length = func.octet_length(E.data) + func.coalesce(func.octet_length(E.via), 0)
_ORDER = select(E.id, _length).where(*_WAITING).order_by(_placed, E.pool_id, E.revision, E.id)
# One parameter, where IN would write a statement anew for each batch.
_OF_BATCH = E.id == any_(bindparam("ids", type_=ARRAY(String))), E.sequence.is_(None)
_ANY_OF_BATCH = select(E.id).where(*_OF_BATCH).limit(1)
_BATCH = EVENTS.columns.where(*_OF_BATCH)
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


def waiting(connection: Connection, tenant_id: str) -> list[list[str]]:
    """The tenant's events that have no number, in the order in which they get theirs, as batches. When there are none
    it costs one look at an index; there is no lock."""
    given = {"tenant_id": tenant_id}
    if connection.execute(_ANY, given).first() is None:
        return []
    batches: list[list[str]] = [[]]
    text = 0
    for event_id, length in connection.execute(_ORDER, given):
        text += length
        if batches[-1] and (len(batches[-1]) == BATCH or text > BATCH_TEXT):
            batches.append([])
            text = length
        batches[-1].append(event_id)
    return batches


def number(connection: Connection, tenant_id: str, batch: Sequence[str]) -> None:
    """Give sequence and hash to those events of a batch that have none by now. The row of the chain's head is locked
    until the transaction ends: numbers are given by one at a time, and never twice.

    Batches are those of `waiting`, from the first, each in a transaction of its own: before an event gets its number
    those of its pool that it follows have theirs, whoever numbers beside this one and from whichever state.
    """
    if connection.execute(_ANY_OF_BATCH, {"ids": batch}).first() is None:
        return
    connection.execute(_FIRST_HEAD, {"tenant_id": tenant_id, "sequence": 0, "hash": START})
    sequence, previous = connection.execute(HEAD.with_for_update(), {"tenant_id": tenant_id}).one()
    by_id = {row.id: row for row in connection.execute(_BATCH, {"ids": batch})}
    numbered = []
    for event_id in batch:
        if event_id in by_id:
            sequence += 1
            previous = link(event_of(by_id[event_id]), sequence, previous).hash
            numbered.append({"event_id": event_id, "new_sequence": sequence, "new_hash": previous})
    if numbered:
        connection.execute(_SET, numbered)
        connection.execute(_MOVE_HEAD, {"of_tenant": tenant_id, "new_sequence": sequence, "new_hash": previous})
