"""pools/*: create, read, update, archive. Offers stand in `offers`."""

from __future__ import annotations

from collections.abc import Iterable

from better_compute.domain.commands import ArchivePool, CreatePool, UpdatePool
from better_compute.domain.ids import derive
from better_compute.domain.state import PoolState
from better_compute.service.core import Service, known, look
from better_compute.service.pages import Key, first, page
from better_compute.service.ports import Caller, PoolQuery, Tx
from better_compute.wire import show
from better_compute.wire.commands import build
from better_compute.wire.inputs import PoolsArchive, PoolsCreate, PoolsGet, PoolsList, PoolsUpdate
from better_compute.wire.reading import given
from better_compute.wire.views import Page, PoolView


def create(service: Service, caller: Caller, body: PoolsCreate) -> PoolView:
    """A new pool; with a key that made one already, that pool as it is."""
    service.allow(caller, "pools/create", body.tenant_id)
    key = body.idempotency_key
    if isinstance(key, str):
        pool_id = derive("pool", body.tenant_id, caller.identity_id, key)
    else:
        pool_id = service.new_id("pool")
    done = service.carry_out(caller, build(CreatePool, given(body), pool_id), [])
    if done.changed:
        service.after_create(done.pool)
    return show.pool(done.state, done.pool, body.tenant_id)


def get(service: Service, caller: Caller, body: PoolsGet) -> PoolView:
    """A pool that the acting tenant owns or is offered."""
    service.allow(caller, "pools/get", body.tenant_id)

    def work(tx: Tx) -> PoolState:
        state = look(tx, body.tenant_id, body.pool_id, [body.tenant_id])
        if known(state).owner_id == body.tenant_id:
            if "offers" in body.include:
                state = tx.pool_state(body.pool_id, None)
            if "rollup" in body.include:
                tx.roll_up([state])
        return state

    state = service.store.view(work)
    return show.pool(state, known(state), body.tenant_id, body.include)


def list_(service: Service, caller: Caller, body: PoolsList) -> Page[PoolView]:
    """The pools that the acting tenant owns or is offered, in order of their ids."""
    filters = {n: v for n, v in given(body).items() if n in ("ids", "owned", "archived")}
    offers = "offers" in body.include

    def read(tx: Tx, after: Key, limit: int) -> Iterable[PoolState]:
        query = PoolQuery(tenant_id=body.tenant_id, limit=limit, after=first(after), offers=offers, **filters)
        states = tx.pool_states(query)
        if "rollup" in body.include:
            tx.roll_up(state for state in states if known(state).owner_id == body.tenant_id)
        return states

    def view(state: PoolState) -> PoolView:
        return show.pool(state, known(state), body.tenant_id, body.include)

    return page(service, caller, "pools/list", body, read, lambda state: (known(state).id,), view)


def update(service: Service, caller: Caller, body: PoolsUpdate) -> PoolView:
    """A policy (replaced whole), a GPU model, or both."""
    service.allow(caller, "pools/update", body.tenant_id)
    done = service.carry_out(caller, build(UpdatePool, given(body), body.pool_id), [])
    if done.changed:
        service.after_changed(done.pool.id)
    return show.pool(done.state, done.pool, body.tenant_id)


def archive(service: Service, caller: Caller, body: PoolsArchive) -> PoolView:
    """Retires a pool: every offer goes, what runs goes on. Idempotent."""
    service.allow(caller, "pools/archive", body.tenant_id)
    done = service.carry_out(caller, build(ArchivePool, given(body), body.pool_id), None)
    return show.pool(done.state, done.pool, body.tenant_id)
