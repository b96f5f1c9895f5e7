"""Events: written with the change they tell of, and read back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, false, func, or_, select

from better_compute.service.ports import EventQuery, EventRecord
from better_compute.storage import tables as t
from better_compute.storage.chain import START, link
from better_compute.storage.rows import LONG_AT_ONCE, AnyRow, Kept, Rows, from_json, to_json, upsert

E = t.events.c
EVENTS = Kept(t.events, EventRecord)
HEAD = select(t.event_heads.c.sequence, t.event_heads.c.hash).where(t.event_heads.c.tenant_id == bindparam("tenant_id"))
RAISE = (
    t.pools.update()
    .where(t.pools.c.id == bindparam("of_pool"))
    .values(revision=t.pools.c.revision + bindparam("changes"))
    .returning(t.pools.c.revision)
)
"""Every change of a pool raises its revision by one; what else it writes into the row is to be added."""


class EventTx(Rows):
    """The part of `Tx` about events."""

    def last_sequence(self, tenant_id: str) -> int:
        head = self._first(HEAD, tenant_id=tenant_id)
        return 0 if head is None else int(head.sequence)

    def events(self, query: EventQuery) -> list[EventRecord]:
        return [event_of(row) for row in self._fitting(_page(query), _weigh, query.limit, at_once=LONG_AT_ONCE)]

    def _append(self, events: Sequence[EventRecord], revision: int) -> None:
        """Add the events of as many changes of one pool, the last of which made this revision of it.

        On SQLite there is one writer at a time, so it is numbered now. Elsewhere a head to lock would make the writers
        of a tenant queue: `numbering` does it after the commit.
        """
        if self._dialect == "sqlite":
            events = self._number(events)
        first = revision - len(events) + 1
        self._write(t.events.insert(), [_values(event) | {"revision": first + i} for i, event in enumerate(events)])

    def _number(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        tenant_id = events[0].tenant_id
        head = self._first(HEAD, tenant_id=tenant_id)
        last, previous = (0, START) if head is None else (head.sequence, head.hash)
        numbered = []
        for event in events:
            last += 1
            numbered.append(link(event, last, previous))
            previous = numbered[-1].hash
        moved = {"tenant_id": tenant_id, "sequence": last, "hash": previous}
        self._write(upsert(t.event_heads, self._dialect), moved)
        return numbered


def _values(event: EventRecord) -> dict[str, Any]:
    kept = {"data": to_json(event.data), "via": None if event.via is None else to_json(event.via)}
    return EVENTS.values(event) | kept


def event_of(row: AnyRow) -> EventRecord:
    """The event in a row of EVENTS."""
    fields = dict(row._mapping)
    fields["data"] = from_json(fields["data"])
    fields["via"] = None if fields["via"] is None else from_json(fields["via"])
    return EventRecord(**fields)


def _weigh(row: AnyRow) -> int:
    return len(row.data) + len(row.via or "")


def _page(query: EventQuery) -> Select[Any]:
    page = EVENTS.columns.where(E.tenant_id == query.tenant_id, E.sequence > query.after)
    if query.before is not None:
        page = page.where(E.sequence < query.before)
    if query.types is not None:
        page = page.where(_of_types(query.types))
    if query.pool_ids is not None:
        page = page.where(E.pool_id.in_(list(query.pool_ids)))
    if query.latest:
        page = page.where(E.sequence.in_(_newest(query)))
    return page.order_by(E.sequence.desc() if query.newest_first else E.sequence).limit(bindparam("size"))


def _of_types(types: Collection[str]) -> ColumnElement[bool]:
    prefixes = [name.removesuffix("*") for name in types if name.endswith(".*")]
    exact = [name for name in types if not name.endswith(".*")]
    return or_(
        E.type.in_(exact) if exact else false(),
        *(func.substr(E.type, 1, len(prefix)) == prefix for prefix in prefixes),
    )


def _newest(query: EventQuery) -> Select[Any]:
    """The newest event of each pool itself and of each pair of pool and tenant. The newest of all of a pool's events
    is always one of these."""
    newest = select(func.max(E.sequence)).where(E.tenant_id == query.tenant_id, _of_types(["pool.*", "quota.*"]))
    if query.pool_ids is not None:
        newest = newest.where(E.pool_id.in_(list(query.pool_ids)))
    return newest.group_by(E.pool_id, E.to_tenant_id)
