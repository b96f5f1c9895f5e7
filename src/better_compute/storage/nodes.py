"""The machines of pools."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import bindparam, exists, or_, select

from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Node
from better_compute.domain.state import PoolState
from better_compute.service.ports import EventRecord
from better_compute.storage import tables as t
from better_compute.storage.events import RAISE, EventTx
from better_compute.storage.rows import Kept, from_json, machines_json, to_json

_NODES = Kept(t.nodes, Node)
_OF_POOL_OWNER = exists().where(
    t.authz.c.pool_id == t.nodes.c.pool_id, t.authz.c.tenant_id == bindparam("tenant_id"), t.authz.c.owned
)
_SHOWN = _NODES.by["id"].where(or_(t.nodes.c.owner_tenant_id == bindparam("tenant_id"), _OF_POOL_OWNER))
_THERE = select(t.nodes.c.id).where(t.nodes.c.id.in_(bindparam("ids", expanding=True)))
_UPDATE = RAISE.values(rollup=bindparam("new_rollup"))


class NodeTx(EventTx):
    """The part of `Tx` about machines."""

    def add_nodes(self, state: PoolState, nodes: Sequence[Node], events: Sequence[EventRecord]) -> None:
        if not nodes:
            return
        self._write(t.nodes.insert(), [_values(node) for node in nodes])
        update = {"of_pool": nodes[0].pool_id, "new_rollup": machines_json(state.rollup), "changes": len(nodes)}
        self._append(events, self._write(_UPDATE, update).scalar_one())

    def nodes_there(self, ids: Collection[str]) -> set[str]:
        return {row.id for row in self._all(_THERE, ids=list(ids))}

    def node_for(self, tenant_id: str, node_id: str) -> Node | None:
        row = self._first(_SHOWN, tenant_id=tenant_id, value=node_id)
        return None if row is None else _node(_NODES.of(row))

    def nodes(self, pool_id: str, limit: int, after: str | None) -> list[Node]:
        page = _NODES.page("pool_id")
        rows = self._fitting(page, lambda row: len(row.inventory), limit, value=pool_id, after=after or "")
        return [_node(_NODES.of(row)) for row in rows]


def _values(node: Node) -> dict[str, Any]:
    return _NODES.values(node) | {"inventory": to_json(asdict(node.inventory))}


def _node(row: Node) -> Node:
    """A row's node: its inventory is JSON yet."""
    return replace(row, inventory=Inventory.of(from_json(str(row.inventory))))
