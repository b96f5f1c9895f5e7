"""system/info: which control plane this is."""

from __future__ import annotations

from better_compute import __version__
from better_compute.domain.ids import DERIVATION
from better_compute.service.core import Service
from better_compute.service.ports import Caller, Tx
from better_compute.wire.inputs import Self
from better_compute.wire.views import SystemInfoView

CAPABILITIES = ("pool.origin",)
"""`pool.origin`: owners see the key and the creator of their pools."""


def info(service: Service, caller: Caller, body: Self) -> SystemInfoView:
    """The instance; and, for whoever may read the acting tenant's own pools, that tenant's digest key."""
    tenant_id = body.tenant_id if isinstance(body.tenant_id, str) else caller.tenant_id
    reads = "compute:pools:read" in service.authorizer.rights(caller, tenant_id)

    def work(tx: Tx) -> SystemInfoView:
        view = SystemInfoView(
            instance_id=tx.instance_id(),
            version=__version__,
            derivation=DERIVATION,
            capabilities=list(CAPABILITIES),
            time=service.clock(),
        )
        tenant = tx.tenant(tenant_id) if reads else None
        if tenant is not None:
            view.digest_key = tenant.digest_key.hex()
        return view

    return service.store.view(work)
