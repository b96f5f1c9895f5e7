"""The machines of pools."""

from __future__ import annotations

from dataclasses import asdict, replace

from sqlalchemy import bindparam, exists, or_

from better_compute.domain.nodes import Inventory, Node
from better_compute.domain.state import PoolState
from better_compute.service.ports import EventRecord
from better_compute.storage import tables as t
from better_compute.storage.events import EventTx
from better_compute.storage.rows import Kept, from_json, to_json

_NODES = Kept(t.nodes, Node)
_OF_POOL_OWNER = exists().where(
    t.authz.c.pool_id == t.nodes.c.pool_id, t.authz.c.tenant_id == bindparam("tenant_id"), t.authz.c.owned
)
_SHOWN = _NODES.by["id"].where(or_(t.nodes.c.owner_tenant_id == bindparam("tenant_id"), _OF_POOL_OWNER))
_UPDATE = (
    t.pools.update()
    .where(t.pools.c.id == bindparam("pool_id"))
    .values(rollup=bindparam("new_rollup"), revision=t.pools.c.revision + 1)
    .returning(t.pools.c.revision)
)


class NodeTx(EventTx):
    """The part of `Tx` about machines."""

    def add_node(self, state: PoolState, node: Node, event: EventRecord) -> None:
        self._write(t.nodes.insert(), _NODES.values(node) | {"inventory": to_json(asdict(node.inventory))})
        update = {"pool_id": node.pool_id, "new_rollup": to_json(asdict(state.rollup))}
        self._append(event, self._write(_UPDATE, update).scalar_one())

    def node(self, node_id: str) -> Node | None:
        row = self._get(_NODES, "id", node_id)
        return None if row is None else _node(row)

    def node_for(self, tenant_id: str, node_id: str) -> Node | None:
        row = self._first(_SHOWN, tenant_id=tenant_id, value=node_id)
        return None if row is None else _node(_NODES.of(row))

    def nodes(self, pool_id: str, limit: int, after: str | None) -> list[Node]:
        page = _NODES.page("pool_id")
        rows = self._fitting(page, lambda row: len(row.inventory), limit, value=pool_id, after=after or "")
        return [_node(_NODES.of(row)) for row in rows]


def _node(row: Node) -> Node:
    """A row's node: its inventory is JSON yet."""
    return replace(row, inventory=Inventory.of(from_json(str(row.inventory))))
