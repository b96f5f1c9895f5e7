"""A page ends before its limit where what it holds is long, and the walk still meets everything once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from better_compute.service import pages
from better_compute.storage import events
from better_compute.storage.rows import AnyRow, to_json
from tests.better_compute.plane import IDENTITIES, Plane


def fleet(plane: Plane) -> None:
    """Nine pools that root sees: its own with policies, offers and rows, more of them with each pool, and acme's."""
    for i in range(6):
        pool_id = plane.pool(policy={"text": "x" * 100 * i})
        for tenant_id in ("acme", "globex", "umbrella")[: (i + 1) // 2]:
            plane.offer(pool_id, tenant_id, quota={f"r{n}": n for n in range(2 * i)})
        plane.join(pool_id, *["H100"] * 8 * i)
        for who in ("sa_fleet", "sa_acme")[: i and 2]:
            plane.ask("sa_fleet", "quotas/set", poolId=pool_id, toTenantId=IDENTITIES[who], quota={"gpu": 99})
            plane.reserve(pool_id, who, resources={"gpu": 8 * i})
            plane.reserve(pool_id, who, resources={"gpu": 9}, selectors={"gpuProduct": ["H100", "x" * 30 * i]})
    for i in range(3):
        pool_id = plane.pool("sa_acme")
        quota = {f"r{n}": n for n in range(4 * i)}
        plane.ask("sa_acme", "pools/offer", poolId=pool_id, toTenantId="root", quota=quota)


def walk(plane: Plane, operation: str, **body: Any) -> Iterator[list[Any]]:
    """The items of each page."""
    cursor: Any = {}
    while cursor is not None:
        page = plane.ask("sa_fleet", operation, **body, **cursor).data
        yield page["items"]
        cursor = page["nextCursor"] and {"cursor": page["nextCursor"]}


WALKS: list[tuple[str, dict[str, Any]]] = [
    ("events/list", {}),
    ("events/list", {"order": "desc", "types": ["pool.*"]}),
    ("events/list", {"latest": True}),
    ("pools/list", {}),
    ("pools/list", {"include": ["offers"]}),
    ("pools/list", {"include": ["offers"], "limit": 3}),
    ("pools/listOffers", {}),
    ("quotas/list", {}),
    ("reservations/list", {}),
    ("reservations/list", {"states": ["pending"]}),
]


@pytest.mark.parametrize(("operation", "body"), WALKS, ids=str)
def test_a_walk_with_little_room_meets_every_item_once_in_order(
    either: Plane, operation: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet(either)
    limit = body.get("limit", 1000)
    whole = [item for page in walk(either, operation, **{**body, "limit": 1000}) for item in page]
    assert len(whole) > 5
    counts = []
    for room in (1, 300, 1000, 2500, 100_000):
        monkeypatch.setattr(pages, "ROOM", room)
        found = list(walk(either, operation, **{"limit": 1000, **body}))
        assert [item for page in found for item in page] == whole
        assert all(found), "a page has an item, however long"
        assert room > 1 or max(map(len, found)) <= 2 or operation == "quotas/list"
        counts.append(len(found))
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == -(-len(whole) // limit)
    if operation != "quotas/list":  # its rows are short, and `limit` is enough
        # The rest of the pool that the page before ended in has room of its own.
        assert counts[0] == len(whole) or operation in ("pools/listOffers", "reservations/list")
        assert len(set(counts)) > 2 or limit == 3


def test_a_walk_of_machines_too(either: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    pool_id = either.pool()
    for n in range(5):
        either.join(pool_id, *["H100"] * 4 * n)
    [whole] = walk(either, "nodes/list", poolId=pool_id, limit=5)
    monkeypatch.setattr(pages, "ROOM", 300)
    found = list(walk(either, "nodes/list", poolId=pool_id, limit=5))
    assert [node for page in found for node in page] == whole
    assert 1 < len(found) <= 5


def test_a_page_as_long_as_it_may_be_is_whole(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = {"text": "x" * 1000}
    for _ in range(4):
        plane.pool(policy=policy)
    room = 4 * len(to_json(policy))
    monkeypatch.setattr(pages, "ROOM", room)
    assert [len(page) for page in walk(plane, "pools/list")] == [4]
    monkeypatch.setattr(pages, "ROOM", room - 1)
    assert [len(page) for page in walk(plane, "pools/list")] == [3, 1]


def test_what_there_is_no_room_for_is_not_read(either: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(30):
        pool_id = either.pool()
        either.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"n": i})
    weigh, weighed = events._weigh, []

    def weighing(row: AnyRow) -> int:
        weighed.append(row)
        return weigh(row)

    monkeypatch.setattr(events, "LONG_AT_ONCE", 5)
    monkeypatch.setattr(events, "_weigh", weighing)
    monkeypatch.setattr(pages, "ROOM", 1)
    assert len(either.ask("sa_fleet", "events/list", limit=1000).data["items"]) == 1
    assert len(set(weighed)) == 5


def test_what_is_not_listed_is_not_cut(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet(plane)
    ids = [pool["id"] for page in walk(plane, "pools/list", owned=True) for pool in page]
    monkeypatch.setattr(pages, "ROOM", 1)
    asked = [
        {"operation": "pools/update", "input": {"tenantId": "root", "poolId": pool_id, "policy": {"n": 1}}}
        for pool_id in ids
    ]
    verdicts = plane.ask("sa_fleet", "preflight/check", operations=asked).data["verdicts"]
    assert [verdict["ok"] for verdict in verdicts] == [True] * len(ids)
