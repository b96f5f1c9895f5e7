"""Which edges go so that no cycle is left."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetctl.order import arrange, rules
from fleetctl.order.untangle import HARD, SOFT, WEAK, Waits, untangle
from tests.fleetctl.order.fleets import Wanted, change


def test_what_waits_for_nothing_is_taken_smallest_first() -> None:
    assert untangle(4, {0: {3: HARD}, 1: {0: SOFT}}).sequence == [2, 3, 0, 1]


def test_a_weak_edge_goes_before_a_soft_one() -> None:
    found = untangle(3, {0: {1: SOFT}, 1: {2: WEAK}, 2: {0: SOFT}})
    assert found.dropped == {(2, 1)}
    assert found.sequence == [1, 0, 2]


def test_a_soft_edge_goes_before_a_hard_one() -> None:
    assert untangle(2, {0: {1: HARD}, 1: {0: SOFT}}).dropped == {(0, 1)}


def test_of_equal_edges_the_one_into_the_smallest_operation_goes() -> None:
    assert untangle(3, {0: {1: SOFT}, 1: {2: SOFT}, 2: {0: SOFT}}).dropped == {(1, 0)}


def test_a_weak_edge_is_kept_where_a_soft_one_has_to_go_anyway() -> None:
    waits = {0: {1: SOFT}, 1: {2: WEAK, 0: SOFT}, 2: {}}
    assert untangle(3, waits).dropped == {(1, 0)}
    assert waits[1] == {2: WEAK, 0: SOFT}


def test_a_cycle_of_hard_edges_is_reported_from_its_smallest_operation_on() -> None:
    found = untangle(4, {1: {3: HARD}, 3: {2: HARD}, 2: {1: HARD}, 0: {2: HARD}})
    assert found.cycles == [(1, 2, 3)]
    assert sorted(found.sequence) == [0, 1, 2, 3]


def test_rules_that_contradict_each_other_refuse_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    found = change({}, {"p": Wanted(offers={"acme": 8})})
    assert arrange(found.commands, found.live).cycles == ()
    turned = {**rules.RULES, "turned": lambda group: ((n, create) for create in group.creates for n in group.offers)}
    monkeypatch.setattr(rules, "RULES", turned)
    assert arrange(found.commands, found.live).cycles == ((0, 1),)


@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_whatever_the_edges_everything_is_taken_after_what_it_still_waits_for(rng: Random, count: int) -> None:
    waits = random_waits(rng, count)
    given = {(first, then): strength for then, firsts in waits.items() for first, strength in firsts.items()}
    found = untangle(count, waits)
    kept = {(first, then) for then, firsts in waits.items() for first in firsts}
    place = {n: at for at, n in enumerate(found.sequence)}
    assert sorted(place) == list(range(count))
    assert kept | found.dropped == given.keys()
    assert all(place[first] < place[then] for first, then in kept)
    assert sum(given[edge] == HARD for edge in found.dropped) == len(found.cycles)


def random_waits(rng: Random, count: int) -> Waits:
    waits: Waits = {}
    for _ in range(rng.randint(0, 3 * count)):
        first, then = rng.randrange(count), rng.randrange(count)
        if first != then:
            waits.setdefault(then, {})[first] = rng.choice((WEAK, SOFT, HARD))
    return waits
