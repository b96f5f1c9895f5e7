"""The paragraph on versions of the API's contract, a test a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.better_compute.plane import Plane

Ask = Callable[..., Any]


def versions(plane: Plane, pool_id: str) -> tuple[int, int, int]:
    """The pool's version, its offersVersion, and the version of its owner's rows."""
    pool = plane.get(pool_id)
    return pool["version"], pool["offersVersion"], pool["ownerQuotaVersion"]


def update(plane: Plane, pool_id: str, /, **more: Any) -> Any:
    return plane.ask("sa_fleet", "pools/update", poolId=pool_id, **{"policy": {"maxPending": "6h"}, **more})


def offer(plane: Plane, pool_id: str, gpus: int = 8, /, to: str = "acme", **more: Any) -> Any:
    return plane.ask("sa_fleet", "pools/offer", poolId=pool_id, toTenantId=to, quota={"gpu": gpus}, **more)


def unoffer(plane: Plane, pool_id: str, **more: Any) -> Any:
    return plane.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="acme", **more)


def set_quota(plane: Plane, pool_id: str, to: str, gpus: int, **more: Any) -> Any:
    return plane.ask("sa_fleet", "quotas/set", poolId=pool_id, toTenantId=to, quota={"gpu": gpus}, **more)


def archive(plane: Plane, pool_id: str, **more: Any) -> Any:
    return plane.ask("sa_fleet", "pools/archive", poolId=pool_id, **more)


def test_versions_start_at_1(plane: Plane) -> None:
    assert versions(plane, plane.pool()) == (1, 1, 1)


def test_update_and_archive_raise_the_version_by_one(either: Plane) -> None:
    pool_id = either.pool()
    assert update(either, pool_id).data["version"] == 2
    assert versions(either, pool_id) == (2, 1, 1)
    assert archive(either, pool_id).data["version"] == 3
    assert versions(either, pool_id) == (3, 1, 1)


def test_offer_unoffer_and_set_quota_raise_the_offers_version_by_one(either: Plane) -> None:
    pool_id = either.pool()
    offer(either, pool_id)
    assert versions(either, pool_id) == (1, 2, 1)
    set_quota(either, pool_id, "acme", 9)
    assert versions(either, pool_id) == (1, 3, 1)
    unoffer(either, pool_id)
    assert versions(either, pool_id) == (1, 4, 1)
    set_quota(either, pool_id, "root", 9)
    assert versions(either, pool_id) == (1, 5, 5)


def test_an_offers_version_is_the_offers_version_of_its_last_write(plane: Plane) -> None:
    pool_id = plane.pool()
    assert offer(plane, pool_id).data["version"] == 2
    assert offer(plane, pool_id, to="globex").data["version"] == 3
    assert offer(plane, pool_id, 9).data["version"] == 4
    assert [o["version"] for o in plane.get(pool_id)["offers"]] == [4, 3]


def test_an_offers_version_never_repeats(plane: Plane) -> None:
    pool_id = plane.pool()
    first = offer(plane, pool_id).data["version"]
    unoffer(plane, pool_id)
    assert offer(plane, pool_id).data["version"] > first


def test_the_owners_rows_carry_the_offers_version_of_their_last_write(plane: Plane) -> None:
    pool_id = plane.pool()
    offer(plane, pool_id)
    set_quota(plane, pool_id, "root", 100)
    assert versions(plane, pool_id) == (1, 3, 3)
    offer(plane, pool_id, 9)
    assert versions(plane, pool_id) == (1, 4, 3)
    offer(plane, pool_id, 50, to="root")
    assert versions(plane, pool_id) == (1, 5, 5)


def test_set_quota_for_a_tenant_with_an_offer_writes_that_offers_version(plane: Plane) -> None:
    pool_id = plane.pool()
    offer(plane, pool_id)
    set_quota(plane, pool_id, "acme", 4)
    assert plane.get(pool_id)["offers"][0]["version"] == 3


CHANGES_NOTHING: dict[str, Callable[[Plane, str], Any]] = {
    "the policy it has": lambda p, i: update(p, i, policy={"maxPending": "6h"}),
    "the model it has": lambda p, i: update(p, i, policy={"maxPending": "6h"}, gpuModel="H100"),
    "the offer it has": lambda p, i: offer(p, i),
    "the offer it has, in full": lambda p, i: offer(p, i, priority=0, includeDescendants=False),
    "a row of 0 that is not there": lambda p, i: p.ask(
        "sa_fleet", "pools/offer", poolId=i, toTenantId="acme", quota={"vcpu": 0}
    ),
    "the quota it has": lambda p, i: set_quota(p, i, "acme", 8),
    "the owner's quota it has": lambda p, i: set_quota(p, i, "root", 2147483647),
    "an absent offer withdrawn": lambda p, i: p.ask("sa_fleet", "pools/unoffer", poolId=i, toTenantId="globex"),
    "its key again": lambda p, i: p.pool(idempotencyKey="k", gpuModel="H200", policy={"maxPending": "1h"}) == i,
}


@pytest.mark.parametrize("call", CHANGES_NOTHING.values(), ids=CHANGES_NOTHING)
def test_a_call_that_changes_nothing_raises_nothing_and_emits_nothing(
    plane: Plane, call: Callable[[Plane, str], Any]
) -> None:
    pool_id = plane.pool(idempotencyKey="k", policy={"maxPending": "6h"})
    offer(plane, pool_id)
    before, events = plane.get(pool_id), plane.events()
    answer = call(plane, pool_id)
    assert answer is True or answer.code == "OK"
    assert plane.get(pool_id) == before
    assert plane.events() == events


def test_an_archive_of_an_archived_pool_changes_nothing(plane: Plane) -> None:
    pool_id = plane.pool()
    first, events = archive(plane, pool_id).data, plane.events()
    plane.time.now += 1000
    assert archive(plane, pool_id).data == first
    assert plane.events() == events


EXPECTED: dict[str, tuple[Callable[..., Any], str, int]] = {
    "update": (update, "expectedVersion", 1),
    "offer": (lambda p, i, **v: offer(p, i, 9, **v), "expectedVersion", 2),
    "unoffer": (unoffer, "expectedVersion", 2),
    "set the tenant's quota": (lambda p, i, **v: set_quota(p, i, "acme", 9, **v), "expectedVersion", 2),
    "set the owner's quota": (lambda p, i, **v: set_quota(p, i, "root", 9, **v), "expectedVersion", 1),
    "archive": (archive, "expectedVersion", 1),
    "archive, offers": (archive, "expectedOffersVersion", 2),
}


@pytest.mark.parametrize(("call", "name", "version"), EXPECTED.values(), ids=EXPECTED)
def test_the_expected_version_is_the_one_found(plane: Plane, call: Ask, name: str, version: int) -> None:
    pool_id = plane.pool()
    offer(plane, pool_id)
    for other in (0, version + 1):
        refused = call(plane, pool_id, **{name: other})
        assert refused.code == "VERSION_CONFLICT"
        assert refused.raw.status == 409
        assert refused.error["field"] == name
    assert len(plane.events()) == 2
    assert call(plane, pool_id, **{name: version}).code == "OK"
    assert len(plane.events()) == 3


def test_expecting_none_makes_an_offer_that_is_not_there(plane: Plane) -> None:
    pool_id = plane.pool()
    assert offer(plane, pool_id, expectedVersion=0).code == "OK"
    assert offer(plane, pool_id, expectedVersion=0).code == "VERSION_CONFLICT"


def test_the_version_is_checked_before_the_rules(plane: Plane) -> None:
    pool_id = plane.pool()
    archive(plane, pool_id)
    assert offer(plane, pool_id).code == "INVALID_STATE"
    assert offer(plane, pool_id, expectedVersion=7).code == "VERSION_CONFLICT"
    assert update(plane, pool_id).code == "INVALID_STATE"
    assert update(plane, pool_id, expectedVersion=7).code == "VERSION_CONFLICT"


def test_a_withdrawal_of_an_absent_offer_is_no_conflict_whatever_version_is_given(plane: Plane) -> None:
    assert unoffer(plane, plane.pool(), expectedVersion=7).data == {"removed": False}


def test_an_archive_of_an_archived_pool_answers_it_whatever_versions_are_given(plane: Plane) -> None:
    pool_id = plane.pool()
    archive(plane, pool_id)
    again = archive(plane, pool_id, expectedVersion=77, expectedOffersVersion=77)
    assert again.data["archived"] is True
