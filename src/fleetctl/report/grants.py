"""What a plan's operations do to what tenants may book: who loses what, and the capacity by model and tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from better_compute.domain.atoms import ATOMS, UNLIMITED
from better_compute.domain.commands import CreatePool, UpdatePool
from fleetctl.live import Live
from fleetctl.plan import Operation, Plan
from fleetctl.report import forms

Key = tuple[str, str, str]
"""GPU model, atom, tenant."""

_LISTED = 3


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """The model and the atom of a pool before the plan, or as it is created. No atom: its sharing mode is none."""

    gpu_model: str
    atom: str | None


@dataclass(frozen=True, slots=True)
class Grant:
    """What one operation does to the rows of one tenant; None: no offer on that side."""

    operation: Operation
    tenant_id: str
    facts: PoolFacts
    before: Mapping[str, int] | None
    after: Mapping[str, int] | None


class Pools:
    """The facts of every pool that a plan is about."""

    def __init__(self, plan: Plan, live: Live) -> None:
        self._live = live
        self._born = {o.pool_id: o.command for o in plan.operations if isinstance(o.command, CreatePool)}

    def of(self, pool_id: str) -> PoolFacts:
        state, born = self._live.pools.get(pool_id), self._born.get(pool_id)
        if state is not None and state.pool is not None:
            return PoolFacts(state.pool.gpu_model, ATOMS.get(state.pool.sharing))
        if born is not None:
            return PoolFacts(born.gpu_model, ATOMS.get(born.sharing))
        raise KeyError(pool_id)


def grants(plan: Plan, live: Live, pools: Pools) -> Iterator[Grant]:
    """Every change of rows, the owner's included, in the plan's order; an archive takes all offers of its pool."""
    for operation in plan.operations:
        if operation.action == "archive":
            state = live.pools[operation.pool_id]
            for tenant_id in live.others(operation.pool_id):
                yield Grant(operation, tenant_id, pools.of(operation.pool_id), state.limits(tenant_id), None)
        elif operation.to_tenant_id is not None:
            before, after = _quota(operation.before), _quota(operation.after)
            yield Grant(operation, operation.to_tenant_id, pools.of(operation.pool_id), before, after)


def losses(changes: Sequence[Grant]) -> list[forms.Loss]:
    """One for each tenant that is offered less than before, in some pool: gross, for what it gains elsewhere does not
    run the work that is here."""
    by_tenant: dict[str, list[Grant]] = {}
    for grant in changes:
        if grant.before is not None and (grant.after is None or any(_lowered(grant))):
            by_tenant.setdefault(grant.tenant_id, []).append(grant)
    return [
        {
            "tenantId": tenant_id,
            "sentence": f"loses {_amounts(lost)} in {_names(lost)}",
            "operations": sorted(grant.operation.n for grant in lost),
        }
        for tenant_id, lost in sorted(by_tenant.items())
    ]


def capacity(plan: Plan, live: Live, changes: Sequence[Grant], pools: Pools) -> list[forms.Capacity]:
    """A row for each model and tenant, the owner left out, of which the plan changes a grant in some pool. Totals are
    over all live pools of the owner."""
    before, used = _totals(live)
    delta, touched = _deltas(plan, live, changes, pools)
    return [
        {
            "gpuModel": model,
            "atom": atom,
            "tenantId": tenant,
            "before": min(before[model, atom, tenant], UNLIMITED),
            "after": min(before[model, atom, tenant] + delta[model, atom, tenant], UNLIMITED),
            "inUse": used[model, atom, tenant],
        }
        for model, atom, tenant in sorted(touched)
    ]


def _totals(live: Live) -> tuple[Counter[Key], Counter[Key]]:
    granted: Counter[Key] = Counter()
    used: Counter[Key] = Counter()
    for state in live.pools.values():
        if state.pool is None or state.pool.archived:
            continue
        for tenant_id, rows in state.quotas.items():
            row = rows.get(state.pool.atom)
            if row is not None and tenant_id != live.tenant_id:
                key = state.pool.gpu_model, state.pool.atom, tenant_id
                granted[key] += row.max if tenant_id in state.offers else 0
                used[key] += row.used
    return granted, used


def _deltas(plan: Plan, live: Live, changes: Sequence[Grant], pools: Pools) -> tuple[Counter[Key], set[Key]]:
    """What is added to the totals; and every key of which some pool's grant changes, also where the sum stays."""
    renamed = {
        o.pool_id: o.command.gpu_model
        for o in plan.operations
        if isinstance(o.command, UpdatePool) and o.command.gpu_model is not None
    }
    delta: Counter[Key] = Counter()
    touched: set[Key] = set()

    def move(facts: PoolFacts, model: str, tenant: str, before: int, after: int) -> None:
        if facts.atom is None or (model == facts.gpu_model and before == after):
            return
        for name, amount in ((facts.gpu_model, -before), (model, after)):
            delta[name, facts.atom, tenant] += amount
            if amount:
                touched.add((name, facts.atom, tenant))

    changed = {(grant.operation.pool_id, grant.tenant_id) for grant in changes}
    for grant in changes:
        if grant.tenant_id != live.tenant_id and (atom := grant.facts.atom):
            model = renamed.get(grant.operation.pool_id, grant.facts.gpu_model)
            move(
                grant.facts, model, grant.tenant_id, (grant.before or {}).get(atom, 0), (grant.after or {}).get(atom, 0)
            )
    for pool_id, model in renamed.items():
        state, facts = live.pools[pool_id], pools.of(pool_id)
        for tenant in live.others(pool_id):
            if facts.atom and (pool_id, tenant) not in changed:
                kept = state.limits(tenant).get(facts.atom, 0)
                move(facts, model, tenant, kept, kept)
    return delta, touched


def _quota(terms: Mapping[str, Any] | None) -> Mapping[str, int] | None:
    return None if terms is None else terms["quota"]


def _lowered(grant: Grant) -> Iterator[tuple[str, int, int]]:
    """Resource, before, after of each row that falls. Rows that an offer does not name stay (rule offer.again)."""
    for resource, had in sorted((grant.before or {}).items()):
        has = 0 if grant.after is None else grant.after.get(resource, had)
        if has < had:
            yield resource, had, has


def _amounts(lost: Sequence[Grant]) -> str:
    """`16 H100 GPUs, 64 vcpu and 2 offers`."""
    sums: Counter[str] = Counter()
    for grant in lost:
        for resource, had, has in _lowered(grant):
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
