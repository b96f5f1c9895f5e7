"""What concurrent clients see of pools has an explanation in one order, however often the server is killed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from sqlalchemy import text

from better_compute.bootstrap import SYSTEM, connect
from better_compute.bootstrap.plane import opened
from better_compute.bootstrap.tokens import new_token
from tests.e2e.booking_model import TENANTS, Operation, State, step
from tests.e2e.histories import Recorder, instance, stale
from tests.invariants import broken
from tests.linear import Done, refutation

POOLS = 4
WORLD = """\
tenants: [{id: acme}, {id: globex}]
sites: [{id: site_fra1, tenantId: root, kind: shared, region: eu}]
identities:
  - {id: sa_root, tenantId: root}
  - {id: sa_acme, tenantId: acme}
  - {id: sa_globex, tenantId: globex}
machines:
""" + "".join(
    f"  - {{pool: pool-{n}, count: 40, gpus: {{name: NVIDIA H100 80GB HBM3, count: 8}}}}\n" for n in range(POOLS)
)
"""Hosts with room for all that may be booked: each tenant holds 12 GPUs of a pool at most, and what it kept of offers
that were withdrawn."""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    path = tmp_path / "world.yaml"
    path.write_text(WORLD)
    return path


def recorded(database: str, world: Path, operations: int, kills: int, seed: int) -> list[list[Done]]:
    """The histories of four new pools; what the database holds at their end is whole."""
    with opened(database, SYSTEM, world) as plane:
        tokens = {tenant: new_token(plane, f"sa_{tenant}") for tenant in ("root", *TENANTS)}
    with instance(database) as running:
        assert running.server is not None
        with connect(running.server.url, tenant_id="root", token=tokens["root"]) as root:
            made = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"}
            pools = [
                root.client.call("pools/create", {**made, "idempotencyKey": f"pool-{n}"})["id"] for n in range(POOLS)
            ]
        histories = Recorder(running, tokens, pools, seed).record(operations, kills)
    assert sum(len(history) for history in histories.values()) >= operations
    assert_whole(database, acknowledged(histories.values()))
    return list(histories.values())


def assert_whole(database: str, granted: set[str]) -> None:
    """Nothing is half there, every event has its number, and what was granted and not given back is still held."""
    with opened(database, SYSTEM) as plane:
        plane.store.number_events("root")
        last = plane.store.view(lambda tx: tx.last_sequence("root"))
        read = plane.store._database.read  # type: ignore[attr-defined]
        assert read(broken) == []
        assert read(lambda c: c.scalar(text("SELECT count(*) FROM events"))) == last
        live = text("SELECT idempotency_key FROM reservations WHERE state IN ('placed', 'active')")
        assert granted <= read(lambda c: set(c.scalars(live)))


def acknowledged(histories: Iterable[list[Done]]) -> set[str]:
    """The keys of the bookings that were granted and never asked to end."""
    keys: dict[str, set[str]] = {"book": set(), "end": set()}
    for done in (done for history in histories for done in history):
        assert isinstance(done.operation, Operation)
        if done.operation.name == "end" or done.answer == "live":
            keys[done.operation.name].add(done.operation.key)
    return keys["book"] - keys["end"]


def judge(histories: list[list[Done]]) -> None:
    for history in histories:
        refuted = refutation(history, State(), step)
        assert refuted is None, refuted


@pytest.mark.parametrize("seed", [1, 2])
def test_histories_of_killed_servers_are_explained_on_sqlite(tmp_path: Path, world: Path, seed: int) -> None:
    judge(recorded(f"sqlite:///{tmp_path / 'plane.db'}", world, 2_000, 4, seed))


def test_a_history_of_killed_servers_is_explained_on_postgresql(postgres_url: str, world: Path) -> None:
    histories = recorded(postgres_url, world, 2_000, 4, 3)
    judge(histories)
    # Among the many looks of a history there is one whose stale answer nothing explains.
    assert any(refutation(altered, State(), step) for history in histories for altered in stale(history))


@pytest.mark.parametrize("kills", [20, pytest.param(100, marks=pytest.mark.long)])
def test_a_server_that_is_killed_again_and_again_loses_nothing(database_url: str, world: Path, kills: int) -> None:
    judge(recorded(database_url, world, 40 * kills, kills, 1_000 + kills))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_many_long_histories_are_explained(
    request: pytest.FixtureRequest, tmp_path: Path, world: Path, seed: int
) -> None:
    database = request.getfixturevalue("postgres_url") if seed % 2 else f"sqlite:///{tmp_path / 'plane.db'}"
    judge(recorded(database, world, 5_000, 10, 100 + seed))
