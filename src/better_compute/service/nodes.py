"""nodes/*: the machines of a pool, what they report, who owns and runs them. How they come stands in `joining`."""

from __future__ import annotations

from better_compute.domain import nodes
from better_compute.domain.events import NodeRemoved, changed_machine
from better_compute.domain.hosts import Host, fitted
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Node
from better_compute.domain.problems import ComputeError, Refused
from better_compute.domain.state import PoolState
from better_compute.service.core import Service, absent, known, owned
from better_compute.service.pages import Key, first, page
from better_compute.service.ports import Caller, Tx
from better_compute.wire import show
from better_compute.wire.body import refuse
from better_compute.wire.inputs import NodesGet, NodesList, NodesRemove, NodesReport, NodesSetControl
from better_compute.wire.reading import given
from better_compute.wire.views import NodeView, Page


def list_(service: Service, caller: Caller, body: NodesList) -> Page[NodeView]:
    """The machines of a pool of the acting tenant."""

    def read(tx: Tx, after: Key, limit: int) -> list[Node]:
        owned(tx, body.tenant_id, body.pool_id)
        return tx.nodes(body.pool_id, limit, first(after))

    return page(service, caller, "nodes/list", body, read, lambda node: (node.id,), show.node)


def get(service: Service, caller: Caller, body: NodesGet) -> NodeView:
    """A machine of a pool of the acting tenant, with what can be booked on it and what it is configured with; or one
    that the acting tenant owns, without those."""
    service.allow(caller, "nodes/get", body.tenant_id)

    def work(tx: Tx) -> NodeView:
        node = tx.node_for(body.tenant_id, body.node_id)
        if node is None:
            raise absent("node", "nodeId")
        if not tx.sees(body.tenant_id, node.pool_id, owned=True):
            return show.node(node)
        pool, host = known(tx.pool(node.pool_id)), tx.host(node.id)
        return show.node(node) if host is None else show.host(pool, host)

    return service.store.view(work)


def report(service: Service, caller: Caller, body: NodesReport) -> NodeView:
    """The inventory of a machine as it is now, by the owner of its pool or of the machine. One with a GPU that is not
    understood is quarantined until it is."""
    service.allow(caller, "nodes/report", body.tenant_id)
    inventory = Inventory.of(given(body.inventory))

    def work(tx: Tx) -> tuple[Node, bool]:
        state, host = _locked(tx, body.tenant_id, body.node_id, of_its_owner=True)
        after = nodes.report(known(state), host.node, inventory, booked=host.is_booked)
        return _changed(service, tx, caller, state, host, after)

    return _done(service, *service.store.transact(work))


def set_control(service: Service, caller: Caller, body: NodesSetControl) -> NodeView:
    """Who runs a machine, and which tenant owns it."""
    service.allow(caller, "nodes/setControl", body.tenant_id)
    stated = given(body)
    if not stated.keys() & {"control", "owner_tenant_id"}:
        refuse("give a control, an ownerTenantId, or both")

    def work(tx: Tx) -> tuple[Node, bool]:
        state, host = _locked(tx, body.tenant_id, body.node_id, offers=True)
        node = host.node
        owner_id = stated.get("owner_tenant_id", node.owner_tenant_id)
        if owner_id not in (None, node.owner_tenant_id) and tx.tenant(owner_id) is None:
            raise absent("tenant", "ownerTenantId")
        control = stated.get("control", node.control)
        after = nodes.set_control(state, node, control, owner_id, booked=host.is_booked)
        return _changed(service, tx, caller, state, host, after)

    return _done(service, *service.store.transact(work))


def remove(service: Service, caller: Caller, body: NodesRemove) -> NodeView:
    """A machine leaves its pool; none does under what runs on it. Answers with the machine as it was."""
    service.allow(caller, "nodes/remove", body.tenant_id)

    def work(tx: Tx) -> Node:
        state, host = _locked(tx, body.tenant_id, body.node_id)
        if problems := nodes.check_remove(booked=host.is_booked):
            raise ComputeError(*problems)
        pool, node = known(state), host.node
        state.rollup = nodes.count_node(state.rollup, node, -1)
        event = NodeRemoved(owner_id=pool.owner_id, pool_id=pool.id, before=node)
        tx.save_hosts([(host, None)], state, [service.record(caller, event, service.clock())])
        return node

    return show.node(service.store.transact(work))


def _done(service: Service, node: Node, changed: bool) -> NodeView:
    """After the commit: what waits may fit a machine that changed."""
    if changed:
        service.after_freed(node.pool_id)
    return show.node(node)


def _locked(
    tx: Tx, tenant_id: str, node_id: str, *, of_its_owner: bool = False, offers: bool = False
) -> tuple[PoolState, Host]:
    """A machine that the tenant may change, as the owner of its pool or (`of_its_owner`) of the machine, and its pool,
    whose row is locked and whose `offers` are counted where they matter. Raises ComputeError NOT_FOUND for any other.
    """
    seen = tx.node_for(tenant_id, node_id)
    if seen is None:
        raise absent("node", "nodeId")
    state = tx.pool_state(seen.pool_id, []) if offers else tx.pool(seen.pool_id)
    host = tx.host(node_id)  # again: it may have changed before the lock was held
    may = {known(state).owner_id, host.node.owner_tenant_id if host and of_its_owner else None}
    if host is None or tenant_id not in may:
        raise absent("node", "nodeId")
    return state, host


def _changed(
    service: Service, tx: Tx, caller: Caller, state: PoolState, host: Host, after: Node | Refused
) -> tuple[Node, bool]:
    """Save a machine as it is now, with what can be booked on it, unless nothing changed; and whether something did."""
    if isinstance(after, Refused):
        raise ComputeError(*after.problems)
    before, pool = host.node, known(state)
    # What is fitted may be another machine yet: that is what is counted, told and kept.
    now_is = fitted(pool, Host(node=after, devices=host.devices, resources=host.resources))
    if now_is.node == before:
        return before, False
    state.rollup = nodes.count_node(nodes.count_node(state.rollup, before, -1), now_is.node)
    event = service.record(caller, changed_machine(pool, before, now_is.node), service.clock())
    tx.save_hosts([(host, now_is)], state, [event])
    return now_is.node, True
