"""quotas/*: the owner sees and sets the rows of all tenants of its pools, others see their own."""

from __future__ import annotations

from better_compute.domain.commands import SetQuota
from better_compute.service.core import Service, not_found
from better_compute.service.pages import Key, page
from better_compute.service.ports import Caller, HeldRow, PartQuery, Tx
from better_compute.wire import show
from better_compute.wire.commands import build
from better_compute.wire.inputs import QuotasList, QuotasSet
from better_compute.wire.reading import given
from better_compute.wire.views import Page, QuotasView, QuotaView


def set_(service: Service, caller: Caller, body: QuotasSet) -> QuotasView:
    """Sets the named rows of the owner, or of a tenant with an offer; others stay. Answers all its rows."""
    service.allow(caller, "quotas/set", body.tenant_id)
    done = service.carry_out(caller, build(SetQuota, given(body), body.pool_id), [body.to_tenant_id])
    if done.changed:
        service.after_freed(body.pool_id)
    return QuotasView(show.quotas(body.to_tenant_id, body.pool_id, done.state.rows(body.to_tenant_id)))


def list_(service: Service, caller: Caller, body: QuotasList) -> Page[QuotaView]:
    """Rows of one pool, or of all that the acting tenant sees, in order of pool, tenant and resource."""
    pool_id = body.pool_id if isinstance(body.pool_id, str) else None
    of = body.to_tenant_id if isinstance(body.to_tenant_id, str) else None

    def read(tx: Tx, after: Key, limit: int) -> list[HeldRow]:
        if pool_id is not None and not tx.sees(body.tenant_id, pool_id):
            raise not_found()
        return tx.quota_rows(PartQuery(tenant_id=body.tenant_id, limit=limit, after=after, pool_id=pool_id, of=of))

    def view(held: HeldRow) -> QuotaView:
        pool_id, tenant_id, resource, row = held
        return show.quotas(tenant_id, pool_id, {resource: row})[0]

    return page(service, caller, "quotas/list", body, read, lambda held: held[:3], view, parts=3)
