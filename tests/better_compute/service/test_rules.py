"""Every rule of pools, offers and quotas that an answer can name, each met once over the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.better_compute.plane import CARD, H100, Answer, Plane

PROVIDER = {"class": "provider", "agent": "none", "providerAccountId": "pa_north"}
PS = {"gpu": {"slots": 4}}


def create(plane: Plane, **more: Any) -> Answer:
    return plane.ask("sa_fleet", "pools/create", {**H100, **more})


def on(operation: str, pool: dict[str, Any] | None = None, **more: Any) -> Callable[[Plane], Answer]:
    """The operation on a new pool of its own."""
    return lambda plane: plane.ask("sa_fleet", operation, {"poolId": plane.pool(**(pool or {})), **more})


def made(**more: Any) -> Callable[[Plane], Answer]:
    return lambda plane: create(plane, **more)


def offer(to: str = "acme", pool: dict[str, Any] | None = None, **more: Any) -> Callable[[Plane], Answer]:
    return on("pools/offer", pool, **{"toTenantId": to, "quota": {"gpu": 8}, **more})


def archived(operation: str, **more: Any) -> Callable[[Plane], Answer]:
    def call(plane: Plane) -> Answer:
        pool_id = plane.pool()
        plane.ask("sa_fleet", "pools/archive", poolId=pool_id)
        return plane.ask("sa_fleet", operation, poolId=pool_id, **more)

    return call


def second_tenant_of_a_single(plane: Plane) -> Answer:
    pool_id = plane.pool(policy={"singleTenant": True})
    plane.offer(pool_id)
    return plane.ask("sa_fleet", "pools/offer", poolId=pool_id, toTenantId="globex", quota={"gpu": 1})


def two_tenants_become_single(plane: Plane) -> Answer:
    pool_id = plane.pool()
    plane.offer(pool_id)
    plane.offer(pool_id, "globex")
    return plane.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"singleTenant": True})


def tenant_owned_machine_in_an_offered_pool(plane: Plane) -> Answer:
    pool_id = plane.pool()
    plane.join(pool_id, CARD, ownerTenantId="acme")
    return plane.ask("sa_fleet", "pools/offer", poolId=pool_id, toTenantId="acme", quota={"gpu": 1})


def another_model_than_the_machines(plane: Plane) -> Answer:
    pool_id = plane.pool()
    plane.join(pool_id, CARD)
    return plane.ask("sa_fleet", "pools/update", poolId=pool_id, gpuModel="H200")


REFUSED: dict[str, tuple[Callable[[Plane], Answer], str, str, str]] = {
    "class": (made(**{"class": "metal"}), "INVALID_INPUT", "pool.class", "class"),
    "provider without account": (made(**{"class": "provider", "agent": "none"}), "INVALID_INPUT", "pool.provider", ""),
    "provider without agent": (
        made(**{"class": "provider", "providerAccountId": "pa_north"}),
        "INVALID_INPUT",
        "pool.provider",
        "agent",
    ),
    "account of another class": (made(providerAccountId="pa_north"), "INVALID_INPUT", "pool.provider", ""),
    "another's account": (made(**PROVIDER | {"providerAccountId": "pa_acme"}), "NOT_FOUND", "pool.provider", ""),
    "no such account": (made(**PROVIDER | {"providerAccountId": "pa_none"}), "NOT_FOUND", "pool.provider", ""),
    "agent": (made(agent="bdc"), "INVALID_INPUT", "pool.agent", "agent"),
    "sharing": (made(sharing="timesliced"), "INVALID_INPUT", "pool.sharing", "sharing"),
    "model": (made(gpuModel="H100-SXM"), "INVALID_INPUT", "pool.model", "gpuModel"),
    "another's site": (made(siteId="site_acme"), "NOT_FOUND", "pool.site", "siteId"),
    "policy": (made(policy={"maxPending": "soon"}), "INVALID_INPUT", "policy.maxPending", "policy.maxPending"),
    "owner's quota": (made(ownerQuota={"gpu": -1}), "INVALID_INPUT", "quota.value", "ownerQuota.gpu"),
    "update of nothing": (on("pools/update"), "INVALID_INPUT", "pool.update", ""),
    "update of an archived pool": (archived("pools/update", gpuModel="H200"), "INVALID_STATE", "pool.update", ""),
    "model of the machines": (another_model_than_the_machines, "INVALID_STATE", "pool.update", "gpuModel"),
    "becoming single": (two_tenants_become_single, "INVALID_STATE", "offer.single", "policy.singleTenant"),
    "second tenant": (second_tenant_of_a_single, "INVALID_STATE", "offer.single", "toTenantId"),
    "single with descendants": (
        offer(pool={"policy": {"singleTenant": True}}, includeDescendants=True),
        "INVALID_STATE",
        "offer.single",
        "includeDescendants",
    ),
    "timeslice to another": (
        offer(pool={"sharing": "timeslice", "policy": PS}, quota={"gpu.slot": 4}),
        "INVALID_STATE",
        "offer.sharing",
        "toTenantId",
    ),
    "mps to another": (
        offer(pool={"sharing": "mps", "policy": PS}, quota={"gpu.slot": 4}),
        "INVALID_STATE",
        "offer.sharing",
        "toTenantId",
    ),
    "tenant-owned machines": (tenant_owned_machine_in_an_offered_pool, "INVALID_STATE", "offer.tenantOwned", ""),
    "offer of an archived pool": (
        archived("pools/offer", toTenantId="acme", quota={"gpu": 1}),
        "INVALID_STATE",
        "offer.archived",
        "",
    ),
    "priority too high": (offer(priority=1001), "INVALID_INPUT", "offer.priority", "priority"),
    "priority too low": (offer(priority=-1001), "INVALID_INPUT", "offer.priority", "priority"),
    "no such tenant": (offer("nobody"), "NOT_FOUND", "offer.tenant", "toTenantId"),
    "inactive tenant": (offer("sleepy"), "TENANT_INACTIVE", "offer.tenant", "toTenantId"),
    "withdrawal from the owner": (on("pools/unoffer", toTenantId="root"), "INVALID_INPUT", "unoffer.owner", ""),
    "quota too large": (offer(quota={"gpu": 2147483648}), "INVALID_INPUT", "quota.value", "quota.gpu"),
    "quota of a typo": (offer(quota={"vcpus": 1}), "INVALID_INPUT", "quota.value", "quota.vcpus"),
    "quota without an offer": (
        on("quotas/set", toTenantId="acme", quota={"gpu": 1}),
        "NOT_FOUND",
        "quota.set",
        "toTenantId",
    ),
}


@pytest.mark.parametrize(("call", "code", "rule", "field"), REFUSED.values(), ids=REFUSED)
def test_a_rule_refuses_by_its_name(
    plane: Plane, call: Callable[[Plane], Answer], code: str, rule: str, field: str
) -> None:
    error = call(plane).error
    assert (error["code"], error["rule"]) == (code, rule)
    assert not field or error["field"] == field


@pytest.mark.parametrize("value", [True, False, 1.0, 0.5, "1", None, [], {}, -1, 10**30], ids=repr)
def test_a_quota_is_an_exact_whole_number(plane: Plane, value: Any) -> None:
    error = offer(quota={"gpu": value})(plane).error
    assert (error["code"], error["rule"], error["field"]) == ("INVALID_INPUT", "quota.value", "quota.gpu")


def test_a_refused_offer_writes_nothing(either: Plane) -> None:
    pool_id = either.pool()
    before = either.get(pool_id)
    assert either.ask("sa_fleet", "pools/offer", poolId=pool_id, toTenantId="nobody", quota={}).code == "NOT_FOUND"
    assert either.get(pool_id) == before
    assert [event["type"] for event in either.events()] == ["pool.created"]


def test_a_first_offer_sets_the_rows_whole_and_the_next_sets_the_named(either: Plane) -> None:
    pool_id = either.pool()
    either.offer(pool_id, quota={"gpu": 8, "vcpu": 64})
    again = either.offer(pool_id, quota={"gpu": 4})
    assert {q["resource"]: q["max"] for q in again["quotas"]} == {"gpu": 4, "vcpu": 64}
    either.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="acme")
    fresh = either.offer(pool_id, quota={"gpu": 2})
    assert {q["resource"]: q["max"] for q in fresh["quotas"] if q["max"]} == {"gpu": 2}


def test_an_offer_again_keeps_priority_and_descendants_that_it_does_not_name(plane: Plane) -> None:
    pool_id = plane.pool()
    plane.offer(pool_id, priority=10, includeDescendants=True)
    again = plane.offer(pool_id, quota={"gpu": 1})
    assert (again["priority"], again["includeDescendants"]) == (10, True)
    assert plane.offer(pool_id, priority=0, includeDescendants=False)["priority"] == 0


def test_a_withdrawal_lowers_the_rows_to_what_is_in_use(either: Plane) -> None:
    pool_id = either.hosts_pool(8, quota={"gpu": 8, "vcpu": 64})
    either.book(pool_id, gpu=3)
    assert either.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="acme").data == {"removed": True}
    rows = either.ask("sa_fleet", "quotas/list", poolId=pool_id, toTenantId="acme").data["items"]
    assert {(r["resource"], r["max"], r["used"], r["available"]) for r in rows} == {("gpu", 3, 3, 0), ("vcpu", 0, 0, 0)}


def test_a_quota_below_use_shows_nothing_available(plane: Plane) -> None:
    pool_id = plane.hosts_pool(8, quota={"gpu": 8})
    plane.book(pool_id, gpu=5)
    rows = plane.ask("sa_fleet", "quotas/set", poolId=pool_id, toTenantId="acme", quota={"gpu": 2}).data["items"]
    assert rows == [
        {"tenantId": "acme", "poolId": pool_id, "resource": "gpu", "max": 2, "used": 5, "available": 0},
    ]


def test_an_archive_removes_every_offer_and_freezes_the_rows(either: Plane) -> None:
    pool_id = either.hosts_pool(8, quota={"gpu": 8})
    either.offer(pool_id, "globex")
    either.book(pool_id, gpu=3)
    pool = either.ask("sa_fleet", "pools/archive", poolId=pool_id).data
    assert pool["archived"]
    assert pool["archivedAt"] == either.time.now
    assert either.get(pool_id)["offers"] == []
    rows = either.ask("sa_fleet", "quotas/list", poolId=pool_id).data["items"]
    assert {(r["tenantId"], r["max"]) for r in rows} == {("acme", 3), ("globex", 0), ("root", 2147483647)}


def test_an_archived_pool_is_the_owners_alone_to_see(plane: Plane) -> None:
    pool_id = plane.pool()
    plane.offer(pool_id)
    assert plane.ask("sa_acme", "pools/get", poolId=pool_id).data["owned"] is False
    plane.ask("sa_fleet", "pools/archive", poolId=pool_id)
    assert plane.ask("sa_acme", "pools/get", poolId=pool_id).code == "NOT_FOUND"
    assert plane.ask("sa_acme", "pools/list").data["items"] == []
    assert [p["id"] for p in plane.ask("sa_fleet", "pools/list").data["items"]] == [pool_id]


def test_a_descendant_of_an_offered_tenant_sees_nothing(plane: Plane) -> None:
    pool_id = plane.pool()
    plane.offer(pool_id, includeDescendants=True)
    assert plane.ask("sa_eu", "pools/list").data["items"] == []
    assert plane.ask("sa_eu", "pools/get", poolId=pool_id).code == "NOT_FOUND"


def test_an_offered_tenant_sees_the_pool_without_what_is_the_owners(plane: Plane) -> None:
    pool_id = plane.pool(policy={"maxPending": "6h"}, idempotencyKey="k")
    plane.offer(pool_id, quota={"gpu": 32})
    plane.offer(pool_id, "globex")
    row = {"tenantId": "acme", "poolId": pool_id, "resource": "gpu", "max": 32, "used": 0, "available": 32}
    expected = {
        "id": pool_id,
        "ownerTenantId": "root",
        "siteId": "site_fra1",
        "class": "metal-host",
        "gpuModel": "H100",
        "sharing": "exclusive",
        "agent": "bcd",
        "policy": {"maxPending": "6h"},
        "version": 1,
        "owned": False,
        "archived": False,
        "quotas": [row],
    }
    include = ["offers", "rollup"]
    assert plane.ask("sa_acme", "pools/get", poolId=pool_id, include=include).data == expected
    assert plane.ask("sa_acme", "pools/list", include=include).data["items"] == [expected]
    assert plane.ask("sa_acme", "quotas/list").data["items"] == [row]
    assert plane.ask("sa_acme", "quotas/list", toTenantId="globex").data["items"] == []


def test_an_offer_to_the_owner_is_an_offer_too(plane: Plane) -> None:
    pool_id = plane.pool(sharing="timeslice", policy=PS)
    plane.offer(pool_id, "root", quota={"gpu.slot": 16})
    assert [o["toTenantId"] for o in plane.get(pool_id)["offers"]] == ["root"]
    assert {q["resource"]: q["max"] for q in plane.get(pool_id)["quotas"]} == {"gpu": 2147483647, "gpu.slot": 16}
