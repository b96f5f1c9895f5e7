"""What an operation says of itself: its precondition, what it changes, what it does to what runs, what undoes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from better_compute.domain.atoms import UNLIMITED
from fleetctl.plan import Operation, Plan
from tests.model import ControlPlane, desired, entry, fleet


def offer(tenant: str, gpus: int, **fields: Any) -> dict[str, Any]:
    return {"toTenantId": tenant, "quota": {"gpu": gpus}, **fields}


@pytest.fixture
def plane() -> ControlPlane:
    """A pool that is offered to acme, with 6 of its 8 GPUs in use."""
    made = ControlPlane()
    made.run(made.plan(desired(fleet(entry("fra1-a", offers=[offer("acme", 8)], policy={"note": "old"})))))
    rows = next(iter(made.pools.values())).quotas["acme"]
    rows["gpu"] = replace(rows["gpu"], used=6)
    return made


def plan(plane: ControlPlane, **fields: Any) -> Plan:
    """The one pool, otherwise as it is."""
    usual = {"offers": [offer("acme", 8)], "policy": {"note": "old"}}
    return plane.plan(desired(fleet(entry("fra1-a", **{**usual, **fields}))))


def only(made: Plan) -> Operation:
    (operation,) = made.operations
    return operation


def test_a_pool_as_wished_has_none(plane: ControlPlane) -> None:
    assert plan(plane).operations == ()


def test_a_create_carries_its_key_and_says_the_owners_default_quota() -> None:
    made = only(ControlPlane().plan(desired(fleet(entry("fra1-a")))))
    assert (made.action, made.severity, made.reason.code) == ("create", "safe", "new")
    assert made.precondition == {"version": 0, "idempotencyKey": "fra1-a"}
    assert (made.before, made.after["ownerQuota"]) == (None, {"gpu": UNLIMITED})
    assert (made.inverse.action, made.inverse.why) == ("archive", "which spends the key")


def test_an_update_names_only_what_changes_and_can_be_undone(plane: ControlPlane) -> None:
    made = only(plan(plane, policy={"note": "new"}))
    assert (made.action, made.precondition, made.severity) == ("update", {"version": 1}, "safe")
    assert (made.before, made.after) == ({"policy": {"note": "old"}}, {"policy": {"note": "new"}})
    assert (made.inverse.action, made.inverse.after) == ("update", made.before)


def test_another_model_is_told_as_an_effect(plane: ControlPlane) -> None:
    made = only(plan(plane, gpuModel="H200"))
    assert (made.before, made.after, made.severity) == ({"gpuModel": "H100"}, {"gpuModel": "H200"}, "lowers")
    assert "meters and authorization follow the new model" in made.effects


def test_an_offer_below_use_says_so_and_names_rows_that_go_with_0(plane: ControlPlane) -> None:
    made = only(plan(plane, offers=[{"toTenantId": "acme", "quota": {"gpu": 4, "vcpu": 16}}]))
    assert (made.action, made.severity) == ("offer", "lowers")
    assert made.effects == ("gpu: 4 is below the 6 in use; bookings stay, nothing new fits",)
    plane.run(plan(plane, offers=[{"toTenantId": "acme", "quota": {"gpu": 4, "vcpu": 16}}]))
    assert only(plan(plane)).after["quota"] == {"gpu": 8, "vcpu": 0}


def test_a_first_offer_tells_what_it_takes_of_rows_that_a_withdrawal_left(plane: ControlPlane) -> None:
    plane.run(plan(plane, offers=[]))
    made = only(plan(plane, offers=[{"toTenantId": "acme", "quota": {"vcpu": 8}}]))
    assert made.effects == ("gpu: 0 is below the 6 in use; bookings stay, nothing new fits",)
    assert only(plan(plane, offers=[offer("acme", 8)])).effects == ()


def test_what_is_left_of_an_unlimited_row_is_not_counted(plane: ControlPlane) -> None:
    """While two tenants of a pool swap what they hold, and no order is right."""
    one, other = {"gpu": UNLIMITED, "vcpu": 1}, {"gpu": 8, "vcpu": UNLIMITED}
    swap = [{"acme": one, "globex": other}, {"acme": other, "globex": one}]
    before, after = ([{"toTenantId": t, "quota": q} for t, q in each.items()] for each in swap)
    plane.run(plan(plane, offers=before))
    effects = [effect for made in plan(plane, offers=after).operations for effect in made.effects]
    assert [e.partition(" more ")[0] for e in effects if "promised" in e] in (
        ["any number of gpu"],
        ["any number of vcpu"],
    )


def test_a_changed_offer_is_undone_by_the_old_terms_with_0_for_rows_that_are_new(plane: ControlPlane) -> None:
    made = only(plan(plane, offers=[{"toTenantId": "acme", "quota": {"vcpu": 16}, "priority": 7}]))
    assert made.inverse.action == "offer"
    assert made.inverse.after == {**made.before, "quota": {"gpu": 8, "vcpu": 0}}


def test_a_new_offer_says_that_there_must_be_none_and_is_undone_by_its_withdrawal(plane: ControlPlane) -> None:
    made = only(plan(plane, offers=[offer("acme", 8), offer("globex", 8, priority=5)]))
    assert (made.subject[1], made.before, made.precondition) == ("globex", None, {"offerVersion": 0})
    assert made.after == {"quota": {"gpu": 8}, "priority": 5, "includeDescendants": False}
    assert made.inverse.action == "unoffer"


def test_a_withdrawal_tells_what_stays_in_use_and_is_undone_by_the_old_offer(plane: ControlPlane) -> None:
    made = only(plan(plane, offers=[]))
    assert (made.action, made.severity, made.reason.code) == ("unoffer", "withdraws", "unstated")
    assert made.effects == ("acme no longer sees the pool", "6 gpu in use stay booked")
    assert (made.inverse.action, made.inverse.after) == ("offer", made.before)
    assert made.precondition == {"offerVersion": plane.pools[made.pool_id].offers["acme"].version}


def test_the_owners_quota_is_set_exactly(plane: ControlPlane) -> None:
    made = only(plan(plane, ownerQuota={"vcpu": 8}))
    assert (made.action, made.after, made.severity) == ("setQuota", {"quota": {"gpu": 0, "vcpu": 8}}, "lowers")
    assert made.precondition == {"ownerQuotaVersion": 1}
    assert (made.inverse.action, made.inverse.after) == ("setQuota", {"quota": {"vcpu": 0, "gpu": UNLIMITED}})


def test_an_archive_stands_alone_and_cannot_be_undone(plane: ControlPlane) -> None:
    made = only(plane.plan(desired(fleet({"idempotencyKey": "fra1-a", "archived": True}))))
    assert (made.action, made.severity) == ("archive", "irreversible")
    assert made.effects == (
        "cannot be undone: no pool can have this key again",
        "withdraws what it offers to acme",
        "6 gpu in use stay booked",
    )
    pool = plane.pools[made.pool_id].pool
    assert pool is not None
    assert made.precondition == {"version": pool.version, "offersVersion": pool.offers_version}
    assert (made.inverse.action, bool(made.inverse.why)) == (None, True)


def test_a_pool_that_cannot_become_as_wished_has_no_operation_at_all(plane: ControlPlane) -> None:
    made = plan(plane, siteId="site_ams1", policy={"note": "new"}, offers=[])
    assert made.operations == ()
    assert [(f.rule, f.path) for f in made.findings] == [("pool.key", "pools[fra1-a].siteId")]
    assert made.blocked


def test_a_pool_that_is_silent_on_its_offers_is_not_changed_in_part(plane: ControlPlane) -> None:
    made = plane.plan(desired(fleet(entry("fra1-a", policy={"note": "new"}, ownerQuota={"gpu": 1}))))
    assert made.operations == ()
    assert [f.rule for f in made.findings] == ["fleet.offersUnstated"]


def test_no_two_operations_share_a_subject(plane: ControlPlane) -> None:
    made = plan(plane, policy={}, ownerQuota={"gpu": 1}, offers=[offer("globex", 1)])
    assert len({operation.subject for operation in made.operations}) == len(made.operations) == 4
