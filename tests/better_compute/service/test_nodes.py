"""Machines: join tokens, joining, what is shown of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.better_compute.plane import CARD, Answer, Plane

INVENTORY = {"gpus": [CARD] * 8, "vcpu": 192, "memoryGiB": 2048, "diskGiB": 7000, "attributes": {"rack": "r1"}}


def token(plane: Plane, pool_id: str, **more: Any) -> str:
    made: str = plane.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id, **more).data["joinToken"]
    return made


def join(plane: Plane, pool_id: str, join_token: str, who: str = "sa_fleet", **more: Any) -> Answer:
    return plane.ask(who, "nodes/join", {"poolId": pool_id, "joinToken": join_token, "inventory": INVENTORY, **more})


def test_a_machine_joins_and_adds_capacity(either: Plane) -> None:
    pool_id = either.pool()
    node = join(either, pool_id, token(either, pool_id)).data
    assert (node["role"], node["gpuModel"], node["poolId"]) == ("host", "H100", pool_id)
    assert node["inventory"] == {**INVENTORY, "hugepages2Mi": 0, "hugepages1Gi": 0}
    assert either.get(pool_id)["rollup"] == {
        "nodes": 1,
        "hostNodes": 1,
        "tenantOwnedNodes": 0,
        "models": {"H100": 1},
        "gpus": 8,
        "atoms": {"total": 8, "booked": 0},
        "reservations": {},
        "instances": 0,
        "resources": {
            "hugepages1Gi": {"total": 0, "booked": 0},
            "hugepages2Mi": {"total": 0, "booked": 0},
            "memoryGiB": {"total": 2048, "booked": 0},
            "vcpu": {"total": 192, "booked": 0},
        },
    }
    shown = either.ask("sa_fleet", "nodes/get", nodeId=node["id"]).data
    assert shown.pop("devices") == {"total": 8, "booked": 0}
    assert shown.pop("resources")["vcpu"] == {"total": 192, "ratio": "1", "booked": 0}
    assert shown.pop("configUnits") == []
    assert shown == node
    assert either.ask("sa_fleet", "nodes/list", poolId=pool_id).data["items"] == [node]
    assert [e["type"] for e in either.events()] == ["pool.created", "node.joined"]
    told = either.events()[1]["data"]["after"]
    assert (told["nodeId"], told["gpuModel"], told["gpus"], told["inventory"]["vcpu"]) == (node["id"], "H100", 8, 192)


def test_a_machine_that_joins_raises_no_version(plane: Plane) -> None:
    pool_id = plane.pool()
    plane.join(pool_id, CARD)
    pool = plane.get(pool_id)
    assert (pool["version"], pool["offersVersion"]) == (1, 1)


def test_an_unknown_gpu_is_quarantined(plane: Plane) -> None:
    pool_id = plane.pool()
    node = plane.join(pool_id, CARD, "NVIDIA Quux 9")
    assert node["quarantined"] == "NVIDIA Quux 9"
    assert plane.get(pool_id)["rollup"]["hostNodes"] == 0
    event = plane.events()[-1]
    assert (event["type"], event["data"]["before"]) == ("node.quarantined", None)
    assert event["data"]["after"]["name"] == "NVIDIA Quux 9"


def test_a_machine_of_another_model_is_refused_and_its_token_still_counts(plane: Plane) -> None:
    pool_id = plane.pool()
    join_token = token(plane, pool_id)
    wrong = join(plane, pool_id, join_token, inventory={"gpus": ["NVIDIA H200"]}).error
    assert (wrong["code"], wrong["rule"], wrong["field"]) == ("INVALID_STATE", "node.model", "inventory.gpus")
    assert join(plane, pool_id, join_token).code == "OK"


def test_a_join_token_lets_one_machine_in(either: Plane) -> None:
    pool_id = either.pool()
    join_token = token(either, pool_id)
    with ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(lambda _: join(either, pool_id, join_token).code, range(4)))
    assert sorted(codes) == ["ACCESS_DENIED"] * 3 + ["OK"]
    assert either.get(pool_id)["rollup"]["nodes"] == 1


def test_a_join_token_counts_for_its_pool_until_it_expires(plane: Plane) -> None:
    pool_id, other = plane.pool(), plane.pool()
    day, minute = token(plane, pool_id), token(plane, pool_id, expiresAt=plane.time.now + 60_000)
    assert join(plane, other, day).code == "ACCESS_DENIED"
    plane.time.now += 60_000
    assert join(plane, pool_id, minute).code == "ACCESS_DENIED"
    assert join(plane, pool_id, day).code == "OK"


def test_a_join_token_is_made_for_some_time_to_come(plane: Plane) -> None:
    error = plane.ask("sa_fleet", "nodes/createJoinToken", poolId=plane.pool(), expiresAt=plane.time.now).error
    assert (error["code"], error["field"]) == ("INVALID_INPUT", "expiresAt")


@pytest.mark.parametrize("before", [True, False], ids=["token made", "token asked for"])
def test_an_archived_pool_takes_no_machines(plane: Plane, before: bool) -> None:
    pool_id = plane.pool()
    join_token = token(plane, pool_id) if before else ""
    plane.ask("sa_fleet", "pools/archive", poolId=pool_id)
    answer = (
        join(plane, pool_id, join_token) if before else plane.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id)
    )
    assert (answer.code, answer.error["rule"]) == ("INVALID_STATE", "node.join")


def test_a_provider_pool_takes_no_machines(plane: Plane) -> None:
    pool_id = plane.pool(**{"class": "provider", "agent": "none", "providerAccountId": "pa_north"})
    error = plane.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id).error
    assert (error["code"], error["rule"]) == ("INVALID_STATE", "pool.class")


def test_a_tenant_brings_a_machine_of_its_own_with_the_owners_token(plane: Plane) -> None:
    pool_id = plane.pool()
    node = plane.join(pool_id, CARD, who="sa_acme", ownerTenantId="acme")
    assert node["ownerTenantId"] == "acme"
    assert plane.get(pool_id)["rollup"]["tenantOwnedNodes"] == 1
    assert plane.ask("sa_acme", "nodes/get", nodeId=node["id"]).data == node
    assert plane.ask("sa_globex", "nodes/get", nodeId=node["id"]).code == "NOT_FOUND"


def test_a_tenant_owned_machine_does_not_join_an_offered_pool(plane: Plane) -> None:
    pool_id = plane.pool()
    plane.offer(pool_id, "globex")
    assert plane.try_join(pool_id, CARD, ownerTenantId="acme").error["rule"] == "offer.tenantOwned"


def test_a_machines_owner_is_the_acting_tenant_or_one_that_the_pools_owner_names(plane: Plane) -> None:
    pool_id = plane.pool()
    assert plane.try_join(pool_id, CARD, ownerTenantId="nobody").code == "NOT_FOUND"
    foreign, absent = (plane.try_join(pool_id, CARD, who="sa_acme", ownerTenantId=t) for t in ("globex", "nobody"))
    assert foreign.raw.body == absent.raw.body
    assert foreign.code == "NOT_FOUND"
    assert plane.try_join(pool_id, CARD, ownerTenantId="acme").code == "OK"


def test_slots_are_the_gpus_times_what_the_policy_says(plane: Plane) -> None:
    pool_id = plane.pool(sharing="timeslice", policy={"gpu": {"slots": 4}})
    plane.join(pool_id, CARD, CARD)
    assert plane.get(pool_id)["rollup"]["atoms"] == {"total": 8, "booked": 0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"gpus": [""]},
        {"gpus": ["a\u0000"]},
        {"gpus": "H100"},
        {"vcpu": -1},
        {"memoryGiB": 1.5},
        {"vcpu": 2**31},
        {"attributes": {"a b": "x"}},
        {"attributes": {"a": None}},
        {"attributes": {"a": {}}},
        {"cores": 4},
    ],
    ids=str,
)
def test_an_inventory_is_exact(plane: Plane, wrong: dict[str, Any]) -> None:
    pool_id = plane.pool()
    error = join(plane, pool_id, token(plane, pool_id), inventory=wrong).error
    assert error["code"] == "INVALID_INPUT"
    assert error["field"].startswith("inventory.")
