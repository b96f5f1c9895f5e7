"""What another changes between the first look of a call and its lock of the pool counts: it is looked at once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from better_compute.domain.state import PoolState
from better_compute.reconcilers import placer
from better_compute.storage.store import SqlTx
from tests.better_compute.plane import CARD, Plane, open_plane

Between = Callable[[Callable[[Plane], object]], None]
"""Say what is done, by another process, before the next pool is locked."""


@pytest.fixture
def plane(postgres_url: str) -> Iterator[Plane]:
    plane = open_plane(postgres_url)
    yield plane
    plane.store.close()


@pytest.fixture
def between(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Between]:
    """On PostgreSQL: SQLite is locked from the first look on, so there nothing can come between, which is the last
    test."""
    with ExitStack() as stack:
        yield hooked(postgres_url, 20.0, monkeypatch, stack)


def hooked(url: str, wait_seconds: float, monkeypatch: pytest.MonkeyPatch, stack: ExitStack) -> Between:
    other = open_plane(url, wait_seconds)
    stack.callback(other.store.close)
    thread = stack.enter_context(ThreadPoolExecutor(1))
    waiting: list[Callable[[Plane], object]] = []
    lock = SqlTx.pool

    def after_another(tx: SqlTx, pool_id: str) -> PoolState:
        if waiting:
            thread.submit(waiting.pop(), other).result()
        return lock(tx, pool_id)

    monkeypatch.setattr(SqlTx, "pool", after_another)
    return waiting.append


def asked(who: str, operation: str, **body: Any) -> Callable[[Plane], object]:
    def ask(other: Plane) -> None:
        assert other.ask(who, operation, body).code == "OK"

    return ask


def kinds(plane: Plane) -> list[str]:
    return [event["type"] for event in plane.events(types=["reservation.*"])]


@pytest.mark.parametrize("operation", ["pools/unoffer", "pools/archive"])
def test_nothing_is_booked_in_a_pool_that_the_tenant_just_lost(plane: Plane, between: Between, operation: str) -> None:
    pool_id = plane.hosts_pool(8)
    gone = {"toTenantId": "acme"} if operation == "pools/unoffer" else {}
    between(asked("sa_fleet", operation, poolId=pool_id, **gone))
    ask = {"poolId": pool_id, "resources": {"gpu": 1}}
    lost = plane.ask("sa_acme", "reservations/create", ask)
    absent = plane.ask("sa_acme", "reservations/create", {**ask, "poolId": "pool_none"})
    assert (lost.code, lost.raw.body) == ("NOT_FOUND", absent.raw.body)
    assert kinds(plane) == []


def test_a_key_that_another_just_used_makes_no_second_one(plane: Plane, between: Between) -> None:
    pool_id = plane.hosts_pool(8)
    ask: dict[str, Any] = {"poolId": pool_id, "resources": {"gpu": 2}, "idempotencyKey": "k"}
    between(asked("sa_acme", "reservations/create", **ask))
    made = plane.ask("sa_acme", "reservations/create", ask).data
    assert plane.ask("sa_acme", "reservations/list").data["items"] == [made]
    assert plane.used(pool_id) == {"gpu": 2}


def test_what_just_ended_is_not_ended_again(plane: Plane, between: Between) -> None:
    pool_id = plane.hosts_pool(8)
    made = plane.reserve(pool_id, resources={"gpu": 2})["id"]
    between(asked("sa_fleet", "reservations/end", reservationId=made))
    plane.time.now += 5
    assert plane.end(made)["endedAt"] == plane.time.now - 5
    assert plane.used(pool_id) == {}
    assert kinds(plane) == ["reservation.placed", "reservation.ended"]


def test_what_was_just_placed_gives_back_what_it_holds(plane: Plane, between: Between) -> None:
    pool_id = plane.hosts_pool()
    made = plane.reserve(pool_id)["id"]
    plane.join(pool_id, CARD)
    between(lambda other: placer.place_all(other.service, [pool_id]))
    ended = plane.end(made)
    assert (ended["state"], "placedAt" in ended) == ("ended", True)
    assert plane.used(pool_id) == {}
    assert plane.get(pool_id)["rollup"]["atoms"] == {"total": 1, "booked": 0}
    assert plane.reserve(pool_id)["state"] == "placed"


@pytest.mark.parametrize(("operation", "change"), [("nodes/remove", {}), ("nodes/setControl", {"control": "tenant"})])
def test_a_machine_that_was_just_booked_stays(
    plane: Plane, between: Between, operation: str, change: dict[str, str]
) -> None:
    pool_id = plane.hosts_pool(1)
    [node] = plane.ask("sa_fleet", "nodes/list", poolId=pool_id).data["items"]
    between(asked("sa_acme", "reservations/create", poolId=pool_id, resources={"gpu": 1}))
    error = plane.ask("sa_fleet", operation, nodeId=node["id"], **change).error
    assert (error["code"], error["rule"]) == ("INVALID_STATE", "node.busy")


def test_a_machine_that_just_left_is_not_there(plane: Plane, between: Between) -> None:
    pool_id = plane.hosts_pool(1)
    [node] = plane.ask("sa_fleet", "nodes/list", poolId=pool_id).data["items"]
    between(asked("sa_fleet", "nodes/remove", nodeId=node["id"]))
    assert plane.ask("sa_fleet", "nodes/report", nodeId=node["id"], inventory={"gpus": [CARD]}).code == "NOT_FOUND"
    assert plane.get(pool_id)["rollup"]["nodes"] == 0


def test_on_sqlite_nothing_comes_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'plane.sqlite'}"
    told: list[str] = []
    with closing(open_plane(url).store) as store, ExitStack() as stack:
        plane = Plane(store)
        pool_id = plane.hosts_pool(8)
        unoffer = {"poolId": pool_id, "toTenantId": "acme"}
        between = hooked(url, 0.1, monkeypatch, stack)
        between(lambda other: told.append(other.ask("sa_fleet", "pools/unoffer", unoffer).code))
        assert plane.reserve(pool_id)["state"] == "placed"
    assert told == ["UNAVAILABLE"]
