"""Pages: keyset, an opaque cursor, the sequence; what lives throughout a walk appears exactly once."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from better_compute.service.pages import encode_cursor
from tests.better_compute.plane import Plane
from tests.statements import counted


def walk(plane: Plane, operation: str, limit: int, who: str = "sa_fleet", **body: Any) -> Iterator[list[Any]]:
    """The items of each page."""
    cursor: dict[str, str] = {}
    while True:
        page = plane.ask(who, operation, {**body, "limit": limit, **cursor}).data
        yield page["items"]
        if page["nextCursor"] is None:
            return
        cursor = {"cursor": page["nextCursor"]}


def fleet(plane: Plane) -> list[str]:
    """Five pools of root's with offers to acme and globex; the second has none, the third is archived."""
    ids = sorted(plane.pool(idempotencyKey=f"k{i}") for i in range(5))
    for i, pool_id in enumerate(ids):
        if i != 1:
            plane.offer(pool_id, "acme", quota={"gpu": 8, "vcpu": 64})
            plane.offer(pool_id, "globex")
    plane.ask("sa_fleet", "pools/archive", poolId=ids[2])
    return ids


KEYS: dict[str, tuple[str, ...]] = {
    "pools/list": ("id",),
    "pools/listOffers": ("poolId", "toTenantId"),
    "quotas/list": ("poolId", "tenantId", "resource"),
    "sites/list": ("id",),
    "providerAccounts/list": ("id",),
    "tenants/list": ("id",),
    "identities/list": ("id",),
    "events/list": ("id",),
}


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("operation", KEYS)
def test_a_walk_meets_every_item_once_in_order(plane: Plane, operation: str, limit: int) -> None:
    fleet(plane)
    pages = list(walk(plane, operation, limit))
    assert all(len(page) <= limit for page in pages)
    assert all(pages) or len(pages) == 1
    items = [item for page in pages for item in page]
    assert items == plane.ask("sa_fleet", operation, limit=1000).data["items"]
    keys = [tuple(item[name] for name in KEYS[operation]) for item in items]
    assert len(keys) > 1
    if operation != "events/list":
        assert keys == sorted(set(keys))


def test_lists_hold_what_they_should(either: Plane) -> None:
    ids = fleet(either)
    assert [pool["id"] for page in walk(either, "pools/list", 2) for pool in page] == ids
    offers = [o for page in walk(either, "pools/listOffers", 3) for o in page]
    live = [i for n, i in enumerate(ids) if n not in (1, 2)]
    assert [(o["poolId"], o["toTenantId"]) for o in offers] == [(i, t) for i in live for t in ("acme", "globex")]
    rows = [q for page in walk(either, "quotas/list", 3) for q in page]
    assert len(rows) == 5 + 4 * 3
    own = [q for page in walk(either, "quotas/list", 2, "sa_acme") for q in page]
    assert {q["tenantId"] for q in own} == {"acme"}
    assert len(own) == 3 * 2


def test_one_pools_offers_and_rows_can_be_listed(plane: Plane) -> None:
    pool_id = fleet(plane)[0]
    offers = [o for page in walk(plane, "pools/listOffers", 1, poolId=pool_id) for o in page]
    assert [o["toTenantId"] for o in offers] == ["acme", "globex"]
    rows = [q for page in walk(plane, "quotas/list", 2, poolId=pool_id) for q in page]
    assert [(q["tenantId"], q["resource"]) for q in rows] == [
        ("acme", "gpu"),
        ("acme", "vcpu"),
        ("globex", "gpu"),
        ("root", "gpu"),
    ]


def test_a_listed_pool_is_the_pool(either: Plane) -> None:
    fleet(either)
    include = ["offers", "rollup"]
    for pool in either.ask("sa_fleet", "pools/list", include=include).data["items"]:
        assert pool == either.ask("sa_fleet", "pools/get", poolId=pool["id"], include=include).data


@pytest.mark.parametrize(
    ("filters", "which"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"archived": True}, [2]),
        ({"archived": False}, [0, 1, 3, 4]),
        ({"owned": True, "archived": False}, [0, 1, 3, 4]),
        ({"owned": False}, []),
    ],
)
def test_pools_are_filtered(plane: Plane, filters: dict[str, bool], which: list[int]) -> None:
    ids = fleet(plane)
    found = [pool["id"] for pool in plane.ask("sa_fleet", "pools/list", filters).data["items"]]
    assert found == [ids[i] for i in which]


@pytest.mark.parametrize("who", ["sa_fleet", "sa_acme"])
@pytest.mark.parametrize("operation", ["pools/list", "pools/listOffers", "quotas/list"])
def test_a_page_over_many_pools_takes_no_more_statements(plane: Plane, operation: str, who: str) -> None:
    def statements() -> int:
        with counted() as seen:
            pages.append(plane.ask(who, operation).data["items"])
        return len(seen)

    pages: list[list[Any]] = []
    plane.offer(plane.pool())
    few = statements()
    for _ in range(20):
        plane.offer(plane.pool())
    assert statements() == few
    assert len(pages[1]) == 21 * len(pages[0])


def test_pools_are_picked_by_their_ids(plane: Plane) -> None:
    ids = fleet(plane)
    picked = [pool["id"] for page in walk(plane, "pools/list", 1, ids=[ids[3], ids[0], "pool_none"]) for pool in page]
    assert picked == [ids[0], ids[3]]
    assert plane.ask("sa_fleet", "pools/list", ids=[]).data["items"] == []
    assert plane.ask("sa_fleet", "pools/list", ids=["x"] * 1001).error["field"] == "ids"


def test_what_lives_throughout_a_walk_appears_once_while_others_come_and_go(plane: Plane) -> None:
    lasting = [plane.pool() for _ in range(6)]
    for pool_id in lasting:
        plane.offer(pool_id)
    fleeting = [plane.pool() for _ in range(6)]
    for pool_id in fleeting:
        plane.offer(pool_id)
    met: list[str] = []
    for page in walk(plane, "pools/list", 2, "sa_acme"):
        met += [pool["id"] for pool in page]
        if fleeting:
            plane.ask("sa_fleet", "pools/archive", poolId=fleeting.pop())
            plane.offer(plane.pool())
    assert set(lasting) <= set(met)
    assert len(met) == len(set(met))


def test_the_sequence_is_the_owners_last_event(either: Plane) -> None:
    assert either.ask("sa_fleet", "pools/list").data["sequence"] == 0
    pool_id = either.pool()
    either.offer(pool_id)
    for operation in ("pools/list", "pools/listOffers", "quotas/list", "events/list", "sites/list"):
        assert either.ask("sa_fleet", operation).data["sequence"] == 2
    assert either.ask("sa_acme", "pools/list").data["sequence"] == 0
    assert [e["sequence"] for e in either.events()] == [1, 2]


def base64url(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


GARBLED = {
    "empty": "",
    "not base64": "!!!",
    "no json": base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    "deep": base64.urlsafe_b64encode(b"[" * 100_000).decode(),
    "no list": base64url({"pools/list": "a"}),
    "no key": base64url(["pools/list"]),
    "two keys": base64url(["pools/list", "a", "b"]),
    "a number": base64url(["pools/list", 7]),
    "a NUL": base64url(["pools/list", "a\0"]),
    "not ASCII": "é",
    "another list's": encode_cursor("sites/list", ["site_fra1"]),
}


@pytest.mark.parametrize("cursor", GARBLED.values(), ids=GARBLED)
def test_a_cursor_that_is_not_the_lists_is_refused(plane: Plane, cursor: str) -> None:
    error = plane.ask("sa_fleet", "pools/list", cursor=cursor).error
    assert (error["code"], error["field"]) == ("INVALID_INPUT", "cursor")


@pytest.mark.parametrize("key", ["x", "-1", "9" * 40, "\u0661"])
def test_a_cursor_of_events_holds_a_sequence(plane: Plane, key: str) -> None:
    cursor = base64url(["events/list", key])
    assert plane.ask("sa_fleet", "events/list", cursor=cursor).error["field"] == "cursor"


@pytest.mark.parametrize("limit", [0, -1, 1001, 1.0, "1", True, None])
def test_a_limit_is_a_whole_number_from_1_to_1000(plane: Plane, limit: Any) -> None:
    error = plane.ask("sa_fleet", "pools/list", limit=limit).error
    assert (error["code"], error["field"]) == ("INVALID_INPUT", "limit")


def test_a_page_has_100_items_unless_asked_otherwise(plane: Plane) -> None:
    from better_compute.domain.facts import Site

    def fill(tx: Any) -> None:
        for i in range(101):
            tx.add_site(Site(f"site_x{i:03}", "root", "shared", "eu", "x"))

    plane.store.transact(fill)
    assert len(plane.ask("sa_fleet", "sites/list").data["items"]) == 100
