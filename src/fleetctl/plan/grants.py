"""What a plan's operations do to what tenants may book: every change of quota rows, one list for guards and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from better_compute.domain.atoms import ATOMS
from better_compute.domain.commands import CreatePool, UpdatePool
from fleetctl.live import Live
from fleetctl.plan.make import Plan
from fleetctl.plan.operation import Operation


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """The site, the model and the atom of a pool before the plan, or as it is created; and its model after the plan. No
    atom: its sharing mode is none."""

    site_id: str
    gpu_model: str
    atom: str | None
    new_model: str

    @property
    def changes_model(self) -> bool:
        return self.new_model != self.gpu_model


@dataclass(frozen=True, slots=True)
class Grant:
    """What one operation does to the rows of one tenant; None: no offer on that side."""

    operation: Operation
    tenant_id: str
    facts: PoolFacts
    before: Mapping[str, int] | None
    after: Mapping[str, int] | None

    @property
    def atoms(self) -> tuple[int, int]:
        """The limit of the pool's own atom, before and after. Rows of other atoms grant nothing (rule quota.value)."""
        return self._limit(self.before), self._limit(self.after)

    def lowered(self) -> Iterator[tuple[str, int, int]]:
        """Resource, before, after of each row that falls. Rows that an offer does not name stay (rule offer.again);
        GPUs of a pool that gets another model are those of the old one no more."""
        for resource, had in sorted((self.before or {}).items()):
            has = 0 if self.after is None else self.after.get(resource, had)
            if resource == self.facts.atom and self.facts.changes_model:
                has = 0
            if has < had:
                yield resource, had, has

    def _limit(self, rows: Mapping[str, int] | None) -> int:
        return 0 if self.facts.atom is None else (rows or {}).get(self.facts.atom, 0)


class Pools:
    """The facts of every pool that a plan is about."""

    def __init__(self, plan: Plan, live: Live) -> None:
        self._live = live
        self._born = {o.pool_id: o.command for o in plan.operations if isinstance(o.command, CreatePool)}
        self._renamed = {
            o.pool_id: o.command.gpu_model
            for o in plan.operations
            if isinstance(o.command, UpdatePool) and o.command.gpu_model is not None
        }

    def of(self, pool_id: str) -> PoolFacts:
        state, born = self._live.pools.get(pool_id), self._born.get(pool_id)
        if state is not None and state.pool is not None:
            pool = state.pool
            model = self._renamed.get(pool_id, pool.gpu_model)
            return PoolFacts(pool.site_id, pool.gpu_model, ATOMS.get(pool.sharing), model)
        if born is not None:
            return PoolFacts(born.site_id, born.gpu_model, ATOMS.get(born.sharing), born.gpu_model)
        raise KeyError(pool_id)


def grants(plan: Plan, live: Live, pools: Pools) -> Iterator[Grant]:
    """Every change of rows, the owner's included, in the plan's order. An archive takes all offers of its pool, and
    another model changes what those mean that no other operation touches."""
    own = {operation.subject for operation in plan.operations}
    for operation in plan.operations:
        pool_id, action = operation.pool_id, operation.action
        facts = pools.of(pool_id)
        if operation.to_tenant_id is not None:
            before, after = _quota(operation.before), _quota(operation.after)
            yield Grant(operation, operation.to_tenant_id, facts, before, after)
        elif action == "archive" or (action == "update" and facts.changes_model):
            for tenant_id in live.others(pool_id):
                if (pool_id, tenant_id) not in own:
                    limits = live.pools[pool_id].limits(tenant_id)
                    yield Grant(operation, tenant_id, facts, limits, None if action == "archive" else limits)


def _quota(terms: Mapping[str, Any] | None) -> Mapping[str, int] | None:
    return None if terms is None else terms["quota"]
