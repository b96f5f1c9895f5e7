"""The states of an object, told from its events: which of them an undo brought back."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.problems import Source
from fleetctl.history import LastEvent
from fleetctl.plan import Inverse, Scope
from fleetctl.undo import Applied, Done
from fleetctl.undo.trace import Trace, traced

OFFER = ("pool_a", "acme")
SCOPE = Scope(derivation="d", instance_id="i", fleet="f", tenant_id="root", caller="sa_fleet")
DONE = Done(
    n=1,
    action="offer",
    key="a",
    subject=OFFER,
    digest="o1",
    is_done=True,
    is_found=False,
    inverse=Inverse("unoffer"),
    source=Source("fleet.yaml", 1, 1),
)
APPLIED = Applied(scope=SCOPE, digest="d1", commit=None, sequence=0, operations=(DONE,), report={})
OWN = {"digest": "d1", "operation": "o1"}
LATER = {"digest": "d2", "operation": "o2"}


def event(actor: str = "sa_fleet", kind: str = "pool.offered", subject: Any = OFFER, **via: Any) -> LastEvent:
    return LastEvent(type=kind, subject=subject, actor_id=actor, time=1, sequence=1, via=via)


def trace(*events: LastEvent) -> Trace:
    found = traced(APPLIED, events).of(OFFER)
    assert found is not None
    return found


def is_as_left(*events: LastEvent) -> bool:
    found = trace(*events)
    return found.now == found.left_by.get("o1")


def test_what_nobody_moved_is_as_the_operation_left_it() -> None:
    assert is_as_left(event(**OWN))
    assert is_as_left(event("sa_hand"), event(**OWN))


@pytest.mark.parametrize(
    "via",
    [
        {},
        LATER,
        {"digest": "d1"},
        {"digest": "d1", "operation": ["o1"]},
        {"digest": "d9", "operation": "o1"},
        {"undoes": "d9"},
    ],
)
def test_whatever_else_happened_moved_it(via: dict[str, Any]) -> None:
    assert not is_as_left(event(**OWN), event(**via))


def test_whoever_else_says_to_be_the_apply_is_not() -> None:
    assert not is_as_left(event("sa_hand", **OWN))
    assert is_as_left(event("sa_hand", **OWN), event(**OWN))


def test_an_undo_of_what_came_later_brings_it_back() -> None:
    assert is_as_left(event(**OWN), event(**LATER), event(digest="u2", undoes="d2"))
    later = [event(**LATER), event(digest="d3"), event(digest="u3", undoes="d3"), event(digest="u2", undoes="d2")]
    assert is_as_left(event(**OWN), *later)


def test_an_undo_of_something_else_than_came_last_brings_nothing_back() -> None:
    assert not is_as_left(event(**OWN), event(**LATER), event(digest="d3"), event(digest="u2", undoes="d2"))
    assert not is_as_left(event(**OWN), event(**LATER), event("sa_hand"), event(digest="u2", undoes="d2"))


def test_an_undo_that_is_taken_back_leaves_it_as_it_was() -> None:
    taken_back = [event(**OWN), event(digest="u1", undoes="d1")]
    assert not is_as_left(*taken_back)
    assert trace(*taken_back).is_own
    assert is_as_left(*taken_back, event(digest="r1", undoes="u1"))


def test_what_was_taken_back_and_done_again_is_another_applys() -> None:
    assert not is_as_left(event(**OWN), event(digest="u1", undoes="d1"), event(**OWN))


@pytest.mark.parametrize("via", [{"undoes": "d2"}, {"undoes": ["d2"]}, {"undoes": None}])
def test_an_undo_that_another_caller_tells_of_is_any_change(via: dict[str, Any]) -> None:
    assert not is_as_left(event(**OWN), event(**LATER), event("sa_hand", **via))
    assert not is_as_left(event(**OWN), event("sa_hand"), event("sa_hand", undoes="None"))


def test_the_archive_of_a_pool_moves_its_offers_too() -> None:
    assert not is_as_left(event(**OWN), event(kind="pool.archived", subject=("pool_a", None)))
    assert is_as_left(event(**OWN), event(kind="pool.archived", subject=("pool_b", None)))
