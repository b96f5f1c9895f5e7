"""Laws of the ordering, over small random fleets and every set of done operations; and that each law can fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from better_compute.domain.commands import Command, OfferPool, SetQuota
from fleetctl.order import GivenUp, arrange, ordering, rules, wishes
from fleetctl.order.untangle import Untangled
from tests.fleetctl.order.fleets import ROOT, Change, Wanted, change, random_change, wide
from tests.fleetctl.order.laws import (
    LAWS,
    States,
    broken_rules,
    needless,
    out_of_order,
    pools_above,
    pools_left,
    tenants_below,
)
from tests.fleetctl.order.shapes import everything_contradicts

Fleet = Mapping[str, Wanted]

_P, _Q = "pool_p", "pool_q"
NEEDED: dict[str, tuple[Fleet, Fleet]] = {
    "a pool is created before anything else is done to it": ({}, {_P: Wanted(offers={"acme": 8})}),
    "offers are withdrawn before the policy becomes singleTenant": (
        {_P: Wanted(offers={"acme": 8, "globex": 8})},
        {_P: Wanted(single=True, offers={"acme": 8})},
    ),
    "an offer drops includeDescendants before the policy becomes singleTenant": (
        {_P: Wanted(offers={"acme": wide(8)})},
        {_P: Wanted(single=True, offers={"acme": 8})},
    ),
    "the policy stops being singleTenant before a second offer": (
        {_P: Wanted(single=True, offers={"acme": 8})},
        {_P: Wanted(offers={"acme": 8, "globex": 8})},
    ),
    "the policy stops being singleTenant before an offer gains includeDescendants": (
        {_P: Wanted(single=True, offers={"acme": 8})},
        {_P: Wanted(offers={"acme": wide(8)})},
    ),
    "one tenant leaves a singleTenant pool before the next one comes": (
        {_P: Wanted(single=True, offers={"acme": 0})},
        {_P: Wanted(single=True, offers={"globex": 8})},
    ),
}
"""For each rule the smallest change that needs it."""

MODEL = "the model changes between withdrawals and grants"
LAST = "a pool is archived after everything else"

SWAP = change(
    {_P: Wanted(offers={"acme": 32, "globex": 16}), _Q: Wanted(offers={"acme": 16, "globex": 32})},
    {_P: Wanted(offers={"acme": 16, "globex": 32}), _Q: Wanted(offers={"acme": 32, "globex": 16})},
)
MOVE = change(
    {_P: Wanted(offers={"acme": 32}), _Q: Wanted(offers={"acme": 8})},
    {_P: Wanted(offers={"acme": 8}), _Q: Wanted(offers={"acme": 32})},
)


def broken(states: States) -> dict[str, list[str]]:
    return {law.__name__: found for law in LAWS if (found := law(states))}


@given(st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_every_state_in_between_keeps_the_laws(rng: Random) -> None:
    states = States(random_change(rng))
    assert broken(states) == {}
    assert states.ordering.cycles == ()


def test_nothing_is_given_up_that_the_rest_would_allow() -> None:
    found = [States(random_change(Random(seed))) for seed in range(200)]
    assert sum(len(states.ordering.given_up) for states in found) > 10
    assert [needless(states) for states in found if needless(states)] == []


@given(st.randoms(use_true_random=False), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_input_changes_nothing(rng: Random, shuffle: Random) -> None:
    found = random_change(rng)
    assert told(found) == told(shuffled(found, shuffle))


def test_the_order_of_quota_rows_does_not_decide_what_is_given_up() -> None:
    knot = everything_contradicts(200)
    assert told(knot) == told(shuffled(knot, Random(1)))


def test_without_sorting_the_rows_their_order_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    knot = everything_contradicts(200)
    monkeypatch.setattr(wishes, "sorted", list, raising=False)
    assert told(knot) != told(shuffled(knot, Random(1)))


def shuffled(found: Change, rng: Random) -> Change:
    """The same change with its commands, pools, offers and quota rows in another order."""
    commands = [_turned(command) for command in rng.sample(found.commands, len(found.commands))]
    states = {
        pool_id: replace(
            state,
            offers=dict(reversed(state.offers.items())),
            quotas={t: dict(reversed(rows.items())) for t, rows in reversed(state.quotas.items())},
        )
        for pool_id, state in reversed(found.live.items())
    }
    return Change(commands, states)


def _turned(command: Command) -> Command:
    if isinstance(command, OfferPool | SetQuota):
        return replace(command, quota=dict(reversed(list(command.quota.items()))))
    return command


def told(found: Change) -> tuple[object, ...]:
    """An ordering in words that do not depend on where the commands stand in the input."""
    result = arrange(found.commands, found.live)
    named = [(type(c).__name__, c.pool_id, getattr(c, "to_tenant_id", "")) for c in found.commands]
    return (
        [named[n] for n in result.sequence],
        [{named[n] for n in result.depends_on[n]} for n in result.sequence],
        [replace(given_up, first=0, then=0) for given_up in result.given_up],
        [(named[g.first], named[g.then]) for g in result.given_up],
    )


@pytest.mark.parametrize("rule", NEEDED)
def test_without_a_rule_some_state_is_illegal(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = NEEDED[rule]
    assert broken(States(change(before, after))) == {}
    without(rule, monkeypatch)
    assert broken_rules(States(change(before, after))) != []


def test_without_archive_last_a_change_of_an_archived_pool_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    archived = change({_P: Wanted()}, {_P: Wanted(archived=True)})
    archive = replace(archived.commands[0], expected_version=None, expected_offers_version=None)  # type: ignore[call-arg]
    quota = SetQuota(tenant_id=ROOT, pool_id=_P, to_tenant_id=ROOT, quota={"gpu": 1})
    both = Change([archive, quota], archived.live)
    assert broken_rules(States(both)) == []
    without(LAST, monkeypatch)
    assert broken_rules(States(both)) != []


def test_without_the_model_rule_a_quota_counts_under_a_model_it_is_not_of(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = change(
        {_P: Wanted(offers={"acme": 8}), _Q: Wanted(model="H200", offers={"acme": 12})},
        {_P: Wanted(model="H200", offers={"acme": 12}), _Q: Wanted(model="H200", offers={"acme": 8})},
    )
    assert broken(States(moved)) == {}
    without(MODEL, monkeypatch)
    assert tenants_below(States(moved)) != []


def test_every_rule_is_needed_by_a_test() -> None:
    assert {*NEEDED, MODEL, LAST} == {*rules.RULES}


def without(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "RULES", {name: edges for name, edges in rules.RULES.items() if name != rule})


def nothing(*_: object) -> Iterator[object]:
    return iter(())


def test_without_raising_first_a_tenant_is_below_both(monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken(States(MOVE)) == {}
    monkeypatch.setattr(wishes, "cover", nothing)
    assert tenants_below(States(MOVE)) != []


def test_without_lowering_first_a_pool_is_above_both(monkeypatch: pytest.MonkeyPatch) -> None:
    within = change(
        {_P: Wanted(offers={"acme": 32, "globex": 8})},
        {_P: Wanted(offers={"acme": 8, "globex": 32})},
    )
    assert broken(States(within)) == {}
    monkeypatch.setattr(wishes, "cover", nothing)
    assert pools_above(States(within)) != []


def test_what_is_given_up_and_not_told_is_found() -> None:
    swap = States(SWAP)
    silent = replace(swap.ordering, given_up=())
    assert pools_above(swap) == []
    assert pools_above(States(SWAP, silent)) != []


def test_a_tenant_that_is_below_both_and_not_told_is_found() -> None:
    pools = {
        _P: (Wanted(single=True, offers={"acme": 8}), Wanted(single=True, offers={"globex": 8})),
        _Q: (Wanted(single=True, offers={"globex": 8}), Wanted(single=True, offers={"acme": 8})),
    }
    swap = States(change({p: pair[0] for p, pair in pools.items()}, {p: pair[1] for p, pair in pools.items()}))
    assert broken(swap) == {}
    silent = States(swap.change, replace(swap.ordering, given_up=()))
    assert tenants_below(silent) != []
    assert pools_left(silent) != []


def test_a_needless_loss_is_found() -> None:
    idle = replace(
        States(MOVE).ordering,
        depends_on=((), ()),
        given_up=(GivenUp("below", 0, 1, "acme", "H100", "gpu", 24),),
    )
    assert needless(States(MOVE, idle)) != []


def test_a_sequence_against_its_edges_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert out_of_order(States(MOVE)) == []
    monkeypatch.setattr(ordering, "untangle", lambda count, _: Untangled(list(range(count)), set(), []))
    assert out_of_order(States(MOVE)) != []


def test_without_the_canonical_order_the_input_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    both = change({_P: Wanted()}, {_P: Wanted(offers={"acme": 8, "globex": 8})})
    turned = Change(both.commands[::-1], both.live)
    assert told(both) == told(turned)
    monkeypatch.setattr(ordering, "canonical", lambda commands: list(range(len(commands))))
    assert told(both) != told(turned)


@pytest.mark.long
def test_4000_random_fleets_keep_the_laws(capsys: pytest.CaptureFixture[str]) -> None:
    sets, kinds = 0, Counter[str]()
    for seed in range(4000):
        states = States(random_change(Random(seed)))
        assert (seed, broken(states), needless(states)) == (seed, {}, [])
        sets += len(states.sets)
        kinds.update(given_up.kind for given_up in states.ordering.given_up)
    assert all(kinds[kind] > 10 for kind in ("gap", "below", "above")), kinds
    with capsys.disabled():
        print(f"\n4000 fleets, {sets} sets of done operations, given up: {dict(kinds)}")
