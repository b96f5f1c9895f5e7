"""What is told of each change, and how it is listed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.better_compute.plane import Plane

VIA = {"fleet": "prod", "digest": "d1"}


def story(plane: Plane) -> str:
    """A pool's life: created, offered twice, a quota set, updated, withdrawn, archived."""
    pool_id = plane.pool(idempotencyKey="k", policy={"maxPending": "6h"})
    plane.offer(pool_id, "acme", priority=10)
    plane.offer(pool_id, "globex", quota={"gpu": 1})
    plane.ask("sa_other", "quotas/set", poolId=pool_id, toTenantId="acme", quota={"gpu": 9})
    plane.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"maxPending": "1h"}, gpuModel="H200")
    plane.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="globex")
    plane.ask("sa_fleet", "pools/archive", {"poolId": pool_id}, via=VIA)
    return pool_id


def test_every_change_is_one_event_in_order(either: Plane) -> None:
    pool_id = story(either)
    events = either.events()
    assert [(e["type"], e.get("toTenantId"), e["actorId"]) for e in events] == [
        ("pool.created", None, "sa_fleet"),
        ("pool.offered", "acme", "sa_fleet"),
        ("pool.offered", "globex", "sa_fleet"),
        ("quota.updated", "acme", "sa_other"),
        ("pool.updated", None, "sa_fleet"),
        ("pool.unoffered", "globex", "sa_fleet"),
        ("pool.archived", None, "sa_fleet"),
    ]
    assert [e["sequence"] for e in events] == [1, 2, 3, 4, 5, 6, 7]
    assert {(e["tenantId"], e["poolId"], e["time"]) for e in events} == {("root", pool_id, either.time.now)}
    assert len({e["id"] for e in events}) == 7


def test_an_event_tells_what_was_before_and_is_after(plane: Plane) -> None:
    story(plane)
    data = [e["data"] for e in plane.events()]
    assert data[0]["before"] is None
    assert data[0]["after"]["ownerQuota"] == {"gpu": 2147483647}
    assert data[1] == {"before": None, "after": {"quota": {"gpu": 8}, "priority": 10, "includeDescendants": False}}
    assert (data[3]["before"], data[3]["after"]) == ({"quota": {"gpu": 8}}, {"quota": {"gpu": 9}})
    assert [data[4][side]["gpuModel"] for side in ("before", "after")] == ["H100", "H200"]
    assert [data[4][side]["policy"] for side in ("before", "after")] == [{"maxPending": "6h"}, {"maxPending": "1h"}]
    assert (data[5]["before"]["quota"], data[5]["after"], data[5]["keptQuota"]) == ({"gpu": 1}, None, {})
    assert data[6]["unofferedTenants"] == ["acme"]
    assert [data[6][side]["version"] for side in ("before", "after")] == [2, 3]


def test_an_unoffer_tells_of_the_quota_that_stays_for_what_runs_on(plane: Plane) -> None:
    pool_id = plane.hosts_pool(1, quota={"gpu": 8})
    plane.book(pool_id)
    plane.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="acme")
    [event] = plane.events(types=["pool.unoffered"])
    assert (event["data"]["before"]["quota"], event["data"]["keptQuota"]) == ({"gpu": 8}, {"gpu": 1})


def test_an_event_keeps_the_change_that_its_call_named(plane: Plane) -> None:
    story(plane)
    assert [e.get("via") for e in plane.events()] == [None] * 6 + [VIA]


@pytest.mark.parametrize(
    ("wanted", "sequences"),
    [
        ({"order": "desc"}, [7, 6, 5, 4, 3, 2, 1]),
        ({"after": 5}, [6, 7]),
        ({"after": 5, "order": "desc"}, [7, 6]),
        ({"after": 7}, []),
        ({"types": ["pool.offered"]}, [2, 3]),
        ({"types": ["quota.*", "pool.archived"]}, [4, 7]),
        ({"types": []}, []),
        ({"poolIds": ["pool_none"]}, []),
        ({"latest": True}, [4, 6, 7]),
        ({"latest": True, "order": "desc"}, [7, 6, 4]),
    ],
    ids=str,
)
@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_events_are_ordered_and_picked(plane: Plane, wanted: dict[str, Any], sequences: list[int], limit: int) -> None:
    story(plane)
    met: list[int] = []
    cursor: dict[str, str] = {}
    while len(met) < 100:
        page = plane.ask("sa_fleet", "events/list", {**wanted, **cursor, "limit": limit}).data
        met += [e["sequence"] for e in page["items"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert met == sequences


def test_events_of_some_pools(plane: Plane) -> None:
    first, second = plane.pool(), plane.pool()
    assert [e["poolId"] for e in plane.events(poolIds=[second])] == [second]
    assert [e["poolId"] for e in plane.events(poolIds=[second, first])] == [first, second]


@pytest.mark.parametrize("name", ["pool.ofered", "pools.*", "*", "pool.", "", "node.left"])
def test_a_type_that_is_never_told_is_refused(plane: Plane, name: str) -> None:
    error = plane.ask("sa_fleet", "events/list", types=["pool.created", name]).error
    assert (error["code"], error["field"]) == ("INVALID_INPUT", "types[1]")


def test_a_wrong_type_is_set_right(plane: Plane) -> None:
    assert (
        'did you mean "pool.offered"?' in plane.ask("sa_fleet", "events/list", types=["pool.ofered"]).error["message"]
    )


def test_the_events_of_a_pool_are_its_owners_alone(plane: Plane) -> None:
    plane.offer(plane.pool())
    assert plane.events("acme") == []
    assert len(plane.events("root")) == 2
