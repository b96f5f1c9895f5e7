"""nodes/*: join tokens, joining, and the machines of a pool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from msgspec import UNSET

from better_compute.domain import nodes
from better_compute.domain.events import Event, NodeJoined, NodeQuarantined
from better_compute.domain.hosts import Host, fitted
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Machine, Node
from better_compute.domain.problems import ACCESS_DENIED, INVALID_STATE, ComputeError, Problem, Refused
from better_compute.domain.state import Pool, PoolState
from better_compute.service import tokens
from better_compute.service.core import Service, absent, known, look, owned
from better_compute.service.pages import Key, first, page
from better_compute.service.ports import Caller, JoinToken, Tx
from better_compute.wire.body import refuse
from better_compute.wire.inputs import NodesCreateJoinToken, NodesGet, NodesJoin, NodesList
from better_compute.wire.reading import given
from better_compute.wire.views import InventoryView, JoinTokenView, NodeView, Page

DAY = 24 * 60 * 60 * 1000
"""Milliseconds that a join token counts unless its maker says otherwise."""


def create_join_token(service: Service, caller: Caller, body: NodesCreateJoinToken) -> JoinTokenView:
    """A token with which one machine joins the pool. It is shown in this answer alone."""
    service.allow(caller, "nodes/createJoinToken", body.tenant_id)
    now, secret = service.clock(), tokens.mint(tokens.JOIN, service.entropy)
    expires_at = body.expires_at if isinstance(body.expires_at, int) else now + DAY
    if expires_at <= now:
        refuse("this time has passed", "expiresAt")
    token = JoinToken(
        id=service.new_id("jtok"),
        pool_id=body.pool_id,
        token_hash=tokens.digest(secret),
        created_at=now,
        expires_at=expires_at,
    )

    def work(tx: Tx) -> None:
        if owned(look(tx, body.tenant_id, body.pool_id, []), body.tenant_id).archived:
            raise ComputeError(Problem(INVALID_STATE, "node.join", "an archived pool takes no machines"))
        tx.put_join_token(token)

    service.store.transact(work)
    return JoinTokenView(token.id, token.pool_id, secret, token.expires_at)


def join(service: Service, caller: Caller, body: NodesJoin) -> NodeView:
    """A machine joins a pool with a join token of it. One with a GPU that is not understood is quarantined."""
    service.allow(caller, "nodes/join", body.tenant_id)
    owner_id = body.owner_tenant_id if isinstance(body.owner_tenant_id, str) else None
    inventory = Inventory.of(given(body.inventory))

    def work(tx: Tx) -> Node:
        token = tx.join_token_by_hash(tokens.digest(str(body.join_token)))
        if token is None or not _counts(token, body.pool_id, service.clock()):
            message = "no join token of this pool that still counts"
            raise ComputeError(Problem(ACCESS_DENIED, "node.token", message, "joinToken"))
        state = tx.pool_state(body.pool_id, [])
        pool = known(state)
        if owner_id is not None and not (body.tenant_id in (owner_id, pool.owner_id) and tx.tenant(owner_id)):
            raise absent("tenant", "ownerTenantId")
        tx.put_join_token(replace(token, used_at=service.clock()))
        [node] = admit(service, tx, caller, state, pool, [Machine(inventory=inventory, owner_tenant_id=owner_id)])
        return node

    return _view(service.store.transact(work))


def admit(
    service: Service, tx: Tx, caller: Caller, state: PoolState, pool: Pool, machines: Iterable[Machine]
) -> list[Node]:
    """Let machines into the pool, all or none of them; `state` is brought up to date.

    Raises ComputeError INVALID_STATE for a machine that the pool does not take.
    """
    now = service.clock()
    joined = []
    for machine in machines:
        node_id = machine.id or service.new_id("node")
        node = nodes.join(state, pool, machine, node_id, now)
        if isinstance(node, Refused):
            raise ComputeError(*node.problems)
        joined.append(node)
    for node in joined:
        state.rollup = nodes.count_node(state.rollup, node)
    changes = [(None, fitted(pool, Host(node=node))) for node in joined]
    tx.save_hosts(changes, state, [service.record(caller, _event(pool, node), now) for node in joined])
    return joined


def list_(service: Service, caller: Caller, body: NodesList) -> Page[NodeView]:
    """The machines of a pool of the acting tenant."""

    def read(tx: Tx, after: Key, limit: int) -> list[Node]:
        owned(look(tx, body.tenant_id, body.pool_id, []), body.tenant_id)
        return tx.nodes(body.pool_id, limit, first(after))

    return page(service, caller, "nodes/list", body, read, lambda node: (node.id,), _view)


def get(service: Service, caller: Caller, body: NodesGet) -> NodeView:
    """A machine of a pool of the acting tenant, or one that the acting tenant owns."""
    service.allow(caller, "nodes/get", body.tenant_id)

    def work(tx: Tx) -> Node:
        node = tx.node_for(body.tenant_id, body.node_id)
        if node is None:
            raise absent("node", "nodeId")
        return node

    return _view(service.store.view(work))


def _counts(token: JoinToken, pool_id: str, now: int) -> bool:
    return token.pool_id == pool_id and token.used_at is None and now < token.expires_at


def _event(pool: Pool, node: Node) -> Event:
    if node.quarantined is not None:
        return NodeQuarantined(owner_id=pool.owner_id, pool_id=pool.id, node_id=node.id, name=node.quarantined)
    return NodeJoined(
        owner_id=pool.owner_id,
        pool_id=pool.id,
        node_id=node.id,
        gpu_model=node.gpu_model,
        gpus=len(node.inventory.gpus),
    )


def _view(node: Node) -> NodeView:
    i = node.inventory
    return NodeView(
        id=node.id,
        pool_id=node.pool_id,
        role=node.role,
        gpu_model=node.gpu_model or UNSET,
        inventory=InventoryView(
            list(i.gpus), i.vcpu, i.memory_gib, i.disk_gib, i.hugepages_2mi, i.hugepages_1gi, i.attributes
        ),
        owner_tenant_id=node.owner_tenant_id or UNSET,
        control=node.control,
        joined_at=node.joined_at,
        quarantined=UNSET if node.quarantined is None else node.quarantined,
    )
