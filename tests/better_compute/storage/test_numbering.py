"""Numbers for committed events: no gap, none twice, and each pool's events in the order of its changes."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy import event as hooks

from better_compute.service.ports import EventQuery, EventRecord
from better_compute.storage import SqlStore, numbering
from tests.better_compute.storage.changes import carry_out, counted, events, is_chain, join, new_event, opened, populate
from tests.builders import NOW, a_node
from tests.decisions import create, offer


@pytest.fixture
def server(postgres_url: str) -> Iterator[SqlStore]:
    """A store on PostgreSQL, where events are numbered after their commit."""
    with opened(postgres_url) as store:
        populate(store)
        yield store


def limits_by_pool(found: list[EventRecord]) -> dict[str, list[int]]:
    """The quotas that each pool's offers told of, in the order of their numbers."""
    told: dict[str, list[int]] = {}
    for record in found:
        if record.type == "pool.offered":
            told.setdefault(record.pool_id, []).append(record.data["after"]["quota"]["gpu"])
    return told


def test_events_of_several_pools_are_numbered_by_time(server: SqlStore) -> None:
    for pool_id in ("pool_1", "pool_2"):
        carry_out(server, create(pool_id=pool_id), time=NOW)
    carry_out(server, offer(pool_id="pool_1"), time=NOW + 9)
    carry_out(server, offer(pool_id="pool_2"), time=NOW + 5)
    assert [e.time - NOW for e in events(server)] == [0, 0, 5, 9]


def test_events_of_one_pool_follow_its_changes_whatever_the_clocks_say(server: SqlStore) -> None:
    times = [9, 3, 7, 1, 8]
    carry_out(server, create(), time=NOW + times[0])
    for limit, late in enumerate(times[1:], 1):
        carry_out(server, offer(quota={"gpu": limit}), time=NOW + late)
    carry_out(server, create(pool_id="pool_2"), time=NOW + 2)
    found = events(server)
    assert [(e.pool_id, e.time - NOW) for e in found] == [("pool_2", 2), *(("pool_1", late) for late in times)]
    assert limits_by_pool(found) == {"pool_1": [1, 2, 3, 4]}
    assert is_chain(found)


def test_a_machine_that_joins_is_a_change_of_its_pool(server: SqlStore) -> None:
    carry_out(server, create(), time=NOW + 100_000_000)
    join(server, a_node("node_1"), id="evt_0")
    carry_out(server, offer(), time=NOW + 100_000_000)
    assert [e.type for e in events(server)] == ["pool.created", "node.joined", "pool.offered"]


def test_more_events_than_one_batch_make_one_chain(server: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "BATCH", 3)
    carry_out(server, create())
    for limit in range(1, 10):
        carry_out(server, offer(quota={"gpu": limit}))
    found = events(server)
    assert len(found) == 10
    assert is_chain(found)


def test_each_batch_is_a_transaction_of_its_own(server: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "BATCH", 3)
    for n in range(10):
        carry_out(server, create(pool_id=f"pool_{n}"))
    seen: list[int] = []

    def look(*_: object) -> None:
        seen.append(server.view(lambda tx: tx.last_sequence("root")))

    hooks.listen(server._database._writers, "commit", look)
    server.number_events("root")
    assert seen == [0, 3, 6, 9], "before each commit others see what the ones before wrote"


def test_a_batch_ends_where_its_events_are_long(server: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for as long as it takes to read them."""
    for n in range(6):
        carry_out(server, create(pool_id=f"pool_{n}", policy={"text": "x" * 1000}), via={"text": "y" * 1000})

    def sizes() -> list[int]:
        return [len(batch) for batch in server._database.read(lambda c: numbering.waiting(c, "root"))]

    assert sizes() == [6]
    monkeypatch.setattr(numbering, "BATCH_TEXT", 5000)
    assert sizes() == [2, 2, 2]
    monkeypatch.setattr(numbering, "BATCH_TEXT", 1)
    assert sizes() == [1] * 6
    assert is_chain(events(server))


def test_those_who_number_from_different_states_keep_each_pools_order(
    server: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One stands still between its batches while another, who sees later events, numbers all."""
    monkeypatch.setattr(numbering, "BATCH", 2)
    carry_out(server, create(), time=NOW + 50)
    for limit in range(1, 4):
        carry_out(server, offer(quota={"gpu": limit}), time=NOW + 50 - limit)
    number, between = numbering.number, iter([False, True])

    def standing_still(connection: Connection, **given: Any) -> None:
        if next(between, False):
            carry_out(server, create(pool_id="pool_2"), time=NOW)
            carry_out(server, offer(quota={"gpu": 4}), time=NOW + 1)
            server.number_events("root")
        number(connection, **given)

    monkeypatch.setattr(numbering, "number", standing_still)
    server.number_events("root")
    found = events(server)
    assert limits_by_pool(found) == {"pool_1": [1, 2, 3, 4]}
    assert len(found) == 6
    assert is_chain(found)


def test_nothing_to_number_costs_one_look_at_an_index(server: SqlStore) -> None:
    carry_out(server, create())
    server.number_events("root")
    with counted(server) as statements:
        server.number_events("root")
    assert len(statements) == 1
    assert "FOR UPDATE" not in statements[0]
    explain = "EXPLAIN SELECT id FROM events WHERE tenant_id = 'root' AND sequence IS NULL LIMIT 1"

    def plan(connection: Connection) -> str:
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        return "\n".join(connection.scalars(text(explain)))

    assert "Index Scan" in server._database.read(plan)
    assert "tenant_id" in server._database.read(plan)


def test_on_sqlite_there_is_nothing_to_number(sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        populate(store)
        carry_out(store, create())
        with counted(store) as statements:
            store.number_events("root")
        assert statements == []
        assert [e.sequence for e in events(store)] == [1]


def test_many_who_number_at_once_give_each_number_once(server: SqlStore) -> None:
    for number in range(5):
        carry_out(server, create(pool_id=f"pool_{number}"))
        carry_out(server, offer(pool_id=f"pool_{number}"))
    start = threading.Barrier(6, timeout=20)

    def race(_: int) -> list[EventRecord]:
        start.wait()
        return events(server)

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(race, range(6)))
    assert all(one == found[0] for one in found)
    assert len(found[0]) == 10
    assert is_chain(found[0])


def test_who_numbers_while_another_does_waits_and_goes_on_behind_it(postgres_url: str) -> None:
    """Had it not waited it would give the same numbers to other events, and one of the two had to begin again."""
    pauses: list[float] = []
    with opened(postgres_url, sleep=pauses.append) as store, ThreadPoolExecutor(1) as threads:
        populate(store)
        carry_out(store, create(), time=NOW + 9)
        second: list[Future[None]] = []

        def interrupt(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            if statement.startswith("UPDATE events") and not second:
                second.append(threads.submit(lambda: None))
                carry_out(store, create(pool_id="pool_2"), time=NOW)
                second[0] = threads.submit(store.number_events, "root")
                wait(second, timeout=0.2)

        hooks.listen(store._database.engine, "before_cursor_execute", interrupt)
        store.number_events("root")
        second[0].result()
        found = store.view(lambda tx: tx.events(EventQuery(tenant_id="root", limit=10)))
    assert [e.pool_id for e in found] == ["pool_1", "pool_2"]
    assert is_chain(found)
    assert pauses == []


def test_numbers_given_while_writers_write_have_no_gap_and_follow_each_pool(server: SqlStore) -> None:
    """Writers with clocks that are wrong, one pool each; readers who number and read beside them."""
    pools, changes, clock = [f"pool_{n}" for n in range(4)], 25, random.Random(7)
    for pool_id in pools:
        carry_out(server, create(pool_id=pool_id))
    done = threading.Event()
    seen: list[list[EventRecord]] = []

    def write(pool_id: str) -> None:
        for limit in range(1, changes + 1):
            carry_out(server, offer(quota={"gpu": limit}, pool_id=pool_id), time=NOW + clock.randrange(1000))

    def read() -> None:
        while not done.is_set():
            seen.append(events(server))

    with ThreadPoolExecutor(6) as threads:
        readers = [threads.submit(read) for _ in range(2)]
        for writer in [threads.submit(write, pool_id) for pool_id in pools]:
            writer.result()
        done.set()
        for reader in readers:
            reader.result()
    found = events(server)
    assert len(found) == len(pools) * (changes + 1)
    assert is_chain(found)
    assert limits_by_pool(found) == {pool_id: list(range(1, changes + 1)) for pool_id in pools}
    assert len(seen) > 2
    for earlier in seen:
        assert earlier == found[: len(earlier)], "what has a number keeps it"


def test_a_numbering_that_is_cut_off_is_as_if_it_had_not_begun(server: SqlStore) -> None:
    carry_out(server, create())

    def work(connection: Connection) -> None:
        [batch] = numbering.waiting(connection, "root")
        numbering.number(connection, "root", batch)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        server._database.write(work)
    assert server.view(lambda tx: tx.last_sequence("root")) == 0
    carry_out(server, offer())
    assert is_chain(events(server))


def test_an_events_id_is_its_own(server: SqlStore) -> None:
    taken = new_event().id
    carry_out(server, create(), id=taken)
    with pytest.raises(Exception, match="pk_events"):
        carry_out(server, offer(), id=taken)
