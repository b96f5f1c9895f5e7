"""The rules of reservations, each by its name, and the steps of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from better_compute.domain import events
from better_compute.domain.atoms import ATOMS, CLASSES, UNLIMITED
from better_compute.domain.events import (
    ReservationActivated,
    ReservationEnded,
    ReservationFailed,
    ReservationPending,
    ReservationPlaced,
)
from better_compute.domain.problems import Problem
from better_compute.domain.reservations import (
    MOST_PENDING,
    MOST_PENDING_OF_ONE,
    Reservation,
    State,
    activate,
    add_use,
    atoms_of,
    canonical,
    check_again,
    check_atoms,
    check_class,
    check_pending,
    check_room,
    check_wish,
    end,
    fail,
    place,
    shown_reason,
    wait,
    why_failed,
)
from better_compute.domain.state import PoolState, QuotaRow
from tests.builders import NOW, a_pool, a_reservation, an_offer


def paths(problems: list[Problem]) -> list[tuple[str, str, str]]:
    return [(p.code, p.rule, p.path) for p in problems]


@pytest.mark.parametrize("amount", [1, 8, UNLIMITED])
def test_a_whole_number_of_a_known_resource_may_be_asked_for(amount: int) -> None:
    assert check_wish({"gpu": amount, "vcpu": amount}) == []


@pytest.mark.parametrize("amount", [0, -1, True, False, 1.0, "1", None, UNLIMITED + 1, [1]], ids=repr)
def test_anything_else_may_not(amount: Any) -> None:
    assert paths(check_wish({"gpu": amount})) == [("INVALID_INPUT", "reservation.resources", "resources.gpu")]


def test_an_unknown_resource_is_told_with_the_nearest() -> None:
    [problem] = check_wish({"gpu": 1, "memoryGib": 4})
    assert (problem.path, problem.hint) == ("resources.memoryGib", 'did you mean "memoryGiB"?')


def test_a_wish_of_nothing_but_names_is_told_once() -> None:
    assert len(check_wish({f"r{n}": 1 for n in range(1000)})) == 1


@pytest.mark.parametrize("class_", CLASSES)
def test_a_pool_is_of_a_class_that_has_hosts(class_: str) -> None:
    refused = [("INVALID_INPUT", "reservation.class", "poolId")] if class_ in ("infra", "provider") else []
    assert paths(check_class(class_)) == refused


@pytest.mark.parametrize("sharing", ATOMS)
def test_atoms_are_those_of_the_pools_mode_and_one_at_least(sharing: str) -> None:
    own = ATOMS[sharing]
    assert check_atoms({own: 1, "vcpu": 4}, sharing) == []
    assert paths(check_atoms({"vcpu": 4}, sharing)) == [("INVALID_INPUT", "reservation.atoms", "resources")]
    for other in set(ATOMS.values()) - {own}:
        for asked in ({other: 1}, {own: 1, other: 1}):
            [problem] = check_atoms(asked, sharing)
            assert (problem.rule, problem.path) == ("reservation.atoms", f"resources.{other}")
            assert problem.hint == f"use {own}"


def test_atoms_and_scalars_are_told_apart() -> None:
    wish = a_reservation(resources={"gpu.mig": 3, "vcpu": 4})
    assert atoms_of(wish.resources) == 3
    assert wish.scalars == {"vcpu": 4}


def test_selectors_are_sets_of_values_that_keep_their_type() -> None:
    assert canonical({"b": "x", "a": [2, "1", 1, 2]}) == {"a": (1, 2, "1"), "b": ("x",)}
    assert list(canonical({"b": 1, "a": 1})) == ["a", "b"]
    assert canonical({"a": [1]}) == canonical({"a": 1}) != canonical({"a": "1"})


def test_the_same_again_with_a_key_is_no_conflict_in_whatever_order() -> None:
    held = a_reservation(resources={"gpu": 1, "vcpu": 2}, selectors=canonical({"a": [1, 2], "b": "x"}))
    assert check_again(held, "pool_1", {"vcpu": 2, "gpu": 1}, canonical({"b": ["x"], "a": [2, 1]})) == []


@pytest.mark.parametrize(
    ("pool_id", "resources", "selectors", "field"),
    [
        ("pool_2", {"gpu": 1}, {"a": 1}, "poolId"),
        ("pool_1", {"gpu": 2}, {"a": 1}, "resources"),
        ("pool_1", {"gpu": 1, "vcpu": 1}, {"a": 1}, "resources"),
        ("pool_1", {"gpu": 1}, {}, "selectors"),
        ("pool_1", {"gpu": 1}, {"a": "1"}, "selectors"),
        ("pool_1", {"gpu": 1}, {"a": [1, 2]}, "selectors"),
    ],
)
def test_something_else_with_a_key_is_a_conflict(
    pool_id: str, resources: dict[str, int], selectors: dict[str, Any], field: str
) -> None:
    held = a_reservation(selectors=canonical({"a": 1}))
    found = check_again(held, pool_id, resources, canonical(selectors))
    assert paths(found) == [("CONFLICT", "reservation.key", field)]


def test_what_fits_the_quota_to_the_last_passes_and_one_more_does_not() -> None:
    rows = {"gpu": QuotaRow(8, 6), "vcpu": QuotaRow(4)}
    assert check_room(rows, {"gpu": 2, "vcpu": 4}) == []
    assert paths(check_room(rows, {"gpu": 3, "vcpu": 5})) == [
        ("LIMIT_EXCEEDED", "quota.exact", "resources.gpu"),
        ("LIMIT_EXCEEDED", "quota.exact", "resources.vcpu"),
    ]


def test_a_row_below_its_use_has_nothing_available() -> None:
    [problem] = check_room({"gpu": QuotaRow(8, 20)}, {"gpu": 1})
    assert problem.message == "0 gpu of 8 are available, and 1 are asked for"


def test_a_missing_row_and_a_row_of_0_grant_nothing() -> None:
    assert paths(check_room({}, {"gpu": 1})) == [("LIMIT_EXCEEDED", "quota.missing", "resources.gpu")]
    assert paths(check_room({"gpu": QuotaRow(0)}, {"gpu": 1})) == [("LIMIT_EXCEEDED", "quota.exact", "resources.gpu")]


def test_a_booking_is_added_to_what_is_used() -> None:
    rows = {"gpu": QuotaRow(8, 6), "vcpu": QuotaRow(4, 1)}
    assert add_use(rows, {"gpu": 2}) == {"gpu": QuotaRow(8, 8), "vcpu": QuotaRow(4, 1)}


def test_so_many_may_be_pending() -> None:
    assert check_pending(MOST_PENDING - 1, MOST_PENDING_OF_ONE - 1) == []
    assert "a tenant has at most 1000" in check_pending(MOST_PENDING_OF_ONE, MOST_PENDING_OF_ONE)[0].message
    assert "a pool has at most 10000" in check_pending(MOST_PENDING, 0)[0].message


def state(**pool: Any) -> PoolState:
    return PoolState(pool=a_pool(**pool), offers={"acme": an_offer()})


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("held", "tenant_id", "now", "why"),
    [
        (state(), "acme", NOW + 10**12, None),
        (state(), "root", NOW, None),
        (state(), "globex", NOW, "PoolGone"),
        (state(archived_at=NOW), "root", NOW, "PoolGone"),
        (PoolState(), "acme", NOW, "PoolGone"),
        (state(policy={"maxPending": "6h"}), "acme", NOW + 6 * HOUR, None),
        (state(policy={"maxPending": "6h"}), "acme", NOW + 6 * HOUR + 1, "maxPending"),
        (state(policy={"maxPending": "6h"}), "acme", NOW - HOUR, None),
        (state(policy={"maxPending": "6h"}), "globex", NOW + 7 * HOUR, "PoolGone"),
        (state(policy={"maxPending": "six hours"}), "acme", NOW + 10**12, None),
    ],
)
def test_what_may_not_wait_any_more(held: PoolState, tenant_id: str, now: int, why: str | None) -> None:
    assert why_failed(held, a_reservation(tenant_id=tenant_id), now) == why


def test_a_pending_one_in_an_archived_pool_says_so_whatever_is_kept() -> None:
    waiting = a_reservation(reason="quota")
    assert shown_reason(waiting, archived=True) == "the pool is archived"
    assert shown_reason(waiting, archived=False) == "quota"
    assert shown_reason(replace(waiting, state="placed", reason=None), archived=True) is None


def at(state: State) -> Reservation:
    return a_reservation(state=state, reason="why")


STEPS: dict[str, Any] = {
    "placed": lambda r: place(r, "node_1", NOW + 1),
    "active": lambda r: activate(r, NOW + 1),
    "ended": lambda r: end(r, NOW + 1),
    "failed": lambda r: fail(r, "maxPending", NOW + 1),
}
ALLOWED = {
    ("pending", "placed"): ReservationPlaced,
    ("pending", "ended"): ReservationEnded,
    ("pending", "failed"): ReservationFailed,
    ("placed", "active"): ReservationActivated,
    ("placed", "ended"): ReservationEnded,
    ("placed", "failed"): ReservationFailed,
    ("active", "ended"): ReservationEnded,
}


@pytest.mark.parametrize("then", STEPS)
@pytest.mark.parametrize("first", get_args(State))
def test_a_step_is_allowed_and_told_or_a_fault(first: State, then: str) -> None:
    before = at(first)
    if (first, then) not in ALLOWED:
        with pytest.raises(ValueError, match=f"is {first} does not become {then}"):
            STEPS[then](before)
        return
    after = STEPS[then](before)
    assert after.state == then
    assert after.reason == ("maxPending" if then == "failed" else None), "a reason lasts as long as its state"
    event = events.of_reservation("root", before, after)
    assert type(event) is ALLOWED[first, then]
    assert (event.owner_id, event.pool_id, event.to_tenant_id) == ("root", "pool_1", "acme")


def test_steps_note_when_they_were() -> None:
    placed = place(at("pending"), "node_1", NOW + 1)
    assert (placed.node_id, placed.placed_at, placed.since) == ("node_1", NOW + 1, NOW + 1)
    ended = end(activate(placed, NOW + 2), NOW + 3)
    assert (ended.placed_at, ended.activated_at, ended.ended_at) == (NOW + 1, NOW + 2, NOW + 3)
    assert fail(placed, "x", NOW + 4).ended_at == NOW + 4


@pytest.mark.parametrize("back", [0, 1, HOUR])
def test_no_step_is_before_the_one_that_it_follows_whatever_the_clock_says(back: int) -> None:
    pending = at("pending")
    placed = place(pending, "node_1", NOW - back)
    active = activate(replace(placed, placed_at=NOW + 5), NOW + 5 - back)
    assert (pending.since, placed.placed_at, active.activated_at) == (NOW, NOW, NOW + 5)
    assert end(replace(active, activated_at=NOW + 9), NOW + 9 - back).ended_at == NOW + 9
    assert fail(replace(placed, placed_at=NOW + 9), "x", NOW + 9 - back).ended_at == NOW + 9
    assert fail(pending, "x", NOW - back).ended_at == end(pending, NOW - back).ended_at == NOW


def test_a_new_one_is_told_as_pending_or_placed_and_a_new_reason_is_not() -> None:
    new = a_reservation()
    assert isinstance(events.of_reservation("root", None, new), ReservationPending)
    placed = events.of_reservation("root", None, place(new, "node_1", 1))
    assert isinstance(placed, ReservationPlaced)
    assert placed.before is None
    assert events.of_reservation("root", new, wait(new, "quota")) is None
    assert events.of_reservation("root", at("placed"), wait(at("placed"), "billing could not be asked")) is None


@pytest.mark.parametrize(
    ("state", "live", "booked"),
    [
        ("pending", True, False),
        ("placed", True, True),
        ("active", True, True),
        ("ended", False, False),
        ("failed", False, False),
    ],
)
def test_what_lives_and_what_holds_something(state: State, live: bool, booked: bool) -> None:
    assert (at(state).is_live, at(state).is_booked) == (live, booked)
