"""Many at once on one pool: each change is whole, and none is lost."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest

from better_compute.service import identities
from better_compute.service.ports import Caller
from better_compute.wire.inputs import CredentialsRevoke
from tests.better_compute.plane import Plane, open_plane

TENANTS = ("acme", "acme-eu", "globex", "umbrella")


def test_parallel_offers_of_one_pool_all_count(either: Plane) -> None:
    """K085: 20 at a time, and none of them answers 500."""
    pool_id = either.pool()

    def offer(n: int) -> Any:
        return either.offer(pool_id, TENANTS[n % 4], quota={"gpu": n + 1, "vcpu": 0})["version"]

    with ThreadPoolExecutor(20) as threads:
        versions = list(threads.map(offer, range(60)))
    assert sorted(versions) == list(range(2, 62))
    pool = either.get(pool_id)
    assert (pool["version"], pool["offersVersion"]) == (1, 61)
    events = either.events()
    assert [e["sequence"] for e in events] == list(range(1, 62))
    for tenant in TENANTS:
        told = [e["data"] for e in events if e.get("toTenantId") == tenant]
        assert [data["before"] for data in told] == [None, *[data["after"] for data in told[:-1]]]
        offer_now = next(o for o in pool["offers"] if o["toTenantId"] == tenant)
        assert {q["resource"]: q["max"] for q in offer_now["quotas"]} == told[-1]["after"]["quota"]


def test_of_parallel_writes_that_expect_one_version_one_is_done(either: Plane) -> None:
    pool_id = either.pool()
    version = either.offer(pool_id, quota={"gpu": 1000})["version"]

    def set_quota(n: int) -> str:
        body = {"poolId": pool_id, "toTenantId": "acme", "quota": {"gpu": n}, "expectedVersion": version}
        return either.ask("sa_fleet", "quotas/set", body).code

    with ThreadPoolExecutor(8) as threads:
        codes = list(threads.map(set_quota, range(16)))
    assert sorted(codes) == ["OK"] + ["VERSION_CONFLICT"] * 15


def test_a_single_tenant_pool_has_one_tenant_whatever_the_race(either: Plane) -> None:
    """Invariant 6."""
    pool_id = either.pool(policy={"singleTenant": True})

    def offer(tenant: str) -> str:
        body = {"poolId": pool_id, "toTenantId": tenant, "quota": {"gpu": 1}}
        return either.ask("sa_fleet", "pools/offer", body).code

    with ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(offer, TENANTS))
    assert sorted(codes) == ["INVALID_STATE"] * 3 + ["OK"]
    assert len(either.get(pool_id)["offers"]) == 1


def test_an_archive_among_offers_leaves_none(either: Plane) -> None:
    """Invariant 4."""
    pool_id = either.pool()

    def act(n: int) -> str:
        if n == 7:
            return either.ask("sa_fleet", "pools/archive", poolId=pool_id).code
        body = {"poolId": pool_id, "toTenantId": TENANTS[n % 4], "quota": {"gpu": n}}
        return either.ask("sa_fleet", "pools/offer", body).code

    with ThreadPoolExecutor(8) as threads:
        codes = set(threads.map(act, range(16)))
    assert codes <= {"OK", "INVALID_STATE"}
    pool = either.get(pool_id)
    assert pool["archived"]
    assert pool["offers"] == []
    archived = [e for e in either.events() if e["type"] == "pool.archived"]
    assert len(archived) == 1
    assert archived[0]["sequence"] == len(either.events())


def test_of_parallel_revocations_the_first_counts(either: Plane) -> None:
    """Each reads the clock when it has seen that the token counts, and there waits for the other a while."""
    both, times = Barrier(2), count(1)

    def clock() -> int:
        with suppress(BrokenBarrierError):
            both.wait(0.5)
        return next(times)

    service, root = replace(either.service, clock=clock), Caller(identity_id="sa_fleet", tenant_id="root")
    body = CredentialsRevoke(tenant_id="acme", credential_id="cred_sa_acme")
    with ThreadPoolExecutor(2) as threads:
        told = list(threads.map(lambda _: identities.revoke(service, root, body).revoked_at, range(2)))
    stored = either.store.view(lambda tx: tx.credential("cred_sa_acme"))
    assert stored is not None
    assert told == [1, 1] == [stored.revoked_at] * 2


def test_readers_see_whole_changes(either: Plane) -> None:
    """An offer's row, its quota rows and its version come together."""
    pool_id = either.pool()
    either.offer(pool_id, quota={"gpu": 0, "vcpu": 0})

    def write(_: int) -> None:
        for n in range(1, 11):
            either.offer(pool_id, quota={"gpu": n, "vcpu": n})

    def read(_: int) -> list[tuple[int, int]]:
        seen = []
        for _ in range(10):
            for offer in either.get(pool_id)["offers"]:
                rows = {q["resource"]: q["max"] for q in offer["quotas"]}
                seen.append((rows["gpu"], rows["vcpu"]))
        return seen

    with ThreadPoolExecutor(4) as threads:
        writes, reads = threads.submit(write, 0), threads.map(read, range(3))
        pairs = [pair for seen in reads for pair in seen]
        writes.result()
    assert len(pairs) == 30
    assert all(gpu == vcpu for gpu, vcpu in pairs)


def test_a_wait_that_runs_out_is_told_and_has_written_nothing(tmp_path: Path) -> None:
    """K085: another process holds the database's lock for longer than a request waits."""
    path = tmp_path / "plane.sqlite"
    plane = open_plane(f"sqlite:///{path}", wait_seconds=0.05)
    pool_id = plane.pool()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        busy = plane.ask("sa_fleet", "pools/offer", poolId=pool_id, toTenantId="acme", quota={"gpu": 1})
        assert plane.get(pool_id)["offers"] == []
        other.execute("ROLLBACK")
    assert (busy.raw.status, busy.code) == (503, "UNAVAILABLE")
    assert int(busy.raw.headers["retry-after"]) >= 1
    assert busy.error["retryAfterMs"] > 0
    assert plane.offer(pool_id)["version"] == 2
    plane.store.close()


@pytest.mark.parametrize(
    ("operation", "body"),
    [("sites/create", {"name": "x", "kind": "custom", "region": "eu"}), ("identities/create", {"id": "world"})],
)
def test_what_is_wrong_by_itself_is_told_without_waiting(tmp_path: Path, operation: str, body: dict[str, Any]) -> None:
    path = tmp_path / "plane.sqlite"
    plane = open_plane(f"sqlite:///{path}", wait_seconds=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert plane.ask("sa_fleet", operation, body).code == "INVALID_INPUT"
    plane.store.close()
