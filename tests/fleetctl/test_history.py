"""What happened last to each object."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import httpx
import pytest

from better_compute.client import Client
from fleetctl import history
from fleetctl.history import History, LastEvent
from tests.e2e.edge import Asked, bent, edged
from tests.e2e.homes import Home, entry, pool_id


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.wish(entry("a", {"acme": 8}), entry("b", {"acme": 8}))
    home.apply()
    return home


def last(home: Home, *keys: str, after: int = 0) -> dict[tuple[str, str | None], tuple[str, str]]:
    """The type and the author of each object's last event."""
    names = {pool_id(key): key for key in keys}
    with home.hand() as client:
        found = history.read(client, names, after)
    return {(names[pool], tenant): (e.type, e.actor_id) for (pool, tenant), e in found.events.items()}


def test_each_object_has_its_own_last_event(home: Home) -> None:
    with home.hand() as client:
        client.call("pools/update", {"poolId": pool_id("a"), "policy": {"x": 1}})
        client.call("quotas/set", {"poolId": pool_id("a"), "toTenantId": "root", "quota": {"gpu": 1}})
        client.call("quotas/set", {"poolId": pool_id("b"), "toTenantId": "acme", "quota": {"gpu": 1}})
    assert last(home, "a", "b") == {
        ("a", None): ("pool.updated", "sa_hand"),
        ("a", "root"): ("quota.updated", "sa_hand"),
        ("a", "acme"): ("pool.offered", "sa_fleet"),
        ("b", None): ("pool.created", "sa_fleet"),
        ("b", "acme"): ("quota.updated", "sa_hand"),
    }
    assert set(last(home, "b")) == {("b", None), ("b", "acme")}
    assert last(home) == {}


def test_only_what_came_after_is_read(home: Home) -> None:
    sequence = len(home.events())
    assert last(home, "a", "b", after=sequence) == {}
    with home.hand() as client:
        client.call("pools/unoffer", {"poolId": pool_id("a"), "toTenantId": "acme"})
    assert last(home, "a", "b", after=sequence) == {("a", "acme"): ("pool.unoffered", "sa_hand")}


def test_an_event_keeps_the_change_it_came_by(home: Home) -> None:
    with home.hand() as client:
        event = history.read(client, [pool_id("a")]).of((pool_id("a"), None))
    assert event is not None
    assert event.via["fleet"] == "default"
    assert event.sequence > 0
    assert event.time > 1_700_000_000_000


def test_more_pools_than_one_request_may_name_are_asked_for_in_several(home: Home) -> None:
    asked: list[int] = []

    def bend(request: Asked) -> httpx.Response:
        if request.operation == "events/list":
            asked.append(len(request.body["poolIds"]))
        return request.forward()

    with edged(home, bend) as client:
        found = history.read(client, {f"pool_{n}" for n in range(1999)} | {pool_id("a"), pool_id("b")})
    assert asked == [1000, 1000, 1]
    assert len(found.events) == 4


def event(kind: str, sequence: int, tenant: str | None = None) -> LastEvent:
    fields: dict[str, Any] = {"actor_id": "sa", "time": 0, "via": {}}
    return LastEvent(type=kind, subject=("p", tenant), sequence=sequence, **fields)


@pytest.mark.parametrize(
    ("events", "of_pool", "of_offer"),
    [
        ([], None, None),
        ([event("pool.created", 1)], 1, None),
        ([event("pool.created", 1), event("pool.offered", 2, "acme")], 1, 2),
        ([event("pool.updated", 3), event("pool.offered", 2, "acme")], 3, 2),
        ([event("pool.archived", 3), event("pool.offered", 2, "acme")], 3, 3),
        ([event("pool.archived", 3)], 3, 3),
        ([event("pool.archived", 3), event("quota.updated", 4, "acme")], 3, 4),
        ([event("pool.offered", 2, "globex")], None, None),
    ],
)
def test_the_archive_of_a_pool_is_an_event_of_its_offers_too(
    events: list[LastEvent], of_pool: int | None, of_offer: int | None
) -> None:
    found = History({one.subject: one for one in events})
    pool, offer = found.of(("p", None)), found.of(("p", "acme"))
    assert (pool and pool.sequence, offer and offer.sequence) == (of_pool, of_offer)


@pytest.mark.parametrize(
    ("via", "told"),
    [
        ({}, "no apply"),
        (
            {"fleet": "web", "digest": "d" * 64, "commit": "c" * 40, "reason": "moved", "operation": "o" * 64},
            "fleet web, commit cccccccccccc, digest dddddddddddd, reason moved",
        ),
        ({"fleet": "web", "commit": None}, "fleet web"),
        ({"ticket": 7}, "a change that another tool named"),
        ({"fleet": ["web"], "digest": 7}, "fleet ['web'], digest 7"),
        ({"reason": "see https://me:secret@example.com/" + "x" * 100}, "reason see https://(sensitive)@example.com/"),
    ],
)
def test_who_did_it_is_told_with_the_change_that_the_call_named(via: dict[str, Any], told: str) -> None:
    event = LastEvent(type="pool.updated", subject=("p", None), actor_id="sa", time=0, sequence=1, via=via)
    assert event.told.startswith(f"pool.updated by sa at 1970-01-01 00:00:00 UTC, via {told}")
    assert len(event.told) < 200


def test_all_events_of_a_pool_are_read_in_their_order(home: Home) -> None:
    sequence = len(home.events())
    with home.hand() as client:
        client.call("pools/unoffer", {"poolId": pool_id("a"), "toTenantId": "acme"})
        client.call("pools/offer", {"poolId": pool_id("a"), "toTenantId": "acme", "quota": {"gpu": 8}})
        client.call("nodes/createJoinToken", {"poolId": pool_id("a")})
        client.call("pools/update", {"poolId": pool_id("b"), "policy": {"x": 1}})
        found = history.every(client, [pool_id("a")], after=sequence)
    assert [event.type for event in found] == ["pool.unoffered", "pool.offered"]


def backwards(client: Client, pages: int) -> tuple[list[str], int]:
    """Events of both pools, looked at for so many pages, and how many were asked for."""
    looked: list[int] = []

    def goes_on(pool_ids: Collection[str]) -> bool:
        looked.append(len(pool_ids))
        return len(looked) <= pages

    found = history.backwards(client, [pool_id("a"), pool_id("b")], goes_on)
    return [f"{event.type} {event.data['after'] is None}" for event in found], len(looked)


def test_events_are_read_backwards_with_their_data_page_by_page_as_long_as_something_is_looked_for(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_MOST", 2)
    with home.hand() as client:
        client.call("pools/unoffer", {"poolId": pool_id("a"), "toTenantId": "acme"})
        client.call("nodes/createJoinToken", {"poolId": pool_id("a")})
        every, looked = backwards(client, pages=99)
        assert (every[0], looked) == ("pool.unoffered True", 3)
        assert sorted(every[1:]) == ["pool.created False"] * 2 + ["pool.offered False"] * 2
        assert backwards(client, pages=1) == (every[:2], 2)
        assert backwards(client, pages=0) == ([], 1)


def test_a_server_that_does_not_go_backwards_is_not_followed(home: Home) -> None:
    def bend(request: Asked) -> httpx.Response:
        return bent(request, items=list(reversed(json.loads(request.forward().content)["data"]["items"])))

    with edged(home, bend) as client:
        assert backwards(client, pages=9) == (["pool.created False"], 1)


def test_events_after_the_state_that_was_read_did_not_make_it(home: Home) -> None:
    """Two changes of one object and a first of another while a plan is made: each is told apart."""
    with home.hand() as client:
        client.call("pools/update", {"poolId": pool_id("a"), "policy": {"x": 1}})
        sequence = len(home.events())
        for value in (2, 3):
            client.call("pools/update", {"poolId": pool_id("a"), "policy": {"x": value}})
        client.call("quotas/set", {"poolId": pool_id("b"), "toTenantId": "root", "quota": {"gpu": 1}})
        found = history.as_of(client, history.read(client, [pool_id("a"), pool_id("b")]), sequence)
    own, rows = (pool_id("a"), None), (pool_id("b"), "root")
    assert [event.sequence for event in (found.events[own], found.since[own])] == [sequence, sequence + 2]
    assert (found.of(rows), found.since[rows].type) == (None, "quota.updated")
    assert {*found.events} == {own, (pool_id("a"), "acme"), (pool_id("b"), None), (pool_id("b"), "acme")}
    assert found.among([pool_id("b")]).since == {rows: found.since[rows]}


def test_a_state_that_nobody_changed_meanwhile_is_asked_of_once(home: Home) -> None:
    asked: list[str] = []

    def bend(request: Asked) -> httpx.Response:
        asked.append(request.operation)
        return request.forward()

    with edged(home, bend) as client:
        found = history.read(client, [pool_id("a")])
        assert history.as_of(client, found, 10**9) == found
    assert asked.count("events/list") == 1
