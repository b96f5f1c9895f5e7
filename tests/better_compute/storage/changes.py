"""Changes of pools as the service makes them, on a store alone: load, decide, save."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any

from better_compute.domain.commands import Command
from better_compute.domain.decide import decide
from better_compute.domain.decision import Decision
from better_compute.domain.hosts import Host
from better_compute.domain.nodes import Node, count_node
from better_compute.domain.state import PoolState
from better_compute.service.ports import EventQuery, EventRecord, PoolQuery, Store, Tx
from better_compute.storage import SqlStore, open_store
from better_compute.storage.chain import START, chain_hash
from better_compute.wire.events import event_data
from tests import statements
from tests.builders import NOW, a_site, a_tenant, an_event
from tests.decisions import FACTS

_numbers = count(1)


@contextmanager
def opened(url: str, **settings: Any) -> Iterator[SqlStore]:
    """The store at the URL, closed at the end."""
    store = open_store(url, **{"clock": lambda: NOW, "sleep": time.sleep, "entropy": os.urandom, **settings})
    try:
        yield store
    finally:
        store.close()


def populate(store: Store) -> None:
    """The tenants and the site that the commands of `tests.decisions` name."""

    def work(tx: Tx) -> None:
        for tenant_id in ("root", "acme", "globex", "initech"):
            tx.add_tenant(a_tenant(tenant_id))
        tx.add_site(a_site())

    store.transact(work)


def carry_out(store: Store, command: Command, **event: Any) -> PoolState:
    """The pool after the command, which must be allowed; `event` says more of the event than the command does."""
    return store.transact(lambda tx: carry_out_in(tx, command, **event))


def carry_out_in(tx: Tx, command: Command, **event: Any) -> PoolState:
    state = tx.pool_state(command.pool_id, None)
    decision = decide(state, command, FACTS)
    assert isinstance(decision, Decision), decision
    if decision.event is not None:
        state.apply(decision.delta)
        told = {"type": decision.event.type, "pool_id": command.pool_id, "to_tenant_id": decision.event.to_tenant_id}
        tx.save(state, decision.delta, new_event(data=event_data(decision.event), **told, **event))
    return state


def join(store: Store, *nodes: Node, **event: Any) -> None:
    """Machines join a pool at once, each with its event."""

    def work(tx: Tx) -> None:
        state = tx.pool_state(nodes[0].pool_id, [])
        for node in nodes:
            state.rollup = count_node(state.rollup, node)
        told = [new_event(type="node.joined", pool_id=node.pool_id, **event) for node in nodes]
        tx.save_hosts([(None, Host(node=node)) for node in nodes], state, told)

    store.transact(work)


def new_event(**fields: Any) -> EventRecord:
    """An event of its own id, a millisecond after the one before unless its time is given."""
    number = next(_numbers)
    return an_event(f"evt_{number:08d}", **{"time": NOW + number, **fields})


def pool_state(store: Store, pool_id: str = "pool_1") -> PoolState:
    return store.view(lambda tx: tx.pool_state(pool_id, None))


def seen(store: Store, tenant_id: str, limit: int = 1000, **query: Any) -> list[PoolState]:
    return store.view(lambda tx: tx.pool_states(PoolQuery(tenant_id=tenant_id, limit=limit, **query)))


def seen_ids(store: Store, tenant_id: str, **query: Any) -> list[str]:
    return [state.pool.id for state in seen(store, tenant_id, **query) if state.pool]


def events(store: Store, tenant_id: str = "root", limit: int = 10_000, **query: Any) -> list[EventRecord]:
    """The tenant's events, all of them numbered."""
    store.number_events(tenant_id)
    return store.view(lambda tx: tx.events(EventQuery(tenant_id=tenant_id, limit=limit, **query)))


def counted(store: SqlStore) -> AbstractContextManager[list[str]]:
    """The statements that the store runs in the block."""
    return statements.counted(store._database.engine)


def is_chain(events: Iterable[EventRecord], previous: str = START, last: int = 0) -> bool:
    """Whether the events follow each other, without gap or change, behind number `last`, whose hash is `previous`."""
    for event in events:
        last += 1
        if event.sequence != last or event.hash != chain_hash(event, previous):
            return False
        previous = event.hash
    return True
