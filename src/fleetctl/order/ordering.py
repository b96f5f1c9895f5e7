"""Which operation waits for which, and what no order can give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from better_compute.domain.commands import Command
from better_compute.domain.state import PoolState
from fleetctl.order.group import canonical, groups
from fleetctl.order.rules import hard_edges
from fleetctl.order.untangle import HARD, SOFT, WEAK, Waits, untangle
from fleetctl.order.wishes import Kind, Wish, Wishes, gaps

_FEW = 8
"""How many operations another one waits for are looked through for edges that are implied."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A wish that rules or other wishes contradict: `then` does not wait for `first`, and while it alone is done
    `amount` of `resource` of the model is missing (kinds `gap`, `below`) or too much (`above`).

    `gap`: a singleTenant pool changes tenants, so nobody holds it in between; the tenant is the one that leaves.
    `below`: the tenant holds less than before and than after. `above`: a pool promises more than before and than
    after; the tenant is the one that is raised.
    """

    kind: Kind
    first: int
    then: int
    tenant_id: str
    gpu_model: str
    resource: str
    amount: int


@dataclass(frozen=True, slots=True)
class Ordering:
    """All numbers are positions in the commands given. `sequence` is an order to run them in; `depends_on` has for each
    command, sorted, those it waits for, without what these wait for already where that is cheap to see.

    Every set of done operations that `depends_on` admits is legal. Where `cycles` is not empty, rules contradict
    each other: the plan is to be refused, and the rest only shows it.
    """

    sequence: tuple[int, ...]
    depends_on: tuple[tuple[int, ...], ...]
    given_up: tuple[GivenUp, ...]
    cycles: tuple[tuple[int, ...], ...]


def arrange(
    commands: Sequence[Command], live: Mapping[str, PoolState], replaced: Mapping[str, str] | None = None
) -> Ordering:
    """Order the operations of a plan by dependency, whatever order they come in.

    `live` holds the pools they concern as they are, whole; one that is missing is not born. A plan has at most one
    operation for each action, pool and tenant, and an offer names rows that are to go with 0. `replaced`: id of a pool
    that is archived -> id of the one that takes its place, all of whose operations come first.
    """
    order = canonical(commands)
    waits = _heirs_first([commands[n] for n in order], replaced or {})
    wishes = Wishes()
    bound: set[int] = set()
    lost: list[Wish] = []
    for group in groups([commands[n] for n in order], live):
        for first, then in hard_edges(group):
            waits.setdefault(then, {})[first] = HARD
            if first not in group.creates:
                bound |= {first, then}
        wishes.gather(group)
        lost += gaps(group)
    wished = wishes.all(bound)
    for wish in wished:
        waits.setdefault(wish.then, {}).setdefault(wish.first, SOFT if wish.kind == "below" else WEAK)
    untangled = untangle(len(order), waits)
    if untangled.dropped:
        lost += [wish for wish in wished if (wish.first, wish.then) in untangled.dropped]
    depends_on: list[tuple[int, ...]] = [()] * len(order)
    for then, firsts in waits.items():
        needed = firsts.keys() - _implied(firsts, waits) if len(firsts) > 1 else firsts
        depends_on[order[then]] = tuple(sorted(order[first] for first in needed))
    return Ordering(
        sequence=tuple(order[n] for n in untangled.sequence),
        depends_on=tuple(depends_on),
        given_up=tuple(_given_up(wish, order) for wish in sorted(lost, key=lambda w: (w.then, w.first, w))),
        cycles=tuple(tuple(order[n] for n in cycle) for cycle in untangled.cycles),
    )


def _heirs_first(commands: Sequence[Command], replaced: Mapping[str, str]) -> Waits:
    """What takes a pool's place is there, whole, before the pool goes. No other operation waits for such an archive,
    so that no cycle comes of it."""
    waits: Waits = {}
    heirs = set(replaced.values())
    own: dict[str, list[int]] = {}
    for number, command in enumerate(commands):
        if command.pool_id in heirs:
            own.setdefault(command.pool_id, []).append(number)
    for number, command in enumerate(commands):
        if command.pool_id in replaced:
            waits[number] = dict.fromkeys(own.get(replaced[command.pool_id], ()), HARD)
    return {then: firsts for then, firsts in waits.items() if firsts}


def _given_up(wish: Wish, order: Sequence[int]) -> GivenUp:
    first, then, kind, tenant_id, gpu_model, resource, amount = wish
    return GivenUp(kind, order[first], order[then], tenant_id, gpu_model, resource, amount)


def _implied(firsts: Iterable[int], waits: Waits) -> set[int]:
    """What those that an operation waits for wait for themselves."""
    found: set[int] = set()
    for first in firsts:
        if len(beyond := waits.get(first, ())) <= _FEW:
            found.update(beyond)
    return found
