"""What moved since the base: the files, or the live state."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.commands import OfferPool, SetQuota, UnofferPool, UpdatePool
from fleetctl.plan import Plan
from tests.fleetctl.comparison.compared import TOMB, base, planned, told
from tests.fleetctl.test_identity import offered, plane, pool_id
from tests.fleets import OWNER
from tests.model import ControlPlane, entry


def causes(made: Plan) -> dict[str, tuple[str, ...]]:
    return {line: o.causes for line, o in zip(told(made), made.operations, strict=True)}


def by_path(made: Plan) -> dict[str, str | None]:
    return {change.path: change.cause for o in made.operations for change in o.changes}


def test_what_the_files_moved_is_intent_and_what_the_live_state_moved_is_drift() -> None:
    was = (offered("a", policy={"x": 1, "y": 1}), offered("b"))
    live = plane(*was)
    live.do(UpdatePool(tenant_id=OWNER, pool_id=pool_id("a"), policy={"x": 1, "y": 2}))
    live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("b"), to_tenant_id="acme", quota={"gpu": 7}, priority=3))
    made = planned(live, offered("a", policy={"x": 2, "y": 1}), offered("b"), base=base(*was))
    assert causes(made) == {"update a": ("intent", "drift"), "offer b to acme": ("drift",)}
    assert by_path(made) == {
        "policy.x": "intent",
        "policy.y": "drift",
        "quota.gpu": "drift",
        "priority": "drift",
    }


def test_without_a_base_no_cause_is_known() -> None:
    made = planned(plane(offered("a")), offered("a", 9))
    assert (causes(made), by_path(made)) == ({"offer a to acme": ()}, {"quota.gpu": None})


@pytest.mark.parametrize(
    ("was", "now", "after"),
    [
        ({"policy": {"a": {"b": 1}}}, {"policy": {"a": 5}}, {"policy.a": "intent"}),
        ({"policy": {"a": 1}}, {"policy": {"a": {"b": 5}}}, {"policy.a": "intent"}),
        ({"gpuModel": "H100"}, {"gpuModel": "H200"}, {"gpuModel": "intent"}),
        ({}, {"ownerQuota": {"gpu": 1}}, {"ownerQuota.gpu": "intent"}),
    ],
)
def test_a_change_is_told_at_whatever_depth_it_is(was: dict[str, Any], now: dict[str, Any], after: Any) -> None:
    live = plane(entry("a", offers=[], **was))
    made = planned(live, entry("a", offers=[], **now), base=base(entry("a", offers=[], **was)))
    assert by_path(made) == after


def test_offers_and_pools_that_come_and_go_have_their_causes() -> None:
    live = plane(entry("a", offers=[{"toTenantId": t, "quota": {"gpu": 1}} for t in ("acme", "globex")]))
    was = (entry("a", offers=[{"toTenantId": t, "quota": {"gpu": 1}} for t in ("globex", "initech")]), offered("gone"))
    now = (entry("a", offers=[{"toTenantId": t, "quota": {"gpu": 1}} for t in ("initech", "umbrella")]), *was[1:])
    made = planned(live, *now, offered("new"), base=base(*was))
    assert causes(made) == {
        "unoffer a to acme": ("drift",),
        "unoffer a to globex": ("intent",),
        "offer a to initech": ("drift",),
        "offer a to umbrella": ("intent",),
        "create gone": ("drift",),
        "offer gone to acme": ("drift",),
        "create new": ("intent",),
        "offer new to acme": ("intent",),
    }


def test_archives_have_the_cause_of_what_asks_for_them() -> None:
    dead = {"idempotencyKey": "a", **TOMB}
    live = plane(offered("a"))
    assert causes(planned(live, dead, base=base(offered("a")))) == {"archive a": ("intent",)}
    assert causes(planned(live, dead, base=base(dead))) == {"archive a": ("drift",)}


# Where both moved, neither hides the other.


def test_a_quota_that_both_moved_is_of_both_and_of_files_alone_where_live_is_as_it_was() -> None:
    live = plane(offered("a", 24), offered("b", 24), offered("c", 24))
    live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("a"), to_tenant_id="acme", quota={"gpu": 64, "vcpu": 5}))
    live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("c"), to_tenant_id="acme", quota={"gpu": 64}))
    now = (offered("a", 32), offered("b", 32), offered("c", 24))
    made = planned(live, *now, base=base(*(offered(key, 24) for key in "abc")))
    assert causes(made) == {
        "offer a to acme": ("intent", "drift"),
        "offer b to acme": ("intent",),
        "offer c to acme": ("drift",),
    }
    [first] = [operation for operation in made.operations if operation.name == "a"]
    assert {c.path: c.cause for c in first.changes} == {"quota.gpu": "both", "quota.vcpu": "drift"}


def test_every_field_that_both_moved_is_of_both() -> None:
    def wished(owner: int, priority: int, descendants: bool, policy: Any) -> dict[str, Any]:
        offer = {"toTenantId": "acme", "quota": {"gpu": 1}, "priority": priority, "includeDescendants": descendants}
        return entry("a", policy=policy, ownerQuota={"gpu": owner}, offers=[offer])

    was = wished(8, 1, False, {"x": 1, "deep": {"y": 1}, "list": [1]})
    live, own = plane(was), pool_id("a")
    live.do(UpdatePool(tenant_id=OWNER, pool_id=own, policy={"x": 2, "list": [2]}, gpu_model="H200"))
    live.do(SetQuota(tenant_id=OWNER, pool_id=own, to_tenant_id=OWNER, quota={"gpu": 64}))
    live.do(
        OfferPool(tenant_id=OWNER, pool_id=own, to_tenant_id="acme", quota={}, priority=2, include_descendants=True)
    )
    now = {**wished(32, 3, False, {"x": 3, "deep": {"y": 3}, "list": [1]}), "gpuModel": "B200"}
    assert by_path(planned(live, now, base=base(was))) == {
        "gpuModel": "both",
        "policy.deep": "both",
        "policy.list": "drift",
        "policy.x": "both",
        "ownerQuota.gpu": "both",
        "priority": "both",
        "includeDescendants": "drift",
    }


@pytest.mark.parametrize(
    ("was", "hand", "now", "cause"),
    [
        (None, None, 8, ("intent",)),
        (None, 64, 8, ("intent", "drift")),  # came on both sides
        (None, 64, None, ("drift",)),
        (24, 24, None, ("intent",)),
        (24, 64, None, ("intent", "drift")),  # what goes is not what the files let go
        (24, None, 24, ("drift",)),
        (24, None, 32, ("intent", "drift")),  # went on one side, moved on the other
    ],
)
def test_offers_that_come_and_go_on_both_sides(was: Any, hand: Any, now: Any, cause: tuple[str, ...]) -> None:
    def wished(gpus: int | None) -> dict[str, Any]:
        return entry("a", offers=[]) if gpus is None else offered("a", gpus)

    live = plane(wished(was))
    if hand is not None:
        live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("a"), to_tenant_id="acme", quota={"gpu": hand}))
    elif was is not None:
        live.do(UnofferPool(tenant_id=OWNER, pool_id=pool_id("a"), to_tenant_id="acme"))
    made = planned(live, wished(now), base=base(wished(was)))
    assert [operation.causes for operation in made.operations] == [cause]


def test_a_pool_that_went_and_that_the_files_moved_is_of_both() -> None:
    made = planned(ControlPlane(), offered("a", policy={"x": 2}), base=base(offered("a", policy={"x": 1})))
    assert causes(made) == {"create a": ("intent", "drift"), "offer a to acme": ("drift",)}


@pytest.mark.parametrize(
    "was", [entry("b"), {"idempotencyKey": "a", **TOMB}, {"idempotencyKey": "a", "released": True}]
)
def test_where_the_base_asks_for_no_such_pool_nothing_moved_away_from_it(was: dict[str, Any]) -> None:
    live = plane(offered("a", 24, policy={"x": 1}), entry("b"))
    made = planned(live, offered("a", 32, policy={"x": 2}), entry("b"), base=base(was))
    assert set(causes(made).values()) == {("intent",)}


@pytest.mark.parametrize(("moved", "hand"), [("gpu", "gpu.mig"), ("gpu.mig", "gpu")])
def test_a_row_is_not_a_part_of_the_row_whose_name_it_begins_with(moved: str, hand: str) -> None:
    def wish(**rows: int) -> dict[str, Any]:
        return entry("a", offers=[{"toTenantId": "acme", "quota": rows}], ownerQuota=rows)

    was, now = {moved: 4, hand: 4}, {moved: 5, hand: 4}
    live = plane(wish(**was))
    live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("a"), to_tenant_id="acme", quota={hand: 7}))
    live.do(SetQuota(tenant_id=OWNER, pool_id=pool_id("a"), to_tenant_id=OWNER, quota={hand: 7}))
    made = planned(live, wish(**now), base=base(wish(**was)))
    assert by_path(made) == {
        f"quota.{moved}": "intent",
        f"quota.{hand}": "drift",
        f"ownerQuota.{moved}": "intent",
        f"ownerQuota.{hand}": "drift",
    }


@pytest.mark.parametrize(("moved", "hand"), [("own", "own.part"), ("own.part", "own")])
def test_a_field_is_not_a_part_of_the_field_whose_name_it_begins_with(moved: str, hand: str) -> None:
    def wish(**fields: int) -> dict[str, Any]:
        return entry("a", offers=[], policy={"deep": fields})

    was = {moved: 4, hand: 4}
    live = plane(wish(**was))
    live.do(UpdatePool(tenant_id=OWNER, pool_id=pool_id("a"), policy={"deep": {**was, hand: 7}}))
    made = planned(live, wish(**{**was, moved: 5}), base=base(wish(**was)))
    assert by_path(made) == {f"policy.deep.{moved}": "intent", f"policy.deep.{hand}": "drift"}
    [update] = made.operations
    assert update.place.path[-2:] == ("policy", "deep")
