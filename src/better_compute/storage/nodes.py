"""The machines of pools."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, exists, or_, select

from better_compute.domain.hosts import Host
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Node
from better_compute.domain.state import Pool, PoolState
from better_compute.service.ports import EventRecord
from better_compute.service.ports.machines import HostChange
from better_compute.storage import tables as t
from better_compute.storage.attributes import AttributeTx
from better_compute.storage.devices import HostTx
from better_compute.storage.events import RAISE
from better_compute.storage.pools import POOLS, pool_of
from better_compute.storage.rows import LONG_AT_ONCE, Kept, Values, from_json, machines_json, to_json, upsert

_SHORT = 4096
"""An inventory of so many characters is kept: eight GPUs and twenty attributes take a quarter of them."""

NODES = Kept(t.nodes, Node)
_OF_POOL_OWNER = exists().where(
    t.authz.c.pool_id == t.nodes.c.pool_id, t.authz.c.tenant_id == bindparam("tenant_id"), t.authz.c.owned
)
_SHOWN = NODES.by["id"].where(or_(t.nodes.c.owner_tenant_id == bindparam("tenant_id"), _OF_POOL_OWNER))
_THERE = select(t.nodes.c.id).where(t.nodes.c.id.in_(bindparam("ids", expanding=True)))
_OF_IDS = NODES.columns.where(t.nodes.c.id.in_(bindparam("ids", expanding=True))).order_by(t.nodes.c.id)
_POOLS = POOLS.columns.where(t.pools.c.id.in_(bindparam("ids", expanding=True)))
_UPDATE = RAISE.values(rollup=bindparam("new_rollup"))
_REMOVE = t.nodes.delete().where(t.nodes.c.id == bindparam("of_node"))


class NodeTx(HostTx, AttributeTx):
    """The part of `Tx` about machines."""

    def save_hosts(
        self, changes: Sequence[HostChange], state: PoolState | None = None, events: Sequence[EventRecord] = ()
    ) -> None:
        self._write_many(upsert(t.nodes, self._dialect), list(_changed(changes)))
        self._save_bookable(changes)
        self._save_attributes(changes)
        gone = [{"of_node": before.node.id} for before, after in changes if before is not None and after is None]
        self._write_many(_REMOVE, gone)
        if events and state is not None and state.pool is not None:
            update = {"of_pool": state.pool.id, "new_rollup": machines_json(state.rollup), "changes": len(events)}
            self._append(events, self._write(_UPDATE, update).scalar_one())

    def nodes_there(self, ids: Collection[str]) -> set[str]:
        return {row.id for row in self._all(_THERE, ids=list(ids))}

    def node_for(self, tenant_id: str, node_id: str) -> Node | None:
        row = self._first(_SHOWN, tenant_id=tenant_id, value=node_id)
        return None if row is None else node_of(NODES.of(row))

    def nodes(self, pool_id: str, limit: int, after: str | None) -> list[Node]:
        page = NODES.page("pool_id")
        given: dict[str, Any] = {"value": pool_id, "after": after or ""}
        rows = self._fitting(page, lambda row: len(row.inventory), limit, at_once=LONG_AT_ONCE, **given)
        return [node_of(NODES.of(row)) for row in rows]

    def host(self, node_id: str) -> Host | None:
        found = self.hosts_of([node_id])
        return found[0] if found else None

    def hosts_of(self, ids: Collection[str]) -> list[Host]:
        return self._hosts([node_of(NODES.of(row)) for row in self._all(_OF_IDS, ids=list(ids))])

    def hosts_in_pools(self, ids: Collection[str]) -> list[tuple[Pool, Host]]:
        hosts = self.hosts_of(ids)
        pool_ids = sorted({host.node.pool_id for host in hosts})
        pools = {row.id: pool_of(row) for row in self._all(_POOLS, ids=pool_ids)} if hosts else {}
        return [(pools[host.node.pool_id], host) for host in hosts]


def _changed(changes: Sequence[HostChange]) -> list[Values]:
    """The rows of machines that are not as before."""
    rows = ((before and _values(before), _values(after)) for before, after in changes if after is not None)
    return [after for before, after in rows if before != after]


def _values(host: Host) -> dict[str, Any]:
    return NODES.values(host.node) | {"inventory": to_json(asdict(host.node.inventory)), "free": host.free}


def node_of(row: Node) -> Node:
    """A row's node: its inventory is JSON yet."""
    return replace(row, inventory=inventory_of(str(row.inventory)))


def inventory_of(text: str) -> Inventory:
    """Shared where it is short: the machines of a pool are mostly alike, and what one tenant says of its own is not
    kept for all time."""
    return _shared(text) if len(text) <= _SHORT else Inventory.of(from_json(text))


@lru_cache(maxsize=1024)
def _shared(text: str) -> Inventory:
    return Inventory.of(from_json(text))
