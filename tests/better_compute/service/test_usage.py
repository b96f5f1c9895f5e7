"""usage/list: who sees which hours, from activation to end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import text

from better_compute.domain.usage import HOUR
from better_compute.reconcilers.admission import admit_all
from better_compute.service.ports import Tx
from tests.better_compute.bills import metered_pool
from tests.better_compute.plane import CARD, START, Plane


def usage(plane: Plane, who: str = "sa_acme", start: int = START, end: int = 2 * START, **more: Any) -> list[Any]:
    found: list[Any] = plane.ask(who, "usage/list", {"from": start, "to": end, **more}).data["items"]
    return found


def active(plane: Plane, pool_id: str, who: str = "sa_acme", **more: Any) -> Any:
    reservation = plane.reserve(pool_id, who, **more)
    admit_all(plane.service)
    return reservation


def test_hours_run_from_activation_to_end(either: Plane) -> None:
    pool_id = metered_pool(either, 8, policy={})
    reservation = either.reserve(pool_id, resources={"gpu": 2})
    either.time.now += HOUR
    assert usage(either) == [], "what is placed is not metered"
    admit_all(either.service)
    either.time.now += HOUR // 2
    row = {"poolId": pool_id, "tenantId": "acme", "meter": "gpu.h100.hours"}
    assert usage(either) == [row | {"hours": "1.000000"}], "what runs is counted until now"
    either.time.now += HOUR // 2
    either.end(reservation["id"])
    either.time.now += 9 * HOUR
    assert usage(either) == [row | {"hours": "2.000000"}]
    either.end(reservation["id"])
    assert usage(either, start=START + HOUR + 1, end=START + HOUR + 2) == [row | {"hours": "0.000001"}]
    assert usage(either, start=START, end=START + HOUR) == []
    assert usage(either, start=START + 2 * HOUR) == []


def test_slots_are_metered_as_much_of_a_gpu_as_they_are(plane: Plane) -> None:
    pool_id = plane.pool(sharing="timeslice", policy={"gpu": {"slots": 3}}, ownerQuota={"gpu.slot": 9})
    plane.join(pool_id, CARD)
    active(plane, pool_id, "sa_fleet", resources={"gpu.slot": 2})
    plane.time.now += HOUR
    assert [u["hours"] for u in usage(plane, "sa_fleet")] == ["0.666667"]


@pytest.mark.parametrize("slots", [3, 7, 61, 64])
def test_all_the_slots_of_a_gpu_are_the_gpu(either: Plane, slots: int) -> None:
    pool_id = either.pool(sharing="timeslice", policy={"gpu": {"slots": slots}}, ownerQuota={"gpu.slot": slots})
    either.join(pool_id, CARD)
    for atoms in (slots - 2, 1, 1):
        active(either, pool_id, "sa_fleet", resources={"gpu.slot": atoms})
    either.time.now += 1000 * HOUR
    assert [u["hours"] for u in usage(either, "sa_fleet")] == ["1000.000000"]


def test_the_owner_sees_all_of_its_pools_and_others_their_own(either: Plane) -> None:
    pools = sorted(metered_pool(either, 8, policy={}) for _ in range(2))
    for pool_id in pools:
        for who in ("sa_acme", "sa_globex"):
            active(either, pool_id, who)
    either.time.now += HOUR
    keys = [(pool_id, tenant) for pool_id in pools for tenant in ("acme", "globex")]
    assert [(u["poolId"], u["tenantId"]) for u in usage(either, "sa_fleet")] == keys
    assert [(u["poolId"], u["tenantId"]) for u in usage(either, "sa_globex")] == [keys[1], keys[3]]
    assert usage(either, "sa_eu") == []
    for pool_id in pools:
        either.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="acme")
        either.ask("sa_fleet", "pools/archive", poolId=pool_id)
    assert len(usage(either, "sa_acme")) == 2, "it sees what it used of pools that it sees no more"
    assert len(usage(either, "sa_fleet")) == 4


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_meet(plane: Plane, limit: int) -> None:
    for _ in range(2):
        pool_id = metered_pool(plane, 8, policy={})
        for who in ("sa_acme", "sa_globex"):
            active(plane, pool_id, who)
    plane.time.now += HOUR
    whole, found = usage(plane, "sa_fleet"), []
    cursor: dict[str, str] = {}
    while True:
        page = plane.ask("sa_fleet", "usage/list", {"from": START, "to": 2 * START, "limit": limit, **cursor}).data
        found += page["items"]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert found == whole
    assert len(whole) == 4


def test_one_meter_can_be_asked_for(plane: Plane) -> None:
    active(plane, metered_pool(plane, 8, policy={}))
    plane.time.now += HOUR
    assert len(usage(plane, meter="gpu.h100.hours")) == 1
    assert usage(plane, meter="gpu.h200.hours") == []


@pytest.mark.parametrize(("start", "to"), [(5, 5), (6, 5), (-1, 5), (0, 2**53)])
def test_times_that_make_no_stretch_are_refused(plane: Plane, start: int, to: int) -> None:
    assert plane.ask("sa_acme", "usage/list", {"from": start, "to": to}).code == "INVALID_INPUT"


def test_a_pool_of_another_model_is_metered_as_that_model_from_then_on(either: Plane) -> None:
    pool_id = metered_pool(either, 8, policy={})
    reservation = active(either, pool_id)
    either.time.now += HOUR
    either.store.transact(lambda tx: forget_models(tx, pool_id))
    assert either.ask("sa_fleet", "pools/update", poolId=pool_id, gpuModel="H200").code == "OK"
    either.time.now += 2 * HOUR
    either.end(reservation["id"])
    assert [(u["meter"], u["hours"]) for u in usage(either)] == [
        ("gpu.h100.hours", "1.000000"),
        ("gpu.h200.hours", "2.000000"),
    ]


def forget_models(tx: Tx, pool_id: str) -> None:
    """Today no pool changes its model while its machines have one and are booked; if that rule falls, hours hold."""
    rollup = {"nodes": 1, "host_nodes": 1, "tenant_owned_nodes": 0, "models": {}, "gpus": 0}
    values = {"p": pool_id, "r": json.dumps(rollup)}
    tx._connection.execute(text("UPDATE pools SET rollup = :r WHERE id = :p"), values)  # type: ignore[attr-defined]
