"""What moved since the base: the files, or the live state."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.commands import OfferPool, UpdatePool
from fleetctl.plan import Plan
from tests.fleetctl.compared import TOMB, base, planned, told
from tests.fleetctl.test_identity import offered, plane, pool_id
from tests.fleets import OWNER
from tests.model import entry


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
