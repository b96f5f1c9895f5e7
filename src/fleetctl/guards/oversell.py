"""The guard of oversell: what tenants may book of a pool's atoms, against those that its machines make.

The final state counts, and none between: a pool over the limit after the plan blocks it, also where it was so before,
as soon as the plan lets any tenant book more of it, or makes less of it. A plan that only takes back, or changes
something else of the pool, sells nothing: it is told and passes, so that quotas can be lowered in steps, as
`maxGpusWithdrawn` asks, and machines that fail hold up no other change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.problems import BLOCKED, UNCHECKED, Problem, Source
from fleetctl.consequences.grants import PoolFacts
from fleetctl.guards.tally import Case, Tally
from fleetctl.plan import Operation
from fleetctl.words import count, listed


@dataclass(frozen=True, slots=True)
class Sold:
    """A pool that a plan touches, and the sum of what tenants may book of it, the owner left out, on both sides.
    `raises`: some tenant may book more of it, whatever others lose. `first` is the operation that raises one the most;
    where none does the one that changes what the machines make, else the pool's first. `stated`: where its entry is."""

    first: Operation
    raises: bool
    stated: Source
    facts: PoolFacts
    before: int
    after: int

    @property
    def ratio(self) -> Fraction | None:
        there = self.facts.new_schedulable
        return None if there is None else Fraction(self.after, there)

    @property
    def is_of_plan(self) -> bool:
        """Whether the plan answers for what is sold after it: it promises more to somebody, makes less of what there
        is, or makes known how much that is."""
        had, has = self.facts.schedulable, self.facts.new_schedulable
        return self.raises or had is None or has is None or has < had

    @property
    def is_more(self) -> bool:
        """Whether the plan promises more, or makes unknown what there is of it."""
        return self.after > self.before or (self.facts.schedulable is not None and self.after > 0)

    def __str__(self) -> str:
        sold = "unlimited" if self.after >= UNLIMITED else f"{self.after:,}"
        ratio = "" if self.after >= UNLIMITED or self.ratio is None else f", {float(self.ratio):.2f} times"
        return f"{self.first.name} ({sold} of {self.facts.new_schedulable:,}{ratio})"


def touched(case: Case) -> list[Sold]:
    """The pools that the plan changes, in its order; none where there is no limit."""
    if case.guards.max_oversell is None:
        return []
    deltas: dict[str, int] = {}
    raised: dict[str, tuple[int, Operation]] = {}
    for grant in case.grants:
        if grant.tenant_id != case.live.tenant_id:
            before, after = grant.atoms
            pool_id = grant.operation.pool_id
            deltas[pool_id] = deltas.get(pool_id, 0) + after - before
            if after - before > raised.get(pool_id, (0,))[0]:
                raised[pool_id] = after - before, grant.operation
    found = []
    for pool_id, operation in _first(case).items():
        facts, sold, entry = case.pools.of(pool_id), _sold(case, pool_id), case.desired.entries.get(pool_id)
        raises = pool_id in raised
        first = raised[pool_id][1] if raises else operation
        stated = entry.place.source() if entry else operation.source
        found.append(Sold(first, raises, stated, facts, sold, sold + deltas.get(pool_id, 0)))
    return found


def _first(case: Case) -> dict[str, Operation]:
    """By pool: the operation that changes what its machines make, else its first one."""
    first: dict[str, Operation] = {}
    for operation in case.plan.operations:
        facts = case.pools.of(operation.pool_id)
        if operation.action == "update" and facts.schedulable != facts.new_schedulable:
            first[operation.pool_id] = operation
        first.setdefault(operation.pool_id, operation)
    return first


def tallies(pools: Sequence[Sold], limit: float | None) -> Iterator[Tally]:
    """Pools over the limit after the plan that are so by it."""
    if limit is not None and (found := [sold for sold in over(pools, limit) if sold.is_of_plan]):
        yield Tally(
            name="oversell",
            number=len(found),
            limit=0,
            says=f"{count(len(found), 'pool')} oversold: {listed([str(sold) for sold in found], 'pool')}",
            may=f"maxOversell is {limit:g}",
            first=found[0].first,
        )


def told(pools: Sequence[Sold], limit: float | None) -> list[Problem]:
    """What a limit cannot be held against, and what was over it before the plan and still is, by no doing of it."""
    if limit is None:
        return []
    found = []
    if blind := [sold for sold in pools if sold.ratio is None and sold.is_more]:
        names = listed([sold.first.name for sold in blind], "pool")
        message = f"no GPU is known to be there, so maxOversell was not held against what is sold: {names}"
        source = blind[0].first.source
        found.append(Problem(UNCHECKED, "guard.oversell", message, severity="unchecked", source=source))
    if still := [sold for sold in over(pools, limit) if not sold.is_of_plan]:
        names = listed([str(sold) for sold in still], "pool")
        message = f"over maxOversell of {limit:g} before this plan, which lets nobody book more: {names}"
        found.append(Problem(BLOCKED, "guard.oversell", message, severity="warning", source=still[0].stated))
    return found


def over(pools: Sequence[Sold], limit: float) -> list[Sold]:
    """Those of which more is sold than the limit lets."""
    # The decimal number that the files write: the nearest binary one to 1.15 is less.
    most = Fraction(str(limit))
    return [sold for sold in pools if sold.ratio is not None and sold.ratio > most]


def _sold(case: Case, pool_id: str) -> int:
    state = case.live.pools.get(pool_id)
    if state is None or state.pool is None:
        return 0
    return sum(state.limits(tenant_id).get(state.pool.atom, 0) for tenant_id in case.live.others(pool_id))
