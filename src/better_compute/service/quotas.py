"""quotas/*: the owner sees and sets the rows of all tenants of its pools, others see their own."""

from __future__ import annotations

from collections.abc import Iterator

from better_compute.domain.commands import SetQuota
from better_compute.domain.state import PoolState
from better_compute.service.core import Service, known, look
from better_compute.service.pages import Key, first, page, pools_from
from better_compute.service.ports import Caller, PoolQuery, Tx
from better_compute.wire import show
from better_compute.wire.commands import build
from better_compute.wire.inputs import QuotasList, QuotasSet
from better_compute.wire.reading import given
from better_compute.wire.views import Page, QuotasView, QuotaView

_POOLS = 100
"""Pools that are read at once while a page of rows fills."""


def set_(service: Service, caller: Caller, body: QuotasSet) -> QuotasView:
    """Sets the named rows of the owner, or of a tenant with an offer; others stay. Answers all its rows."""
    service.allow(caller, "quotas/set", body.tenant_id)
    done = service.carry_out(caller, build(SetQuota, given(body), body.pool_id), [body.to_tenant_id])
    return QuotasView(show.quotas(body.to_tenant_id, body.pool_id, done.state.rows(body.to_tenant_id)))


def list_(service: Service, caller: Caller, body: QuotasList) -> Page[QuotaView]:
    """Rows of one pool, or of all that the acting tenant sees, in order of pool, tenant and resource."""

    def read(tx: Tx, after: Key, _limit: int) -> Iterator[QuotaView]:
        for state in _pools(tx, body, first(after)):
            yield from (row for row in _rows(state, body) if not after or _key(row) > after)

    return page(service, caller, "quotas/list", body, read, _key, lambda row: row, parts=3)


def _key(row: QuotaView) -> Key:
    return row.pool_id, row.tenant_id, row.resource


def _pools(tx: Tx, body: QuotasList, begin: str | None) -> Iterator[PoolState]:
    """The pools whose rows are asked for, from `begin` on, with all rows that the acting tenant may see."""
    if isinstance(body.pool_id, str):
        yield _whole(tx, body.pool_id, body.tenant_id)
        return
    yield from pools_from(tx, PoolQuery(tenant_id=body.tenant_id, limit=_POOLS, offers=True), begin)


def _whole(tx: Tx, pool_id: str, tenant_id: str) -> PoolState:
    state = look(tx, tenant_id, pool_id, [tenant_id])
    return tx.pool_state(pool_id, None) if known(state).owner_id == tenant_id else state


def _rows(state: PoolState, body: QuotasList) -> Iterator[QuotaView]:
    """Without the owner's rows for anyone else: a state always holds them."""
    pool = known(state)
    tenants = sorted(state.quotas) if pool.owner_id == body.tenant_id else [body.tenant_id]
    for tenant_id in tenants:
        if not isinstance(body.to_tenant_id, str) or body.to_tenant_id == tenant_id:
            yield from show.quotas(tenant_id, pool.id, state.rows(tenant_id))
