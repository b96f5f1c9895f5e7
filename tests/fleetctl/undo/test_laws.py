"""Apply and then undo is what was before, and undo of that what was after: over generated fleets and live states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings

from fleetctl import identity
from fleetctl.apply.journal import Outcome
from fleetctl.comparison.compare import Asked
from fleetctl.desired import Desired
from fleetctl.plan import Operation, Plan, make
from fleetctl.plan import operations as making
from fleetctl.plan.digest import canonical_after
from fleetctl.report.apply_file import applied
from fleetctl.report.of_apply import of_apply
from fleetctl.undo import Done, wish
from tests.fleetctl.plan.test_laws import terms_of, worlds
from tests.fleetctl.report.world import a_header
from tests.fleets import Fleet
from tests.model import ControlPlane, desired, entry, fleet

Terms = dict[str, Any]


def done(plan: Plan) -> Sequence[Done]:
    """What the report of its apply tells, all of which was done."""
    outcomes = [Outcome(operation, "done") for operation in plan.operations]
    return applied(of_apply(plan, outcomes, a_header(), "hand", None)).operations


def way_back(plane: ControlPlane, files: Desired, undoing: Sequence[Done]) -> Plan:
    live = plane.live()
    settled = identity.settle(files, live.pools).desired
    return make(wish.desired(settled, live, undoing, undoing), live, Asked(undoes="d" * 64))


def standing(plane: ControlPlane) -> Terms:
    """What each live pool promises."""
    live = {pool_id for pool_id, state in plane.pools.items() if state.pool and not state.pool.archived}
    return {pool_id: terms_of(plane, pool_id) for pool_id in live}


def check_inverses(told: Sequence[Done], back: Plan) -> None:
    """What takes each operation back is what its inverse says, and there is nothing else. The archive of a pool takes
    the rest of it along."""
    gone = {one.pool_id for one in told if one.inverse.action == "archive"}
    wanted = {
        (one.inverse.action, one.subject): canonical_after(one.inverse.after)
        for one in told
        if one.inverse.action == "archive" or (one.inverse.action and one.pool_id not in gone)
    }
    made = {(o.action, o.subject): canonical_after(o.after) for o in back.operations}
    assert made == wanted, "the way back is another than the inverses say"


def law(plane: ControlPlane, fleet: Fleet) -> bool:
    """Whether there was something to hold: the rules may refuse what is wished."""
    files, before = desired(fleet), standing(plane)
    plan = plane.plan(files)
    if not (plan.operations and plane.allows(plan)):
        return False
    told = done(plan)
    assert all(one.inverse.action or one.inverse.why for one in told)
    plane.run(plan)
    after, born = standing(plane), {o.pool_id for o in plan.operations if o.action == "create"}

    back = way_back(plane, files, told)
    check_inverses(told, back)
    assert plane.allows(back)
    plane.run(back)
    lost = {o.pool_id for o in plan.operations if o.action == "archive"}
    kept = {pool_id: terms for pool_id, terms in before.items() if pool_id not in lost}
    assert standing(plane) == kept, "it is otherwise than before"
    assert all(wish.is_back(one, plane.pools.get(one.pool_id)) for one in told if one.inverse.action)
    assert not way_back(plane, files, told).operations

    forth = way_back(plane, files, done(back))
    check_inverses(done(back), forth)
    plane.run(forth)
    assert standing(plane) == {pool_id: terms for pool_id, terms in after.items() if pool_id not in born}
    return True


@given(worlds())
@settings(max_examples=90, deadline=None)
def test_apply_then_undo_is_what_was_before_and_undo_of_that_what_was_after(world: tuple[ControlPlane, Fleet]) -> None:
    assume(law(*world))


@pytest.mark.long
@given(worlds())
@settings(max_examples=5000, deadline=None)
def test_apply_then_undo_is_what_was_before_over_thousands_of_changes(world: tuple[ControlPlane, Fleet]) -> None:
    assume(law(*world))


def an_offer_that_is_raised() -> tuple[ControlPlane, Fleet]:
    plane = ControlPlane()
    few, many = ([{"toTenantId": "acme", "quota": {"gpu": gpus}}] for gpus in (4, 8))
    plane.run(plane.plan(desired(fleet(entry("a", offers=few)))))
    return plane, fleet(entry("a", offers=many))


def test_the_law_holds_for_an_offer_that_is_raised() -> None:
    assert law(*an_offer_that_is_raised())


def test_an_inverse_with_a_wrong_row_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what would take an operation back forgets one row's limit."""
    real = making._restored

    def restored(before: Any, quota: Any) -> Any:
        terms: Any = real(before, quota)
        return {**terms, "quota": {resource: limit + 1 for resource, limit in terms["quota"].items()}}

    monkeypatch.setattr(making, "_restored", restored)
    with pytest.raises(AssertionError, match=r"^it is otherwise than before"):
        law(*an_offer_that_is_raised())


def test_a_wish_that_lets_what_is_new_stay_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: an offer that the apply made is not withdrawn."""
    plane = ControlPlane()
    plane.run(plane.plan(desired(fleet(entry("a", offers=[])))))
    real: Any = wish._entry

    def keeping(*given: Any) -> Any:
        *rest, undoing = given
        return real(*rest, [one for one in undoing if one.inverse.action != "unoffer"])

    monkeypatch.setattr(wish, "_entry", keeping)
    with pytest.raises(AssertionError, match=r"^the way back is another"):
        law(plane, fleet(entry("a", offers=[{"toTenantId": "acme", "quota": {"gpu": 4}}])))


def by_action(operations: Sequence[Operation]) -> dict[str, Operation]:
    return {operation.action: operation for operation in operations}


def test_every_kind_of_operation_has_an_inverse_but_an_archive() -> None:
    plane = ControlPlane()
    kept = entry("b", offers=[{"toTenantId": t, "quota": {"gpu": 4}} for t in ("acme", "globex")])
    plane.run(plane.plan(desired(fleet(entry("a"), kept))))
    offers = [{"toTenantId": t, "quota": {"gpu": 8}} for t in ("acme", "initech")]
    changed = entry("b", offers=offers, ownerQuota={"gpu": 1}, policy={"maxPending": "6h"})
    files = fleet({"idempotencyKey": "a", "archived": True}, changed, entry("c"))
    plan = plane.plan(desired(files))
    inverses = {o.action: o.inverse.action for o in plan.operations if o.before is None or o.action != "offer"}
    assert inverses == {
        "archive": None,
        "update": "update",
        "setQuota": "setQuota",
        "unoffer": "offer",
        "offer": "unoffer",
        "create": "archive",
    }
    assert by_action(plan.operations)["archive"].inverse.why
    assert law(plane, files)
