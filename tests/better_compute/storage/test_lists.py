"""Lists of pools: complete while pools come and go, and as many statements for a thousand as for one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from better_compute.service.ports import PartQuery
from better_compute.storage import SqlStore
from tests.better_compute.storage.changes import carry_out, counted, events, opened, populate, seen, seen_ids
from tests.decisions import archive, create, offer, unoffer


def walk(store: SqlStore, tenant_id: str, limit: int) -> list[str]:
    """The ids of all pages."""
    found: list[str] = []
    while page := seen_ids(store, tenant_id, limit=limit, after=found[-1] if found else None):
        found += page
    return found


def test_a_walk_finds_what_lived_throughout_exactly_once(store: SqlStore) -> None:
    stay = [f"pool_{n:02d}" for n in range(0, 40, 2)]
    go = [f"pool_{n:02d}" for n in range(1, 40, 4)]
    for pool_id in (*stay, *go):
        carry_out(store, create(pool_id=pool_id))
        carry_out(store, offer("acme", pool_id=pool_id))
    come = iter([f"pool_{n:02d}" for n in range(3, 40, 4)])
    gone = iter(go)
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set() and (new := next(come, None)) and (old := next(gone, None)):
            carry_out(store, create(pool_id=new))
            carry_out(store, offer("acme", pool_id=new))
            carry_out(store, archive(pool_id=old) if int(old[5:]) % 8 == 1 else unoffer("acme", pool_id=old))
            for pool_id in stay[:3]:
                carry_out(store, offer("acme", {"gpu": int(new[5:])}, pool_id=pool_id))

    with ThreadPoolExecutor(1) as threads:
        churning = threads.submit(churn)
        walks = [walk(store, tenant, limit) for tenant in ("acme", "root") for limit in (1, 3, 7)]
        stop.set()
        churning.result()
    for found in walks:
        assert found == sorted(set(found))
        assert set(stay) <= set(found)


@pytest.mark.parametrize(
    "query", [{}, {"offers": True}, {"ids": [f"pool_{n}" for n in range(30)]}], ids=["plain", "offers", "ids"]
)
@pytest.mark.parametrize("tenant_id", ["root", "acme"])
def test_a_larger_page_takes_no_more_statements(store: SqlStore, tenant_id: str, query: dict[str, Any]) -> None:
    for number in range(20):
        carry_out(store, create(pool_id=f"pool_{number}"))
        carry_out(store, offer("acme", pool_id=f"pool_{number}"))
        carry_out(store, offer("globex", pool_id=f"pool_{number}"))
    with counted(store) as few:
        assert len(seen(store, tenant_id, limit=1, **query)) == 1
    with counted(store) as many:
        assert len(seen(store, tenant_id, **query)) == 20
    assert len(few) == len(many) <= 5, "with its BEGIN"


def test_a_page_of_events_takes_one_statement(store: SqlStore) -> None:
    for number in range(10):
        carry_out(store, create(pool_id=f"pool_{number}"))
    events(store)
    with counted(store) as statements:
        assert len(events(store, latest=True, pool_ids=[f"pool_{n}" for n in range(1000)])) == 10
    assert len(statements) <= 2, "a look for events without a number, and on SQLite a BEGIN"


def test_nothing_that_grows_is_read_whole(sqlite_url: str) -> None:
    """SQLite tells how it finds its rows: never by scanning a table, nor by sorting more than it was given ids."""
    with opened(sqlite_url) as store:
        populate(store)
        carry_out(store, create())
        with counted(store) as statements:
            seen(store, "root", offers=True)
            seen(store, "acme", ids=["pool_1"])
            seen(store, "root", archived=False, owned=True)
            store.view(lambda tx: tx.pools_by_key(["k"]))
            store.view(lambda tx: tx.nodes("pool_1", 10, None))
            store.view(lambda tx: tx.machines_for(["k"]))
            store.view(lambda tx: tx.nodes_there(["node_1"]))
            for query in part_queries():
                store.view(lambda tx, q=query: (tx.offers(q), tx.quota_rows(q)))  # type: ignore[misc]
            store.view(lambda tx: tx.sites("root", 10, None))
            store.view(lambda tx: tx.credential_by_hash(b""))
            store.transact(lambda tx: tx.pool_state("pool_1", ["acme"]))
            events(store, pool_ids=["pool_1"], latest=True)
            events(store, newest_first=True)
            carry_out(store, offer())
        selects = [s for s in statements if s.startswith(("SELECT", "UPDATE", "DELETE"))]
        assert len(selects) > 20
        for statement in selects:
            plan = store._database.read(lambda c, s=statement: explained(c, s))  # type: ignore[misc]
            small = plan.replace("SCAN 1 CONSTANT ROW", "").replace("SCAN anon_1", "a page that was found")
            assert "SCAN" not in small, (statement, plan)
            assert " IN (" in statement or "USE TEMP B-TREE FOR ORDER BY" not in plan, (statement, plan)


def part_queries() -> Iterator[PartQuery]:
    for after in ((), ("pool_0", "acme", "gpu")):
        for of in (None, "root", "acme"):
            yield PartQuery(tenant_id="root", limit=10, after=after, of=of)
            yield PartQuery(tenant_id="root", limit=10, after=after, of=of, pool_id="pool_1")


def explained(connection: Any, statement: str) -> str:
    given = ("x",) * statement.count("?")
    return "\n".join(row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given))
