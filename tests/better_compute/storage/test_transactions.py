"""Transactions: one snapshot to read, all or nothing to write, a bounded wait, and no lost change."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import DBAPIError

from better_compute.domain.problems import UNAVAILABLE, ComputeError
from better_compute.domain.state import PoolState
from better_compute.service.ports import Tx
from better_compute.storage import SqlStore
from tests.better_compute.storage.changes import (
    carry_out,
    carry_out_in,
    events,
    is_chain,
    opened,
    pool_state,
    populate,
    seen_ids,
)
from tests.builders import a_tenant
from tests.decisions import create, offer, set_quota, update

WAIT = 0.2
PATIENCE = 20
"""Seconds after which a test that waits for its threads fails."""


def in_another_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def assert_unavailable(work: Callable[[], Any]) -> ComputeError:
    with pytest.raises(ComputeError) as caught:
        work()
    assert caught.value.code == UNAVAILABLE
    assert caught.value.retry_after_ms == 1000
    return caught.value


def test_a_view_is_one_snapshot(store: SqlStore) -> None:
    before = carry_out(store, create())

    def work(tx: Tx) -> None:
        assert tx.pool_state("pool_1", None) == before
        in_another_thread(lambda: carry_out(store, update(gpu_model="H200")))
        assert tx.pool_state("pool_1", None) == before
        assert tx.nodes("pool_1", 10, None) == []

    store.view(work)
    assert pool_state(store) != before


def test_a_write_sees_what_was_committed_before_it_got_the_lock(store: SqlStore) -> None:
    carry_out(store, create())

    def raise_limit() -> PoolState:
        def work(tx: Tx) -> PoolState:
            limit = tx.pool_state("pool_1", None).limits("root")["gpu"]
            return carry_out_in(tx, set_quota("root", {"gpu": limit - 1}))

        return store.transact(work)

    with ThreadPoolExecutor(8) as pool:
        limits = [f.result().limits("root")["gpu"] for f in [pool.submit(raise_limit) for _ in range(40)]]
    first = 2**31 - 1
    assert sorted(limits) == list(range(first - 40, first))


def test_a_view_does_not_write(store: SqlStore) -> None:
    with pytest.raises(RuntimeError):
        store.view(lambda tx: tx.add_tenant(a_tenant("new")))
    assert store.view(lambda tx: tx.tenant("new")) is None


def test_what_the_work_raises_comes_out_and_nothing_is_written(store: SqlStore) -> None:
    def work(tx: Tx) -> None:
        tx.add_tenant(a_tenant("new"))
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        store.transact(work)
    assert store.view(lambda tx: tx.tenant("new")) is None
    store.transact(lambda tx: tx.add_tenant(a_tenant("new")))


def test_twenty_writers_at_once_lose_nothing_and_get_no_error(database_url: str) -> None:
    """Two stores on one database, as two processes have; ten threads each, on two pools, readers beside them."""
    with opened(database_url) as one, opened(database_url) as two:
        populate(one)
        for pool_id in ("pool_1", "pool_2"):
            carry_out(one, create(pool_id=pool_id))
        tenants = ["acme", "globex", "initech"]

        def write(number: int) -> None:
            store = (one, two)[number % 2]
            pool_id = ("pool_1", "pool_2")[number // 2 % 2]
            carry_out(store, offer(tenants[number % 3], {"gpu": number}, pool_id=pool_id))
            store.view(lambda tx: tx.pool_state(pool_id, None))
            if number % 10 == 0:
                store.number_events("root")

        with ThreadPoolExecutor(20) as pool:
            list(pool.map(write, range(200)))
        states = [pool_state(one, pool_id) for pool_id in ("pool_1", "pool_2")]
        assert [state.pool and state.pool.offers_version for state in states] == [101, 101]
        found = events(two)
        assert len(found) == 202
        assert is_chain(found)


def test_a_pool_that_many_create_at_once_is_created_once(store: SqlStore) -> None:
    start = threading.Barrier(8, timeout=PATIENCE)

    def race(_: int) -> PoolState:
        start.wait()
        return carry_out(store, create())

    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(race, range(8)))
    assert all(state == states[0] for state in states)
    assert [found.type for found in events(store)] == ["pool.created"]


def test_a_writer_waits_for_the_lock_and_then_gives_up_with_nothing_written(database_url: str) -> None:
    with opened(database_url) as holder, opened(database_url, wait_seconds=WAIT) as waiter:
        populate(holder)
        carry_out(holder, create())

        def hold(tx: Tx) -> float:
            carry_out_in(tx, offer("acme"))
            start = time.monotonic()
            error = assert_unavailable(lambda: in_another_thread(lambda: carry_out(waiter, offer("globex"))))
            assert "nothing was written" in str(error)
            return time.monotonic() - start

        waited = holder.transact(hold)
        assert WAIT * 0.9 <= waited < 10 * WAIT
        assert set(pool_state(waiter).offers) == {"acme"}
        assert len(events(waiter)) == 2
        carry_out(waiter, offer("globex"))


def test_a_writer_waits_for_another_of_its_own_store(sqlite_url: str) -> None:
    with opened(sqlite_url, wait_seconds=WAIT) as store:
        populate(store)

        def hold(_: Tx) -> None:
            assert_unavailable(lambda: in_another_thread(lambda: carry_out(store, create())))

        store.transact(hold)
        carry_out(store, create())


def test_a_reader_does_not_wait_for_a_writer(database_url: str) -> None:
    with opened(database_url, wait_seconds=WAIT) as store:
        populate(store)
        carry_out(store, create())

        def hold(tx: Tx) -> None:
            carry_out_in(tx, offer())
            assert in_another_thread(lambda: pool_state(store)).offers == {}
            assert in_another_thread(lambda: seen_ids(store, "acme")) == []

        store.transact(hold)
        assert seen_ids(store, "acme") == ["pool_1"]


def test_more_than_the_connections_wait_and_then_are_told(database_url: str) -> None:
    with opened(database_url, wait_seconds=WAIT) as store:
        taken, release = threading.Barrier(21, timeout=PATIENCE), threading.Event()

        def hold(_: Tx) -> bool:
            taken.wait()
            return release.wait(PATIENCE)

        with ThreadPoolExecutor(20) as pool:
            held = [pool.submit(store.view, hold) for _ in range(20)]
            taken.wait()
            assert_unavailable(lambda: store.view(lambda tx: tx.instance_id()))
            release.set()
            assert all(future.result() for future in held)
        store.view(lambda tx: tx.instance_id())


def test_a_statement_that_hangs_is_ended_and_nothing_of_it_is_written(postgres_url: str) -> None:
    with opened(postgres_url, statement_seconds=WAIT) as store:
        populate(store)

        def hang(connection: Connection) -> None:
            connection.execute(text("UPDATE tenants SET status = 'inactive' WHERE id = 'acme'"))
            connection.execute(text(f"SELECT pg_sleep({PATIENCE})"))

        begin = time.monotonic()
        error = assert_unavailable(lambda: store._database.write(hang))
        assert str(error) == "the database took too long, or was told to stop: nothing was written"
        assert_unavailable(lambda: store._database.read(lambda c: c.execute(text(f"SELECT pg_sleep({PATIENCE})"))))
        assert time.monotonic() - begin < PATIENCE
        assert store.view(lambda tx: tx.tenant_statuses(["acme"])) == {"acme": "active"}


def test_a_server_that_vanishes_is_noticed_unless_the_url_says_otherwise(postgres_url: str) -> None:
    url = f"{postgres_url}&keepalives_count=7&keepalives=0"

    def used(connection: Connection) -> dict[str, str]:
        raw: Any = connection.connection.dbapi_connection
        return {name: value for name, value in raw.info.get_parameters().items() if name.startswith(("keep", "tcp_"))}

    with opened(url) as store:
        assert store._database.read(used) == {
            "keepalives": "0",
            "keepalives_idle": "10",
            "keepalives_interval": "5",
            "keepalives_count": "7",
            "tcp_user_timeout": "30000",
        }


def test_a_transaction_that_does_nothing_for_long_is_ended_and_done_again(postgres_url: str) -> None:
    with opened(postgres_url) as store:
        tries: list[str] = []

        def work(connection: Connection) -> None:
            tries.append(str(connection.scalar(text("SHOW idle_in_transaction_session_timeout"))))
            if len(tries) == 1:
                connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 50"))
                time.sleep(WAIT * 2)
            connection.execute(text("UPDATE meta SET value = 'other' WHERE name = 'instance_id'"))

        store._database.write(work)
        assert tries == ["1min", "1min"]
        assert store.view(lambda tx: tx.instance_id()) == "other"


def test_writers_of_two_pools_of_one_tenant_do_not_queue(postgres_url: str) -> None:
    with opened(postgres_url, wait_seconds=WAIT) as store:
        populate(store)
        for pool_id in ("pool_1", "pool_2"):
            carry_out(store, create(pool_id=pool_id))

        def hold(tx: Tx) -> None:
            carry_out_in(tx, offer(pool_id="pool_1"))
            in_another_thread(lambda: carry_out(store, offer(pool_id="pool_2")))
            assert [found.sequence for found in in_another_thread(lambda: events(store))] == [1, 2, 3]

        store.transact(hold)
        found = events(store)
        assert [(e.sequence, e.pool_id) for e in found[2:]] == [(3, "pool_2"), (4, "pool_1")]
        assert is_chain(found)


def test_a_deadlock_is_resolved_by_doing_the_work_again(postgres_url: str) -> None:
    url = postgres_url + "&options=" + quote("-c deadlock_timeout=20ms")
    with opened(url) as store:
        populate(store)
        for pool_id in ("pool_1", "pool_2"):
            carry_out(store, create(pool_id=pool_id))
        both_hold_one = threading.Barrier(2, timeout=PATIENCE)
        tries: list[str] = []

        def cross(first: str, second: str) -> None:
            def work(tx: Tx) -> None:
                tries.append(first)
                carry_out_in(tx, offer(pool_id=first))
                if len(tries) <= 2:
                    both_hold_one.wait()
                carry_out_in(tx, offer("globex", pool_id=second))

            store.transact(work)

        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(cross, "pool_1", "pool_2"), pool.submit(cross, "pool_2", "pool_1")]:
                future.result()
        assert len(tries) == 3
        assert all(set(pool_state(store, p).offers) == {"acme", "globex"} for p in ("pool_1", "pool_2"))
        assert is_chain(events(store))


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("40001", "the database had too many conflicts"),
        ("40P01", "the database had too many conflicts"),
        ("08006", "the connection to the database is lost again and again"),
    ],
)
def test_what_comes_again_and_again_is_given_up_and_said(postgres_url: str, state: str, says: str) -> None:
    pauses: list[float] = []
    with opened(postgres_url, sleep=pauses.append) as store:
        tries = []

        def work(connection: Connection) -> None:
            tries.append(1)
            connection.execute(text(f"DO $$ BEGIN RAISE EXCEPTION 'so' USING ERRCODE = '{state}'; END $$"))

        error = assert_unavailable(lambda: store._database.write(work))
    assert (str(error), error.__notes__) == (f"{says}: nothing was written", ["so"])
    assert len(tries) == len(pauses) == 10
    assert 0 < pauses[0] <= 0.005
    assert max(pauses) <= 0.25


def test_a_mistake_of_ours_is_not_tried_again(store: SqlStore) -> None:
    tries = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.execute(text("SELECT nothing FROM nowhere"))

    with pytest.raises(DBAPIError):
        store._database.write(work)
    assert len(tries) == 1


def test_connections_that_broke_meanwhile_are_replaced(postgres_url: str) -> None:
    with opened(postgres_url) as store, opened(postgres_url) as other:
        populate(store)
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = "
        for attempt in range(3):
            other._database.write(lambda c: c.execute(text(cut + "current_database()")))
            carry_out(store, create(pool_id=f"pool_{attempt}"))
        assert len(events(store)) == 3


def test_a_connection_that_breaks_in_the_work_takes_nothing_with_it(postgres_url: str) -> None:
    with opened(postgres_url) as store:
        populate(store)
        carry_out(store, create())
        tries = []

        def work(tx: Tx) -> None:
            tries.append(1)
            carry_out_in(tx, offer())
            if len(tries) == 1:
                tx._connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))  # type: ignore[attr-defined]

        store.transact(work)
        assert len(tries) == 2
        assert [found.type for found in events(store)] == ["pool.created", "pool.offered"]


def test_a_connection_that_breaks_at_the_commit_leaves_it_open(postgres_url: str) -> None:
    with opened(postgres_url) as store:
        for statement in (
            "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$",
            "CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON tenants INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION cut()",
        ):
            store._database.write(lambda c, statement=statement: c.execute(text(statement)))  # type: ignore[misc]
        error = assert_unavailable(lambda: store.transact(lambda tx: tx.add_tenant(a_tenant("new"))))
        assert "not known" in str(error)


def test_the_disk_is_full(sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        populate(store)
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
            [pages] = connection.execute("PRAGMA page_count").fetchone()
        event.listen(store._database.engine, "begin", lambda c: c.exec_driver_sql(f"PRAGMA max_page_count = {pages}"))
        refused = assert_unavailable(lambda: carry_out(store, create(policy={"note": "x" * 50_000})))
        assert str(refused) == "the disk of the database is full: nothing was written"
        assert pool_state(store) == PoolState()
        assert events(store) == []
