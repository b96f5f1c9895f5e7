"""Events: written with their change, in one chain a tenant, and found again."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from sqlalchemy import select

from better_compute.domain.commands import Command
from better_compute.domain.state import Delta
from better_compute.service.ports import EventQuery, EventRecord, Tx
from better_compute.storage import SqlStore
from better_compute.storage import tables as t
from better_compute.storage.chain import chain_hash, link
from tests.better_compute.storage.changes import (
    carry_out,
    carry_out_in,
    counted,
    events,
    is_chain,
    join,
    new_event,
    pool_state,
)
from tests.builders import NOW, a_node, an_event
from tests.decisions import archive, create, offer, set_quota, unoffer, update


def act(store: SqlStore, *commands: Command) -> None:
    for command in commands:
        carry_out(store, command)


def told(found: list[EventRecord]) -> list[tuple[int | None, str, str | None]]:
    return [(event.sequence, event.type, event.to_tenant_id) for event in found]


def test_an_event_comes_back_as_it_was_written(store: SqlStore) -> None:
    state = carry_out(store, create())
    assert state.pool is not None
    state.pool = replace(state.pool, version=2)
    via = {"plan": "sha256:…", "n": 1.0}
    event = new_event(to_tenant_id="acme", via=via, data={"before": None, "after": {"ä": [1, 1.0, "\u0000", None]}})

    store.transact(lambda tx: tx.save(state, Delta(pool=state.pool), event))
    [_, found] = events(store)
    assert replace(found, sequence=None, hash=None) == event
    assert found.sequence == 2
    assert repr(found.data) == repr(event.data)


def test_each_change_has_one_event_and_no_change_has_none(store: SqlStore) -> None:
    act(store, create(), create(), offer(), offer(), set_quota("acme", {"gpu": 1}), set_quota("acme", {"gpu": 1}))
    act(store, unoffer(), unoffer(), update(gpu_model="H200"), update(gpu_model="H200"), archive(), archive())
    assert told(events(store)) == [
        (1, "pool.created", None),
        (2, "pool.offered", "acme"),
        (3, "quota.updated", "acme"),
        (4, "pool.unoffered", "acme"),
        (5, "pool.updated", None),
        (6, "pool.archived", None),
    ]


def test_a_tenants_events_are_its_own_chain(store: SqlStore) -> None:
    act(store, create(), offer())
    carry_out(store, create(pool_id="pool_2"))
    join(store, a_node())
    found = events(store)
    assert [event.sequence for event in found] == [1, 2, 3, 4]
    assert is_chain(found)
    assert is_chain(found[2:], previous=found[1].hash or "", last=2)
    assert events(store, "acme") == []
    assert store.view(lambda tx: tx.last_sequence("root")) == 4
    assert store.view(lambda tx: tx.last_sequence("acme")) == 0


def test_the_chain_goes_on_where_it_ended(store: SqlStore) -> None:
    act(store, create())
    assert len(events(store)) == 1
    act(store, offer(), unoffer())
    assert is_chain(events(store))
    assert len(events(store)) == 3


@pytest.mark.parametrize(
    "change",
    [{"actor_id": "sa_mallory"}, {"data": {"after": 1}}, {"time": NOW + 9}, {"via": {"a": 1}}, {"sequence": 3}],
    ids=lambda change: next(iter(change)),
)
def test_a_chain_shows_what_was_tampered_with(change: dict[str, object]) -> None:
    first = link(an_event("evt_1"), 1, "")
    second = link(an_event("evt_2"), 2, first.hash or "")
    third = link(an_event("evt_3"), 3, second.hash or "")
    assert is_chain([first, second, third])
    assert not is_chain([first, replace(second, **change), third])  # type: ignore[arg-type]
    assert not is_chain([first, third])
    assert not is_chain([second, first, third])


def test_the_hash_is_over_the_canonical_event() -> None:
    event = an_event("evt_1", data={"b": 1, "a": "ä"}, to_tenant_id="acme", sequence=7)
    again = replace(event, data={"a": "ä", "b": 1})
    assert chain_hash(event, "x") == chain_hash(again, "x") != chain_hash(event, "y")
    canonical = (
        '{"actorId":"sa_fleet","data":{"a":"\\u00e4","b":1},"id":"evt_1","poolId":"pool_1","sequence":7,'
        f'"tenantId":"root","time":{NOW},"toTenantId":"acme","type":"pool.updated"}}'
    )
    assert chain_hash(event, "x") == hashlib.sha256(f"x{canonical}".encode()).hexdigest()


def test_events_are_read_in_pages_in_both_directions(store: SqlStore) -> None:
    act(store, create(), *(offer("acme", {"gpu": n}) for n in range(1, 5)))
    assert [e.sequence for e in events(store, limit=2)] == [1, 2]
    assert [e.sequence for e in events(store, limit=2, after=2)] == [3, 4]
    assert [e.sequence for e in events(store, after=5)] == []
    assert [e.sequence for e in events(store, limit=2, newest_first=True)] == [5, 4]
    assert [e.sequence for e in events(store, newest_first=True, before=4, after=1)] == [3, 2]


def test_events_are_chosen_by_type_and_prefix(store: SqlStore) -> None:
    act(store, create(), offer(), set_quota("acme", {"gpu": 1}))
    join(store, a_node())

    def types(*wanted: str) -> list[str]:
        return [event.type for event in events(store, types=wanted)]

    assert types("pool.offered") == ["pool.offered"]
    assert types("pool.*") == ["pool.created", "pool.offered"]
    assert types("node.*", "pool.created", "quota.updated") == ["pool.created", "quota.updated", "node.joined"]
    assert types("pool", "POOL.*", "po%.*", "*", ".*", "pool.offered*") == []
    assert types() == []


def test_events_are_chosen_by_pool(store: SqlStore) -> None:
    act(store, create(), create(pool_id="pool_2"), offer(), offer(pool_id="pool_2"), create(pool_id="pool_3"))
    assert [e.sequence for e in events(store, pool_ids=["pool_2", "pool_9"])] == [2, 4]
    assert [e.sequence for e in events(store, pool_ids=[f"pool_{n}" for n in range(1000)])] == [1, 2, 3, 4, 5]
    assert events(store, pool_ids=[]) == []


def test_the_latest_are_the_newest_of_each_pool_and_of_each_pair(store: SqlStore) -> None:
    act(store, create(), offer(), offer("globex"), set_quota("acme", {"gpu": 1}), create(pool_id="pool_2"))
    join(store, a_node())
    act(store, update(gpu_model="H100", policy={"maxPending": "6h"}), set_quota("root", {"gpu": 1}))
    join(store, a_node("node_2"))
    latest = events(store, latest=True)
    assert told(latest) == [
        (3, "pool.offered", "globex"),
        (4, "quota.updated", "acme"),
        (5, "pool.created", None),
        (7, "pool.updated", None),
        (8, "quota.updated", "root"),
    ]
    assert events(store, latest=True, pool_ids=["pool_2"]) == [latest[2]]
    assert events(store, latest=True, types=["pool.*"]) == [latest[0], latest[2], latest[3]]
    assert events(store, latest=True, limit=2, after=4) == latest[2:4]
    assert events(store, latest=True, limit=1, newest_first=True) == latest[-1:]


def test_a_rolled_back_change_has_no_event(store: SqlStore) -> None:
    carry_out(store, create())
    before = pool_state(store)

    def work(tx: Tx) -> None:
        carry_out_in(tx, offer())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.transact(work)
    assert pool_state(store) == before
    assert told(events(store)) == [(1, "pool.created", None)]
    carry_out(store, offer())
    assert is_chain(events(store))


def test_numbering_again_changes_nothing(store: SqlStore) -> None:
    act(store, create(), offer())
    first = events(store)
    for _ in range(3):
        store.number_events("root")
    store.number_events("nobody")
    assert store.view(lambda tx: tx.events(EventQuery(tenant_id="root", limit=10))) == first


def test_machines_that_join_at_once_have_one_event_each_in_their_order(store: SqlStore) -> None:
    carry_out(store, create())
    carry_out(store, create(pool_id="pool_2"))
    join(store, *[a_node(f"node_{n}") for n in range(3)], time=NOW)
    join(store, a_node("node_0b", pool_id="pool_2"))
    join(store, a_node("node_3"), time=NOW)
    found = events(store)
    assert is_chain(found)
    of_pool = [event for event in found if (event.type, event.pool_id) == ("node.joined", "pool_1")]
    assert [event.id for event in of_pool] == sorted(event.id for event in of_pool)
    assert len(of_pool) == 4
    assert pool_state(store).rollup.nodes == 4
    revisions = select(t.events.c.revision).where(t.events.c.pool_id == "pool_1").order_by(t.events.c.id)
    assert store._database.read(lambda c: list(c.execute(revisions).scalars())) == [1, 2, 3, 4, 5]


def test_a_hundred_machines_join_with_as_few_statements_as_two(store: SqlStore) -> None:
    carry_out(store, create())

    def statements(first: int, number: int) -> int:
        with counted(store) as seen:
            join(store, *[a_node(f"node_{n}") for n in range(first, first + number)])
        return len(seen)

    assert statements(0, 2) == statements(2, 100)
