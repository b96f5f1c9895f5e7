"""What a plan's operations do to what tenants may book: every change of quota rows, one list for guards and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from better_compute.domain.atoms import ATOMS, UNLIMITED
from better_compute.domain.commands import CreatePool, UpdatePool
from better_compute.domain.nodes import schedulable_atoms
from better_compute.domain.state import Pool, QuotaRow, Rollup
from fleetctl.live import Live
from fleetctl.plan.make import Plan
from fleetctl.plan.operation import Operation


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """The site, the model and the atom of a pool before the plan, or as it is created; and its model after the plan. No
    atom: its sharing mode is none.

    `schedulable` are the atoms that its machines make, `new_schedulable` those that they make by the policy after the
    plan; None: nobody knows, for no machine has joined, or the policy does not say how a GPU is split.
    """

    site_id: str
    gpu_model: str
    atom: str | None
    new_model: str
    schedulable: int | None = None
    new_schedulable: int | None = None

    @property
    def changes_model(self) -> bool:
        return self.new_model != self.gpu_model


@dataclass(frozen=True, slots=True)
class Grant:
    """What one operation does to the rows of one tenant; None: no offer on that side. `rows`: those there are, with
    what is in use, also where a withdrawal left them."""

    operation: Operation
    tenant_id: str
    facts: PoolFacts
    before: Mapping[str, int] | None
    after: Mapping[str, int] | None
    rows: Mapping[str, QuotaRow] = field(default_factory=dict)

    @property
    def atoms(self) -> tuple[int, int]:
        """The limit of the pool's own atom, before and after. Rows of other atoms grant nothing (rule quota.value)."""
        return self._limit(self.before), self._limit(self.after)

    @property
    def kept(self) -> int:
        """The limit after, of atoms such as those before: GPUs of a pool that gets another model are others."""
        return 0 if self.facts.changes_model else self.atoms[1]

    @property
    def takes_all(self) -> bool:
        """Whether there were GPUs, and none of them is left."""
        return self.atoms[0] > 0 == self.kept

    def lowered(self) -> Iterator[tuple[str, int, int]]:
        """Resource, before, after of each row that falls. Rows that an offer does not name stay (rule offer.again)."""
        for resource, had in sorted((self.before or {}).items()):
            has = 0 if self.after is None else self.after.get(resource, had)
            if resource == self.facts.atom:
                has = self.kept
            if has < had:
                yield resource, had, has

    def below_use(self) -> Iterator[tuple[str, int, int]]:
        """Resource, used, after of each row that drops under what is in use. A withdrawal never does that (rule
        unoffer.quota); a first offer sets the rows whole, also those that a withdrawal left."""
        if self.after is None:
            return
        for resource, row in sorted(self.rows.items()):
            limit = self.after.get(resource, 0 if self.before is None else row.max)
            if limit < min(row.used, row.max):
                yield resource, row.used, limit

    def withdrawn(self) -> int:
        """How many of the pool's atoms the tenant may book no more. Of an unlimited row those count that there are, or
        that are in use where these are more."""
        had, _ = self.atoms
        if had == UNLIMITED:
            row = self.rows.get(self.facts.atom or "")
            had = max(self.facts.schedulable or 0, row.used if row else 0)
        return max(0, had - self.kept)

    @property
    def is_uncounted(self) -> bool:
        """Whether an unlimited row is lowered and nobody knows how many atoms there are: more may be lost than is
        `withdrawn`."""
        return self.atoms[0] == UNLIMITED > self.kept and self.facts.schedulable is None

    def _limit(self, rows: Mapping[str, int] | None) -> int:
        return 0 if self.facts.atom is None else (rows or {}).get(self.facts.atom, 0)


class Pools:
    """The facts of every pool that a plan is about; `live` is what the plan was made from."""

    def __init__(self, plan: Plan, live: Live) -> None:
        self.plan, self.live = plan, live
        self._born = {o.pool_id: o.command for o in plan.operations if isinstance(o.command, CreatePool)}
        self._updates = {o.pool_id: o.command for o in plan.operations if isinstance(o.command, UpdatePool)}
        self._known: dict[str, PoolFacts] = {}

    def of(self, pool_id: str) -> PoolFacts:
        """Raises KeyError for a pool that is neither live nor to be created."""
        if pool_id not in self._known:
            self._known[pool_id] = self._found(pool_id)
        return self._known[pool_id]

    def _found(self, pool_id: str) -> PoolFacts:
        state, born = self.live.pools.get(pool_id), self._born.get(pool_id)
        if state is not None and state.pool is not None:
            pool, update = state.pool, self._updates.get(pool_id)
            new = pool if update is None else _updated(pool, update)
            return PoolFacts(
                pool.site_id,
                pool.gpu_model,
                ATOMS.get(pool.sharing),
                new.gpu_model,
                schedulable(pool, state.rollup),
                schedulable(new, state.rollup),
            )
        if born is not None:
            return PoolFacts(born.site_id, born.gpu_model, ATOMS.get(born.sharing), born.gpu_model)
        raise KeyError(pool_id)


def schedulable(pool: Pool, rollup: Rollup) -> int | None:
    """The atoms that the machines of a pool make. None where nobody knows: no machine has joined, or the policy does
    not say how a GPU is split."""
    return schedulable_atoms(pool, rollup) or None


def grants(pools: Pools) -> Iterator[Grant]:
    """Every change of rows, the owner's included, in the plan's order. An archive takes all offers of its pool, and
    another model changes what those mean that no other operation touches."""
    plan, live = pools.plan, pools.live
    own = {operation.subject for operation in plan.operations}
    for operation in plan.operations:
        pool_id, action = operation.pool_id, operation.action
        facts = pools.of(pool_id)
        if operation.to_tenant_id is not None:
            before, after = _quota(operation.before), _quota(operation.after)
            rows = live.pools[pool_id].rows(operation.to_tenant_id) if pool_id in live.pools else {}
            yield Grant(operation, operation.to_tenant_id, facts, before, after, rows)
        elif action == "archive" or (action == "update" and facts.changes_model):
            for tenant_id in live.others(pool_id):
                if (pool_id, tenant_id) not in own:
                    state = live.pools[pool_id]
                    limits = state.limits(tenant_id)
                    after = None if action == "archive" else limits
                    yield Grant(operation, tenant_id, facts, limits, after, state.rows(tenant_id))


def _quota(terms: Mapping[str, Any] | None) -> Mapping[str, int] | None:
    return None if terms is None else terms["quota"]


def _updated(pool: Pool, update: UpdatePool) -> Pool:
    model, policy = update.gpu_model, update.policy
    return replace(
        pool,
        gpu_model=pool.gpu_model if model is None else model,
        policy=pool.policy if policy is None else policy,
    )
