"""tenants/*: root's to make and to see."""

from __future__ import annotations

from msgspec import UNSET

from better_compute.domain.problems import CONFLICT, ComputeError, Problem
from better_compute.service.core import Service, absent
from better_compute.service.pages import first, page
from better_compute.service.ports import Caller, Tenant, Tx
from better_compute.wire.inputs import ListInput, TenantsCreate, TenantsGet
from better_compute.wire.views import Page, TenantView


def create(service: Service, caller: Caller, body: TenantsCreate) -> TenantView:
    """A new tenant. With an id that is there already, and the same parent: that tenant, as it is."""
    service.allow(caller, "tenants/create", body.tenant_id)
    tenant = Tenant(
        id=body.id if isinstance(body.id, str) else service.new_id("tenant"),
        parent_id=body.parent_id if isinstance(body.parent_id, str) else body.tenant_id,
        status="active",
        digest_key=service.entropy(32),
        created_at=service.clock(),
    )

    def work(tx: Tx) -> Tenant:
        if there := tx.tenant(tenant.id):
            if there.parent_id != tenant.parent_id:
                raise ComputeError(Problem(CONFLICT, "", "this tenant has another parent", "parentId"))
            return there
        if tx.tenant(str(tenant.parent_id)) is None:
            raise absent("tenant", "parentId")
        tx.add_tenant(tenant)
        return tenant

    return _view(service.store.transact(work))


def get(service: Service, caller: Caller, body: TenantsGet) -> TenantView:
    """Any tenant."""
    service.allow(caller, "tenants/get", body.tenant_id)
    tenant = service.store.view(lambda tx: tx.tenant(body.id))
    if tenant is None:
        raise absent("tenant", "id")
    return _view(tenant)


def list_(service: Service, caller: Caller, body: ListInput) -> Page[TenantView]:
    """All tenants."""
    return page(
        service,
        caller,
        "tenants/list",
        body,
        lambda tx, after, limit: tx.tenants(limit, first(after)),
        lambda tenant: (tenant.id,),
        _view,
    )


def _view(tenant: Tenant) -> TenantView:
    return TenantView(
        id=tenant.id, parent_id=tenant.parent_id or UNSET, status=tenant.status, created_at=tenant.created_at
    )
