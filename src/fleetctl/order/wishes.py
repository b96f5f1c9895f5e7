"""What is wished of the states in between, beyond the rules: no tenant below both its before and its after, no pool
above both. A wish is a soft edge; where wishes contradict rules or each other, some are given up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Literal, NamedTuple

from better_compute.domain.atoms import DEFAULT_OWNER_QUOTA
from better_compute.domain.commands import CreatePool, UnofferPool
from better_compute.domain.state import PoolState
from fleetctl.order.group import Group, QuotaCommand

Kind = Literal["gap", "below", "above"]

Part = tuple[int, int]
"""An operation and how much of one resource it raises or lowers, more than 0."""


class Wish(NamedTuple):
    """`then` should wait for `first`, else `amount` is missing while only `then` is done."""

    first: int
    then: int
    kind: Kind
    tenant_id: str
    gpu_model: str
    resource: str
    amount: int


Move = tuple[int, str, str, str, int]
"""An operation changes a tenant's quota of a model's resource by so much, whatever else is done: number, tenant, model,
resource, amount."""

Balance = tuple[list[Part], list[Part]]
"""The raises and the lowerings of what must not be below, or above, both its before and its after."""


def cover(needs: Sequence[Part], gives: Sequence[Part]) -> Iterator[tuple[int, int, int]]:
    """Which of `gives` each of `needs` waits for, and for how much: (give, need, amount).

    What `needs` amount to beyond `gives` waits for nothing: it is the change itself. Every part of the rest has a part
    of `gives` of its own, so whichever needs are done, the gives done cover them. No more edges than needs and gives.
    """
    spare = max(0, sum(amount for _, amount in needs) - sum(amount for _, amount in gives))
    supply = iter(gives)
    giver = left = 0
    for need, amount in needs:
        spared = min(spare, amount)
        spare -= spared
        amount -= spared
        while amount:
            if not left:
                giver, left = next(supply)
            part = min(left, amount)
            left -= part
            amount -= part
            yield giver, need, part


class Wishes:
    """The wishes of a plan, gathered pool by pool."""

    def __init__(self) -> None:
        self._found: list[Wish] = []
        self._tenants: dict[tuple[str, str, str], Balance] = {}
        self._mixed: set[int] = set()

    def gather(self, group: Group) -> None:
        changes = moves(group)
        if len(changes) > 1:
            self._found += _lower_first(group, changes)
            self._mixed |= {move[0] for move in changes if move[4] > 0} & {move[0] for move in changes if move[4] < 0}
        for number, tenant_id, model, resource, delta in across_models(group) if group.changes_model else changes:
            balance = self._tenants.setdefault((tenant_id, model, resource), ([], []))
            balance[delta < 0].append((number, abs(delta)))

    def all(self, bound: Collection[int]) -> list[Wish]:
        """Every wish. Operations that are `bound` by rules, or raise one thing and lower another, are the ones that
        can lie on a cycle: as lowerings they are spared first, as raises they are counted on last. Still a pairing is
        made before cycles are known: now and then a wish is given up that another pairing would have kept."""
        entangled = self._mixed.union(bound)
        found = self._found
        # Sorted, since the order of rows in files and answers must not decide which of two cycles is found.
        for key in sorted(key for key, (raises, lowers) in self._tenants.items() if raises and lowers):
            free_raises, raises = _by_amount(self._tenants[key][0], entangled)
            free_lowers, lowers = _by_amount(self._tenants[key][1], entangled)
            for first, then, amount in cover(lowers + free_lowers, free_raises + raises):
                found.append(Wish(first, then, "below", *key, amount))
        return found


def _by_amount(parts: list[Part], entangled: Collection[int]) -> tuple[list[Part], list[Part]]:
    """The parts that are not entangled, and those that are, small ones first: so equal ones meet, and what is spared
    spares as many operations as it can."""
    parts.sort(key=itemgetter(1))
    return [p for p in parts if p[0] not in entangled], [p for p in parts if p[0] in entangled]


def _lower_first(group: Group, changes: Iterable[Move]) -> Iterator[Wish]:
    """Quota that moves between tenants of one pool is lowered first."""
    pool: dict[str, Balance] = {}
    tenants: dict[int, str] = {}
    for number, tenant_id, _, resource, delta in changes:
        pool.setdefault(resource, ([], []))[delta < 0].append((number, abs(delta)))
        tenants[number] = tenant_id
    for resource in sorted(pool):
        raises, lowers = pool[resource]
        if raises and lowers:
            for first, then, amount in cover(raises, lowers):
                yield Wish(first, then, "above", tenants[then], group.model[1], resource, amount)


def gaps(group: Group) -> Iterator[Wish]:
    """What a singleTenant pool that changes tenants gives up from the start: that somebody holds it at any time.

    The tenant named is the one that leaves, the amount what it held of the pool's atom."""
    pool = group.live.pool
    if not all(group.single) or pool is None:
        return
    for (then, leaving), first in zip(group.unoffers.items(), group.firsts, strict=False):
        held = group.live.limits(leaving.to_tenant_id).get(pool.atom, 0)
        yield Wish(first, then, "gap", leaving.to_tenant_id, pool.gpu_model, pool.atom, held)


def moves(group: Group) -> list[Move]:
    """How each operation of a pool changes quotas; an update changes none.

    A quota counts where its tenant may book by it: in pools it owns or is offered. What stays frozen after a
    withdrawal, because it is in use, is no quota to count on, and depends on use, which an order must not.
    """
    found: list[Move] = []
    live, (_, model) = group.live, group.model
    for number, create in group.creates.items():
        _note(found, number, create.tenant_id, model, {}, _owner_quota(create))
    for number, command in group.grants:
        before = held(live, command.to_tenant_id)
        _note(found, number, command.to_tenant_id, model, before, quota_after(before, command))
    for number in group.archives:
        for tenant_id in _holders(live):
            _note(found, number, tenant_id, model, held(live, tenant_id), {})
    return found


def across_models(group: Group) -> list[Move]:
    """How operations change quotas of both models of a pool whose model an update changes.

    The update takes what each tenant holds at that time to the new model. Of a quota that is lowered next to it, only
    what stays is counted on, so that no third operation is asked to cover for what this pool itself gives and takes.
    """
    found: list[Move] = []
    live, (old, new) = group.live, group.model
    commands = {command.to_tenant_id: (number, command) for number, command in group.grants}
    for update in group.updates:
        for tenant_id in sorted({*_holders(live), *commands}):
            before = held(live, tenant_id)
            number, command = commands.get(tenant_id, (update, None))
            after = quota_after(before, command) if command else before
            stays = {resource: min(limit, after.get(resource, 0)) for resource, limit in before.items()}
            if number in group.early:
                _note(found, number, tenant_id, old, before, stays)
                _note(found, update, tenant_id, old, stays, {})
                _note(found, update, tenant_id, new, {}, after)
            else:
                _note(found, update, tenant_id, old, before, {})
                _note(found, update, tenant_id, new, {}, stays)
                _note(found, number, tenant_id, new, stays, after)
    return found


def held(live: PoolState, tenant_id: str) -> Mapping[str, int]:
    """A tenant's quota in a pool that it owns or is offered."""
    pool = live.pool
    if pool is None or pool.archived or (tenant_id != pool.owner_id and tenant_id not in live.offers):
        return {}
    return live.limits(tenant_id)


def quota_after(before: Mapping[str, int], command: QuotaCommand) -> Mapping[str, int]:
    """What a tenant holds afterwards: named rows are set, others stay (rule offer.again)."""
    return {} if isinstance(command, UnofferPool) else {**before, **command.quota}


def _note(
    found: list[Move], number: int, tenant_id: str, model: str, before: Mapping[str, int], after: Mapping[str, int]
) -> None:
    for resource in before if before.keys() >= after.keys() else {**before, **after}:
        if delta := after.get(resource, 0) - before.get(resource, 0):
            found.append((number, tenant_id, model, resource, delta))


def _owner_quota(create: CreatePool) -> Mapping[str, int]:
    return DEFAULT_OWNER_QUOTA if create.owner_quota is None else create.owner_quota


def _holders(live: PoolState) -> list[str]:
    """Everybody with a quota in a live pool, its owner included."""
    return [] if live.pool is None else sorted({live.pool.owner_id, *live.offers})
