"""All that a rule can tell a machine by, as one row: whoever only wants to know whether something changed reads no
more."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, Text, and_, bindparam, cast, func, select, tuple_

from better_compute.domain.devices import Device
from better_compute.domain.hosts import NodeResource
from better_compute.domain.nodes import Node
from better_compute.domain.state import Pool
from better_compute.service.ports.machines import HostLook
from better_compute.storage import tables as t
from better_compute.storage.rows import LONG_AT_ONCE, AnyRow, Rows

# Which pool and machine it is, whose, and since when: rules that keep hosts ask nothing of these. A new field is told
# unless it is named here.
_OF_POOL = {"id", "owner_id", "site_id", "idempotency_key", "created_by", "created_at", "archived_at"} | {
    "version",
    "offers_version",
    "owner_quota_version",
}
_OF_NODE = {"id", "pool_id", "joined_at"}
_LISTS = {"sqlite": ("json_group_array", "json_array"), "postgresql": ("json_agg", "json_build_array")}
"""An array of rows, and of values, in the database's own JSON: nothing in a name can make two of them equal."""


class LookTx(Rows):
    """The part of `Tx` about what machines look like."""

    def host_looks(
        self, limit: int, after: tuple[str, str], class_: str | None = None, pool_id: str | None = None
    ) -> list[HostLook]:
        given: dict[str, Any] = {"node_id": after[1]}
        given |= {"pool_id": after[0] if pool_id is None else pool_id}
        given |= {} if class_ is None else {"of_class": class_}
        statement = _statement(self._dialect, of_class=class_ is not None, of_pool=pool_id is not None)
        rows = self._fitting(statement, _weigh, limit, parts=2, at_once=LONG_AT_ONCE, **given)
        return [HostLook(row[0], row[1], tuple(row[2:])) for row in rows]


def _weigh(row: AnyRow) -> int:
    return sum(len(told) for told in row if isinstance(told, str))


@lru_cache
def _statement(dialect: str, *, of_class: bool, of_pool: bool) -> Select[Any]:
    n, p = t.nodes.c, t.pools.c
    told = [p[f.name] for f in fields(Pool) if f.name not in _OF_POOL]
    told += [n[f.name] for f in fields(Node) if f.name not in _OF_NODE]
    # Who has booked a device is nothing that a rule goes by.
    devices = [t.node_devices.c[f.name] for f in fields(Device) if f.name != "reservation_id"]
    booked = t.node_devices.c.reservation_id.is_not(None)
    rows = [t.node_resources.c[f.name] for f in fields(NodeResource)]
    lists = _list(dialect, t.node_devices, *devices, booked), _list(dialect, t.node_resources, *rows)
    after: tuple[Any, Any] = bindparam("pool_id"), bindparam("node_id")
    rest_of_pool = and_(n.pool_id == after[0], n.id > after[1])
    page = (
        select(n.pool_id, n.id, *told, *lists)
        .join(t.pools, p.id == n.pool_id)
        .where(rest_of_pool if of_pool else tuple_(n.pool_id, n.id) > tuple_(*after))
        .order_by(n.pool_id, n.id)
        .limit(bindparam("size"))
    )
    return page.where(p.class_ == bindparam("of_class")) if of_class else page


def _list(dialect: str, table: Table, *columns: ColumnElement[Any]) -> ColumnElement[Any]:
    """The rows that a table has of the machine, as text; in whatever order, for another one is no harm."""
    of_rows, of_values = (getattr(func, name) for name in _LISTS[dialect])
    rows = select(cast(of_rows(of_values(*columns)), Text)).where(table.c.node_id == t.nodes.c.id)
    return rows.correlate(t.nodes).scalar_subquery()
