"""Many book at once: what is granted is exactly what there is, and what is refused leaves nothing behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Barrier, BrokenBarrierError, Event
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from better_compute.domain.placement import Place
from better_compute.service.ports import Tx
from tests.better_compute.plane import CARD, Plane


def books_of(plane: Plane, pool_id: str) -> dict[str, int]:
    """The books of a pool, each counted by itself: they agree when nothing leaked."""

    def count(tx: Tx) -> dict[str, int]:
        def one(sql: str) -> int:
            connection = tx._connection  # type: ignore[attr-defined]
            return int(connection.execute(text(sql), {"p": pool_id}).scalar_one() or 0)

        nodes = "node_id IN (SELECT id FROM nodes WHERE pool_id = :p)"
        booked = "pool_id = :p AND state IN ('placed', 'active')"
        return {
            "used": one("SELECT sum(used) FROM pool_quotas WHERE pool_id = :p AND resource = 'gpu'"),
            "atoms": one(f"SELECT sum(atoms) FROM reservations WHERE {booked}"),
            "devices": one(f"SELECT count(*) FROM node_devices WHERE {nodes} AND reservation_id IS NOT NULL"),
            "not free": one(f"SELECT count(*) FROM node_devices WHERE {nodes}")
            - one("SELECT sum(free) FROM nodes WHERE pool_id = :p"),
            "vcpu used": one("SELECT sum(used) FROM pool_quotas WHERE pool_id = :p AND resource = 'vcpu'"),
            "vcpu": one(f"SELECT sum(allocated) FROM node_resources WHERE {nodes} AND resource = 'vcpu'"),
        }

    return plane.store.view(count)


def assert_books(plane: Plane, pool_id: str, gpus: int, vcpu: int = 0) -> None:
    expected = dict.fromkeys(("used", "atoms", "devices", "not free"), gpus) | dict.fromkeys(
        ("vcpu used", "vcpu"), vcpu
    )
    assert books_of(plane, pool_id) == expected


@contextmanager
def at_most_used(plane: Plane, most: int) -> Iterator[None]:
    """Looks at every quota row of GPUs while the block runs."""
    seen = [0]
    done = Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(plane.store.view(most_used))

    def most_used(tx: Tx) -> int:
        found = tx._connection.execute(text("SELECT max(used) FROM pool_quotas WHERE resource = 'gpu'"))  # type: ignore[attr-defined]
        return int(found.scalar_one())

    with ThreadPoolExecutor(1) as thread:
        watching = thread.submit(watch)
        try:
            yield
        finally:
            done.set()
        watching.result()
    assert max(seen) <= most


def test_fifty_at_once_are_granted_exactly_what_the_quota_has(either: Plane) -> None:
    pool_id = either.pool()
    for _ in range(8):
        either.join(pool_id, *[CARD] * 8)
    either.offer(pool_id, quota={"gpu": 31, "vcpu": 1000})
    ask = {"poolId": pool_id, "resources": {"gpu": 1, "vcpu": 2}}

    def book(_: int) -> str:
        return either.ask("sa_acme", "reservations/create", ask).code

    with at_most_used(either, 31), ThreadPoolExecutor(50) as threads:
        codes = Counter(threads.map(book, range(50)))
    assert codes == {"OK": 31, "LIMIT_EXCEEDED": 19}
    assert_books(either, pool_id, 31, 62)


def test_fifty_at_once_get_each_device_once(either: Plane) -> None:
    """More quota than there are devices: the rest waits."""
    pool_id = either.pool()
    for _ in range(4):
        either.join(pool_id, *[CARD] * 8)
    either.offer(pool_id, quota={"gpu": 100})

    def book(_: int) -> Any:
        return either.reserve(pool_id)["state"]

    with ThreadPoolExecutor(50) as threads:
        states = Counter(threads.map(book, range(50)))
    assert states == {"placed": 32, "pending": 18}
    assert_books(either, pool_id, 32)


def test_bookings_and_ends_at_once_leave_what_is_still_booked(either: Plane) -> None:
    pool_id = either.pool()
    for _ in range(2):
        either.join(pool_id, *[CARD] * 8)
    either.offer(pool_id, quota={"gpu": 12, "vcpu": 100})

    def turn(n: int) -> int:
        answer = either.ask(
            "sa_acme", "reservations/create", poolId=pool_id, resources={"gpu": 1 + n % 3, "vcpu": 1 + n % 3}
        )
        if answer.code != "OK":
            assert answer.code == "LIMIT_EXCEEDED"
            return 0
        if n % 2:
            ends = [either.ask("sa_acme", "reservations/end", reservationId=answer.data["id"]).code for _ in range(2)]
            assert ends == ["OK", "OK"]
            return 0
        return 1 + n % 3 if answer.data["state"] == "placed" else 0

    with at_most_used(either, 12), ThreadPoolExecutor(16) as threads:
        kept = sum(threads.map(turn, range(64)))
    assert_books(either, pool_id, kept, kept)
    for _ in range(12 - kept):
        assert either.reserve(pool_id)["state"] == "placed", "what was given back can be booked"
    assert_books(either, pool_id, 12, kept)


def test_an_end_by_many_gives_back_once(either: Plane) -> None:
    pool_id = either.pool()
    either.join(pool_id, *[CARD] * 8)
    either.offer(pool_id)
    made = either.reserve(pool_id, resources={"gpu": 2})["id"]
    either.reserve(pool_id, resources={"gpu": 3})

    def end(who: str) -> str:
        return either.ask(who, "reservations/end", reservationId=made).code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(end, ["sa_acme", "sa_fleet"] * 8)) == {"OK"}
    assert_books(either, pool_id, 3)
    assert [e["type"] for e in either.events(types=["reservation.ended"])] == ["reservation.ended"]


def test_a_key_at_once_in_one_pool_makes_one_reservation(either: Plane) -> None:
    pool_id = either.pool()
    either.join(pool_id, *[CARD] * 8)
    either.offer(pool_id)

    def book(_: int) -> Any:
        return either.reserve(pool_id, idempotencyKey="k")

    with ThreadPoolExecutor(16) as threads:
        made = list(threads.map(book, range(16)))
    assert all(one == made[0] for one in made)
    assert_books(either, pool_id, 1)


@contextmanager
def meeting_before(engine: Engine, words: str, parties: int) -> Iterator[None]:
    """Statements that begin so wait for each other the first time, or half a second: both transactions have read what
    they stand on before one of them writes. Where one may write at a time the others cannot come."""
    barrier = Barrier(parties)

    def wait(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(words):
            with suppress(BrokenBarrierError):
                barrier.wait(0.5)

    event.listen(engine, "before_cursor_execute", wait)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", wait)


@pytest.mark.parametrize("roomy", [True, False], ids=["placed", "pending"])
def test_a_key_at_once_in_two_pools_makes_one_reservation_and_a_conflict(either: Plane, roomy: bool) -> None:
    pools = [either.pool() for _ in range(2)]
    for pool_id in pools:
        either.join(pool_id, *[CARD] * (8 if roomy else 1))
        either.offer(pool_id)
    engine = either.store._database.engine  # type: ignore[attr-defined]

    def book(pool_id: str) -> str:
        ask = {"poolId": pool_id, "resources": {"gpu": 2}, "idempotencyKey": "k"}
        return either.ask("sa_acme", "reservations/create", ask).code

    with meeting_before(engine, "INSERT INTO reservations", 2), ThreadPoolExecutor(2) as threads:
        codes = list(threads.map(book, pools))
    assert sorted(codes) == ["CONFLICT", "OK"]
    [made] = either.ask("sa_acme", "reservations/list").data["items"]
    winner, loser = sorted(pools, key=lambda pool_id: pool_id != made["poolId"])
    assert made["state"] == ("placed" if roomy else "pending")
    assert_books(either, winner, 2 if roomy else 0)
    assert_books(either, loser, 0)
    assert len(either.events(types=["reservation.*"])) == 1


def test_a_booking_of_what_is_booked_is_undone_whole(either: Plane) -> None:
    """Whatever its caller believed: the books are what counts."""
    pool_id = either.pool()
    node_id = either.join(pool_id, *[CARD] * 2)["id"]
    either.offer(pool_id)
    either.reserve(pool_id)
    before = books_of(either, pool_id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("better_compute.service.bookings.Bookings.find", lambda *_: Place(node_id, [0]))
        assert (
            either.ask("sa_acme", "reservations/create", poolId=pool_id, resources={"gpu": 1}).code == "INTERNAL_ERROR"
        )
    assert books_of(either, pool_id) == before
    assert len(either.ask("sa_acme", "reservations/list").data["items"]) == 1
    assert either.reserve(pool_id)["state"] == "placed"
