"""Every state that an ordering admits, and the laws such states keep. Each law finds what breaks it."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator

from better_compute.domain.decide import decide
from better_compute.domain.facts import Facts, Site
from better_compute.domain.problems import Refused
from better_compute.domain.state import PoolState
from fleetctl.order import Ordering, arrange
from tests.fleetctl.order.fleets import ROOT, TENANTS, Change

FACTS = Facts(
    actor_id="sa_fleet",
    now=1_800_000_000_000,
    sites={"site_fra1": Site("site_fra1", ROOT, "shared", "eu-central")},
    tenants=dict.fromkeys((ROOT, *TENANTS), "active"),
    accounts={},
    attestors=frozenset({"join-token"}),
)

Amounts = Counter[tuple[str, str, str]]
"""By tenant or pool, model and resource."""


class States:
    """Each set of done operations, as bits, that holds what its members wait for, and the pools as they then are.

    Pools do not touch each other, so a state is kept for each pool and set of its own operations.
    """

    def __init__(self, change: Change, ordering: Ordering | None = None) -> None:
        self.change = change
        self.ordering = ordering or arrange(change.commands, change.live)
        self.last = (1 << len(change.commands)) - 1
        self._waits = [sum(1 << n for n in depends_on) for depends_on in self.ordering.depends_on]
        self.pools = dict.fromkeys(change.live, 0)
        for n, command in enumerate(change.commands):
            self.pools[command.pool_id] = self.pools.get(command.pool_id, 0) | 1 << n
        self._known: dict[tuple[str, int], PoolState] = {}
        self._refusals: dict[tuple[int, int], str] = {}
        self.sets = list(self._sets())

    def _sets(self) -> Iterator[int]:
        found = {0}
        while found:
            yield from sorted(found)
            found = {done | 1 << n for done in found for n in self.next(done)}

    def next(self, done: int) -> list[int]:
        """The operations that may be done then."""
        return [n for n, waits in enumerate(self._waits) if not done >> n & 1 and done & waits == waits]

    def pool(self, pool_id: str, done: int) -> PoolState:
        """The pool once its operations in `done` are done, in the ordering's sequence."""
        key = pool_id, done & self.pools[pool_id]
        if key not in self._known:
            state = self.change.live.get(pool_id) or PoolState()
            newest = next((n for n in reversed(self.ordering.sequence) if key[1] >> n & 1), None)
            if newest is not None:
                state = copy.deepcopy(self.pool(pool_id, key[1] & ~(1 << newest)))
                self._do(state, newest)
            self._known[key] = state
        return self._known[key]

    def refusal(self, done: int, n: int) -> str:
        """Why the control plane would refuse an operation then; empty when it would not."""
        pool_id = self.change.commands[n].pool_id
        key = done & self.pools[pool_id], n
        if key not in self._refusals:
            self._refusals[key] = self._do(copy.deepcopy(self.pool(pool_id, done)), n)
        return self._refusals[key]

    def _do(self, state: PoolState, n: int) -> str:
        answer = decide(state, self.change.commands[n], FACTS)
        if isinstance(answer, Refused):
            return f"{type(self.change.commands[n]).__name__}: {answer.problems[0].message}"
        state.apply(answer.delta)
        return ""

    def tenants(self, done: int) -> Amounts:
        """What each tenant may book by: quotas of pools that it owns or is offered."""
        return _sum(((tenant, model, r), n) for _, tenant, model, r, n in self._quotas(done))

    def promised(self, done: int) -> Amounts:
        """What each pool promises to all its tenants, whatever its model."""
        return _sum(((pool_id, "", r), n) for pool_id, _, _, r, n in self._quotas(done))

    def _quotas(self, done: int) -> Iterator[tuple[str, str, str, str, int]]:
        for pool_id in self.pools:
            state = self.pool(pool_id, done)
            if (pool := state.pool) and not pool.archived:
                for tenant_id in {pool.owner_id, *state.offers}:
                    for resource, limit in state.limits(tenant_id).items():
                        yield pool_id, tenant_id, pool.gpu_model, resource, limit

    def told(self, done: int, kind: str) -> Amounts:
        """What was given up and is missing then, by tenant; by pool for what is too much."""
        commands = self.change.commands
        return _sum(
            ((commands[g.then].pool_id, "", g.resource), g.amount)
            if kind == "above"
            else ((g.tenant_id, g.gpu_model, g.resource), g.amount)
            for g in self.ordering.given_up
            if g.kind == kind and done >> g.then & 1 and not done >> g.first & 1
        )


def broken_rules(states: States) -> list[str]:
    """Whatever is done, each operation that may come next is legal."""
    return [
        f"after {done:b}: {why}" for done in states.sets for n in states.next(done) if (why := states.refusal(done, n))
    ]


def tenants_below(states: States) -> list[str]:
    """No tenant holds less than before and than after, but for what is told."""
    before, after = states.tenants(0), states.tenants(states.last)
    return [
        f"after {done:b}: {key} has {now[key]}"
        for done in states.sets
        for now, told in [(states.tenants(done), states.told(done, "below"))]
        for key in before
        if now[key] + told[key] < min(before[key], after[key])
    ]


def pools_above(states: States) -> list[str]:
    """No pool promises more than before and than after, but for what is told."""
    before, after = states.promised(0), states.promised(states.last)
    return [
        f"after {done:b}: {key} has {now[key]}"
        for done in states.sets
        for now, told in [(states.promised(done), states.told(done, "above"))]
        for key in now
        if now[key] - told[key] > max(before[key], after[key])
    ]


def pools_left(states: States) -> list[str]:
    """A pool that is singleTenant throughout, and held before and after, is held in between, but for what is told."""
    told = {states.change.commands[g.then].pool_id for g in states.ordering.given_up if g.kind == "gap"}
    return [
        f"after {done:b}: nobody holds {pool_id}"
        for pool_id in states.pools.keys() - told
        if all(_single_and_held(states.pool(pool_id, done)) for done in (0, states.last))
        for done in states.sets
        if not states.pool(pool_id, done).others
    ]


def out_of_order(states: States) -> list[str]:
    """The sequence has each operation once, after all those it waits for; so nothing waits for itself."""
    sequence = states.ordering.sequence
    if sorted(sequence) != list(range(len(states.change.commands))):
        return [f"not each operation once: {sequence}"]
    place = {n: at for at, n in enumerate(sequence)}
    return [
        f"{then} is not after {first}"
        for then, firsts in enumerate(states.ordering.depends_on)
        for first in firsts
        if place[first] >= place[then]
    ]


def needless(states: States) -> list[str]:
    """What was given up could not be had next to the rest: `first` waits for `then`, be it through others."""
    found = []
    for g in states.ordering.given_up:
        waits, seen = [g.first], {g.first}
        while waits:
            more = set(states.ordering.depends_on[waits.pop()]) - seen
            seen |= more
            waits += more
        if g.then not in seen:
            found.append(str(g))
    return found


LAWS: tuple[Callable[[States], list[str]], ...] = (
    broken_rules,
    tenants_below,
    pools_above,
    pools_left,
    out_of_order,
)


def _single_and_held(state: PoolState) -> bool:
    return bool(state.pool and state.pool.policy.get("singleTenant") and not state.pool.archived and state.others)


def _sum(pairs: Iterator[tuple[tuple[str, str, str], int]]) -> Amounts:
    total: Amounts = Counter()
    for key, amount in pairs:
        total[key] += amount
    return total
