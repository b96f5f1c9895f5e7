"""usage/list: what was used between two times."""

from __future__ import annotations

from better_compute.domain.usage import hours
from better_compute.service.core import Service
from better_compute.service.pages import Key, page
from better_compute.service.ports import Caller, Tx, UsageQuery, Used
from better_compute.wire.body import refuse
from better_compute.wire.inputs import UsageList
from better_compute.wire.views import Page, UsageView


def list_(service: Service, caller: Caller, body: UsageList) -> Page[UsageView]:
    """Hours by pool, tenant and meter, in this order: of all tenants in pools of the acting tenant, its own in the
    others.

    What runs is counted until now, what is over is counted whole, also where the clock was set back. A stretch counts
    as far as it lies between the two times, as much as it held of a GPU.
    """
    if body.to <= body.from_:
        refuse("this is not after `from`", "to")
    meter = body.meter if isinstance(body.meter, str) else None

    def read(tx: Tx, after: Key, limit: int) -> list[Used]:
        times = {"start": body.from_, "end": body.to, "now": service.clock()}
        return tx.usage(UsageQuery(tenant_id=body.tenant_id, **times, limit=limit, after=after, meter=meter))

    def view(used: Used) -> UsageView:
        return UsageView(used.pool_id, used.tenant_id, used.meter, hours(used.amount))

    return page(service, caller, "usage/list", body, read, lambda used: used[:3], view, parts=3)
