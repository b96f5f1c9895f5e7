"""What tenants lose and gain by a plan's grants: one line for each loser, and the capacity by model and tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from better_compute.domain.atoms import UNLIMITED
from fleetctl.live import Live
from fleetctl.plan.grants import Grant, PoolFacts
from fleetctl.report import forms

Key = tuple[str, str, str, str]
"""GPU model, atom, site, tenant."""

_LISTED = 3


def losses(changes: Sequence[Grant]) -> list[forms.Loss]:
    """One for each tenant that is offered less than before, in some pool: gross, for what it gains elsewhere does not
    run the work that is here."""
    by_tenant: dict[str, list[Grant]] = {}
    for grant in changes:
        if grant.before is not None and (grant.after is None or any(grant.lowered())):
            by_tenant.setdefault(grant.tenant_id, []).append(grant)
    return [
        {
            "tenantId": tenant_id,
            "sentence": f"loses {_amounts(lost)} in {_names(lost)}",
            "operations": sorted(grant.operation.n for grant in lost),
        }
        for tenant_id, lost in sorted(by_tenant.items())
    ]


def capacity(live: Live, changes: Sequence[Grant]) -> forms.Capacity:
    """A row for each model and tenant, the owner left out, of which the plan changes a grant in some pool. Totals are
    over all live pools of the owner."""
    before, used = _totals(live)
    delta, touched = _deltas([grant for grant in changes if grant.tenant_id != live.tenant_id])
    return {"shares": [_share(key, before, delta, used) for key in sorted(touched)], "stock": []}


def _share(key: Key, before: Counter[Key], delta: Counter[Key], used: Counter[Key]) -> forms.Share:
    model, atom, site_id, tenant_id = key
    after = min(before[key] + delta[key], UNLIMITED)
    return {
        "gpuModel": model,
        "atom": atom,
        "siteId": site_id,
        "tenantId": tenant_id,
        "before": min(before[key], UNLIMITED),
        "after": after,
        "inUse": used[key],
        "frozen": max(0, used[key] - after),
        "costBefore": None,
        "costAfter": None,
    }


def _totals(live: Live) -> tuple[Counter[Key], Counter[Key]]:
    granted: Counter[Key] = Counter()
    used: Counter[Key] = Counter()
    for state in live.pools.values():
        if state.pool is None or state.pool.archived:
            continue
        for tenant_id, rows in state.quotas.items():
            row = rows.get(state.pool.atom)
            if row is not None and tenant_id != live.tenant_id:
                key = state.pool.gpu_model, state.pool.atom, state.pool.site_id, tenant_id
                granted[key] += row.max if tenant_id in state.offers else 0
                used[key] += row.used
    return granted, used


def _deltas(changes: Sequence[Grant]) -> tuple[Counter[Key], set[Key]]:
    """What is added to the totals; and every key of which some pool's grant changes, also where the sum stays."""
    delta: Counter[Key] = Counter()
    touched: set[Key] = set()
    for grant in changes:
        facts, (before, after) = grant.facts, grant.atoms
        if facts.atom is None or (before == after and not facts.changes_model):
            continue
        for model, amount in ((facts.gpu_model, -before), (facts.new_model, after)):
            key = model, facts.atom, facts.site_id, grant.tenant_id
            delta[key] += amount
            if amount:
                touched.add(key)
    return delta, touched


def _amounts(lost: Sequence[Grant]) -> str:
    """`16 H100 GPUs, 64 vcpu and 2 offers`."""
    sums: Counter[str] = Counter()
    for grant in lost:
        for resource, had, has in grant.lowered():
            sums[_unit(resource, grant.facts, had == UNLIMITED)] += 0 if had == UNLIMITED else had - has
    parts = [f"{amount} {unit}" if amount else unit for unit, amount in sorted(sums.items())]
    if offers := sum(grant.after is None for grant in lost):
        parts.append("1 offer" if offers == 1 else f"{offers} offers")
    return _listed(parts)


def _unit(resource: str, facts: PoolFacts, unlimited: bool) -> str:
    if resource != facts.atom:
        return f"its unlimited {resource}" if unlimited else resource
    unit = f"{facts.gpu_model} GPUs" if resource == "gpu" else f"{facts.gpu_model} {resource}"
    return f"its unlimited {unit}" if unlimited else unit


def _names(lost: Sequence[Grant]) -> str:
    names = list(dict.fromkeys(grant.operation.name for grant in lost))
    if len(names) > _LISTED:
        names = [*names[: _LISTED - 1], f"{len(names) - _LISTED + 1} more pools"]
    return _listed(names)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
