"""What tenants lose and gain by a plan's grants: one line for each loser, and the capacity by model and tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from better_compute.domain.atoms import UNLIMITED
from fleetctl.consequences import Consequences
from fleetctl.ledger import Amount, Ledger, Share, Stock
from fleetctl.live import Live
from fleetctl.plan.grants import Grant, PoolFacts
from fleetctl.report import forms
from fleetctl.words import count, joined, listed

_DIGITS = 6
"""Digits of a cost behind the point."""


def losses(does: Consequences) -> list[forms.Loss]:
    """One for each tenant that is offered less than before, in some pool: gross, for what it gains elsewhere does not
    run the work that is here. What waits in a pool that is withdrawn fails with it."""
    by_tenant: dict[str, list[Grant]] = {}
    for grant in does.grants:
        if grant.before is not None and (grant.after is None or any(grant.lowered())):
            by_tenant.setdefault(grant.tenant_id, []).append(grant)
    return [
        {
            "tenantId": tenant_id,
            "sentence": f"loses {_amounts(lost)} in {_names(lost)}{_failing(lost, does.live)}",
            "operations": sorted(grant.operation.n for grant in lost),
        }
        for tenant_id, lost in sorted(by_tenant.items())
    ]


def capacity(kept: Ledger) -> forms.Capacity:
    """The ledger of a plan, as it is shown."""
    return {
        "shares": [_share(*key, tenant_id, share) for (key, tenant_id), share in kept.shares.items()],
        "stock": [_stock(*key, stock) for key, stock in kept.stock.items()],
    }


def _share(model: str, atom: str, site_id: str, tenant_id: str, share: Share) -> forms.Share:
    return {
        "gpuModel": model,
        "atom": atom,
        "siteId": site_id,
        "tenantId": tenant_id,
        "before": share.before.atoms,
        "after": share.after.atoms,
        "inUse": share.in_use,
        "frozen": share.frozen,
        "costBefore": _cost(share.before),
        "costAfter": _cost(share.after),
    }


def _stock(model: str, atom: str, site_id: str, stock: Stock) -> forms.Stock:
    before, after = stock.oversell
    return {
        "gpuModel": model,
        "atom": atom,
        "siteId": site_id,
        "schedulable": stock.schedulable,
        "schedulableAfter": stock.schedulable_after,
        "before": stock.before.atoms,
        "after": stock.after.atoms,
        "inUse": stock.in_use,
        "oversellBefore": before,
        "oversellAfter": after,
    }


def _cost(amount: Amount) -> float | None:
    return None if amount.cost is None else round(amount.cost, _DIGITS)


def _amounts(lost: Sequence[Grant]) -> str:
    """`16 H100 GPUs, 64 vcpu and 2 offers`."""
    sums: Counter[str] = Counter()
    for grant in lost:
        for resource, had, has in grant.lowered():
            sums[_unit(resource, grant.facts, had == UNLIMITED)] += 0 if had == UNLIMITED else had - has
    parts = [f"{amount} {unit}" if amount else unit for unit, amount in sorted(sums.items())]
    if offers := sum(grant.after is None for grant in lost):
        parts.append(count(offers, "offer"))
    return joined(parts)


def _failing(lost: Sequence[Grant], live: Live) -> str:
    gone = [
        live.pools[grant.operation.pool_id].rollup.work.get(grant.tenant_id) for grant in lost if grant.after is None
    ]
    pending = sum(work.pending for work in gone if work)
    return f"; {count(pending, 'pending reservation')} will fail" if pending else ""


def _unit(resource: str, facts: PoolFacts, unlimited: bool) -> str:
    if resource != facts.atom:
        return f"its unlimited {resource}" if unlimited else resource
    unit = f"{facts.gpu_model} GPUs" if resource == "gpu" else f"{facts.gpu_model} {resource}"
    return f"its unlimited {unit}" if unlimited else unit


def _names(lost: Sequence[Grant]) -> str:
    return listed(list(dict.fromkeys(grant.operation.name for grant in lost)), "pool")
