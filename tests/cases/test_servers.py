"""Kind j: several servers at one database, and clocks that differ, as reservations meet them."""

from __future__ import annotations

import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from sqlalchemy import text

from better_compute.bootstrap import SYSTEM, connect
from better_compute.bootstrap.plane import opened
from better_compute.bootstrap.tokens import first_token
from better_compute.client import Client
from better_compute.domain.problems import ComputeError
from better_compute.domain.usage import HOUR
from better_compute.reconcilers.admission import admit_all
from better_compute.reconcilers.placer import place_all
from better_compute.storage import schema
from tests.better_compute.api.served import served
from tests.better_compute.plane import CARD, START, open_plane
from tests.better_compute.storage.test_schema import database, made_by_0001
from tests.e2e.conftest import command, environment, serving
from tests.e2e.homes import H100
from tests.invariants import broken, found_in

SECOND, MINUTE = 1000, 60_000


def book(client: Client, pool: str) -> str:
    """The state of what was reserved, or the code of the refusal."""
    try:
        return client.reservations.create(pool, {"gpu": 1}).state
    except ComputeError as error:
        return error.code


@pytest.mark.parametrize("old", [False, True], ids=["empty", "of the first build"])
def test_k091_five_servers_come_up_at_once_and_share_what_there_is_to_book(
    database_url: str, tmp_path: Path, old: bool
) -> None:
    if old:
        made_by_0001(database_url, None)
    with ExitStack() as running, ThreadPoolExecutor(5) as threads:
        servers = list(threads.map(running.enter_context, [serving(database_url) for _ in range(5)]))
        token = tmp_path / "root.token"
        with opened(database_url, SYSTEM, create=False) as plane:
            first_token(plane, token)
        clients = [
            running.enter_context(connect(server.url, tenant_id="root", token=token.read_text().strip())).client
            for server in servers
        ]
        assert len({client.system.info().instance_id for client in clients}) == 1
        site = clients[0].sites.create(name="Frankfurt", kind="shared", region="eu")
        pool = clients[0].call("pools/create", {**H100, "siteId": site.id, "ownerQuota": {"gpu": 3}})["id"]
        secret = clients[1].nodes.create_join_token(pool).join_token
        clients[2].nodes.join(pool, join_token=secret, inventory={"gpus": [CARD] * 8})
        booked = Counter(threads.map(lambda client: book(client, pool), clients))
        assert booked == {"placed": 3, "LIMIT_EXCEEDED": 2}
        assert [(row.used, row.available) for row in clients[4].quotas.list(pool, "root")] == [(3, 0)]
    with database(database_url) as found:
        assert found.read(broken) == []
        versions = found.read(lambda c: c.scalars(text("SELECT version_num FROM alembic_version")).all())
        assert versions == [schema.NEWEST]


def rows_of(url: str) -> dict[str, Any]:
    with database(url) as found:
        return found.read(found_in).rows


def test_k091_an_older_build_leaves_the_bookings_of_a_newer_one_alone(database_url: str) -> None:
    plane = open_plane(database_url)
    with closing(plane.store) as store:
        pool_id = plane.hosts_pool(1)
        assert [plane.reserve(pool_id)["state"] for _ in range(2)] == ["placed", "pending"]
        newer = text("UPDATE alembic_version SET version_num = '0099'")
        store._database.write(lambda c: c.execute(newer))  # type: ignore[attr-defined]
    before = rows_of(database_url)
    for words in (["serve", "--listen", "127.0.0.1:0"], ["reservations", "list", "--as", "sa_acme"], ["reconcile"]):
        line = command("better-compute", *words, "--database", database_url)
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, env=environment(), check=False)
        assert done.returncode == 1, done
        assert "schema is newer than this build: it is 0099" in done.stderr
        assert "Traceback" not in done.stderr
    assert rows_of(database_url) == before


def times(acme: Client, reservation_id: str) -> list[int]:
    """Those that it shows, after the time at which a plane begins."""
    found = acme.reservations.get(reservation_id)
    shown = (found.created_at, found.placed_at, found.activated_at, found.ended_at)
    return [time - START for time in shown if time is not UNSET]


@pytest.mark.parametrize("ahead", [-5 * MINUTE, 5 * MINUTE], ids=["behind", "ahead"])
def test_k093_times_of_a_reservation_are_the_servers_and_never_run_backwards(database_url: str, ahead: int) -> None:
    """Its client's clock is five minutes off, and its own steps back by two seconds."""
    plane = open_plane(database_url)
    pool_id = plane.hosts_pool(policy={"maxPending": "10m"})
    off = replace(SYSTEM, clock=lambda: plane.time.now + ahead)
    with (
        closing(plane.store),
        served(plane.handle) as url,
        connect(url, tenant_id="acme", token="bc_sa_acme", runtime=off) as connection,
    ):
        acme = connection.client
        made = acme.reservations.create(pool_id, {"gpu": 1}).id
        plane.join(pool_id, CARD)
        plane.time.now += 10 * SECOND
        place_all(plane.service)
        plane.time.now -= 2 * SECOND
        admit_all(plane.service)
        assert acme.reservations.get(made).state == "active"
        assert acme.usage.list(START, START + HOUR) == [], "nothing ran for less than no time"
        plane.time.now += SECOND
        acme.reservations.end(made)
        assert times(acme, made) == [0, 10 * SECOND, 10 * SECOND, 10 * SECOND]

        runs = acme.reservations.create(pool_id, {"gpu": 1}).id
        admit_all(plane.service)
        assert times(acme, runs) == [9 * SECOND] * 3
        waits = acme.reservations.create(pool_id, {"gpu": 1}).id
        for passed, state in ((-2 * SECOND, "pending"), (10 * MINUTE, "pending"), (10 * MINUTE + 1, "failed")):
            plane.time.now = START + 9 * SECOND + passed
            place_all(plane.service)
            assert acme.reservations.get(waits).state == state
        plane.time.now = START + 9 * SECOND + HOUR
        assert [row.hours for row in acme.usage.list(START, START + 2 * HOUR)] == ["1.000000"]
