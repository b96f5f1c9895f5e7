"""nodes/createJoinToken and nodes/join: how machines come into a pool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from better_compute.domain import nodes
from better_compute.domain.events import Event, NodeJoined, NodeQuarantined
from better_compute.domain.hosts import Host, fitted
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Machine, Node
from better_compute.domain.policy.rules import JOIN_TOKEN
from better_compute.domain.problems import ACCESS_DENIED, ComputeError, Problem, Refused
from better_compute.domain.state import Pool, PoolState
from better_compute.service import tokens
from better_compute.service.core import Service, absent, known, owned
from better_compute.service.ports import Caller, JoinToken, Tx
from better_compute.wire import show
from better_compute.wire.body import refuse
from better_compute.wire.claims import claim_of
from better_compute.wire.inputs import Attested, NodesCreateJoinToken, NodesJoin
from better_compute.wire.reading import given
from better_compute.wire.views import JoinTokenView, NodeView

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
        pool = owned(tx, body.tenant_id, body.pool_id)
        if problems := nodes.check_takes(pool):
            raise ComputeError(*problems)
        tx.put_join_token(token)

    service.store.transact(work)
    return JoinTokenView(token.id, token.pool_id, secret, token.expires_at)


def join(service: Service, caller: Caller, body: NodesJoin) -> NodeView:
    """A machine joins a pool, with a join token of it or with the word of an attestor, one of the two. One with a GPU
    that is not understood is quarantined."""
    service.allow(caller, "nodes/join", body.tenant_id)
    owner_id = body.owner_tenant_id if isinstance(body.owner_tenant_id, str) else None
    inventory = Inventory.of(given(body.inventory))
    machine = Machine(inventory=inventory, owner_tenant_id=owner_id, control=body.control)
    attested = _attested(service, body)

    def work(tx: Tx) -> Node:
        # What lets the machine in is judged first, and by its pool: a stranger learns nothing of pools.
        used = _noted(service, tx, body.pool_id, attested) if attested else _token(service, tx, body)
        # Offers matter to a machine that a tenant owns.
        state = tx.pool(body.pool_id) if owner_id is None else tx.pool_state(body.pool_id, [])
        pool = known(state)
        if problems := nodes.check_attestor(pool, attested.attestor if attested else JOIN_TOKEN):
            raise ComputeError(*problems)
        if owner_id is not None and not (body.tenant_id in (owner_id, pool.owner_id) and tx.tenant(owner_id)):
            raise absent("tenant", "ownerTenantId")
        tx.put_join_token(used)
        [node] = admit(service, tx, caller, state, pool, [machine])
        return node

    node = service.store.transact(work)
    service.after_freed(node.pool_id)
    return show.node(node)


def admit(
    service: Service, tx: Tx, caller: Caller, state: PoolState, pool: Pool, machines: Iterable[Machine]
) -> list[Node]:
    """Let machines into the pool, all or none of them; `state` is brought up to date.

    Raises ComputeError INVALID_STATE for a machine that the pool does not take.
    """
    now = service.clock()
    joined = []
    for machine in machines:
        node = nodes.join(state, pool, machine, machine.id or service.new_id("node"), now)
        if isinstance(node, Refused):
            raise ComputeError(*node.problems)
        joined.append(node)
    for node in joined:
        state.rollup = nodes.count_node(state.rollup, node)
    changes = [(None, fitted(pool, Host(node=node))) for node in joined]
    tx.save_hosts(changes, state, [service.record(caller, _event(pool, node), now) for node in joined])
    return joined


def _attested(service: Service, body: NodesJoin) -> Attested | None:
    """The word of an attestor, if that is what the machine comes with: it counts for what the request states."""
    has_token, attested = isinstance(body.join_token, str), body.attested
    if has_token == isinstance(attested, Attested):
        refuse("a machine joins with a joinToken or attested, one of the two", "attested" if has_token else "joinToken")
    if not isinstance(attested, Attested):
        return None
    attestor = service.attestors.get(attested.attestor)
    if attestor is None:
        message = "no attestor of this name speaks for machines here"
        raise ComputeError(Problem(ACCESS_DENIED, "node.attestor", message, "attested.attestor"))
    attestor.check(attested.evidence, claim_of(body))
    return attested


def _token(service: Service, tx: Tx, body: NodesJoin) -> JoinToken:
    """The join token that the machine comes with, as it is once used."""
    now = service.clock()
    token = tx.join_token_by_hash(tokens.digest(str(body.join_token)))
    if token is None or token.pool_id != body.pool_id or token.used_at is not None or token.expires_at <= now:
        message = "no join token of this pool that still counts"
        raise ComputeError(Problem(ACCESS_DENIED, "node.token", message, "joinToken"))
    return replace(token, used_at=now)


def _noted(service: Service, tx: Tx, pool_id: str, attested: Attested) -> JoinToken:
    """Evidence is noted as a join token that is used: it counts once."""
    now, hashed = service.clock(), tokens.digest(f"{attested.attestor}:{attested.evidence}")
    if tx.join_token_by_hash(hashed) is not None:
        message = "this evidence let a machine in already"
        raise ComputeError(Problem(ACCESS_DENIED, "node.attestor", message, "attested.evidence"))
    jtok = service.new_id("jtok")
    return JoinToken(id=jtok, pool_id=pool_id, token_hash=hashed, created_at=now, expires_at=now, used_at=now)


def _event(pool: Pool, node: Node) -> Event:
    kind = NodeJoined if node.quarantined is None else NodeQuarantined
    return kind(owner_id=pool.owner_id, pool_id=pool.id, after=node)
