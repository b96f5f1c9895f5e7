"""Kind j: a change of a reservation and its event are one, wherever a server of real clients is killed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text

from better_compute.bootstrap import SYSTEM, connect
from better_compute.bootstrap.plane import opened
from better_compute.bootstrap.tokens import new_token
from better_compute.client import Client
from better_compute.domain.problems import ComputeError
from tests.better_compute.plane import CARD
from tests.e2e.conftest import WORLD, Server, serving
from tests.e2e.homes import H100
from tests.invariants import broken
from tests.waiting import LONG, until

HASTY = replace(SYSTEM, sleep=lambda _: None)
"""A client that asks again at once: its server is gone, or fails for ever."""

DOOM = """
import os, signal, sqlite3, sys, threading
import psycopg
from sqlalchemy.engine.default import DefaultDialect
from better_compute.storage.events import EventTx

when, *doomed = os.environ["DOOM"].split(", ")
told = threading.local()
append, commit, rollback = EventTx._append, DefaultDialect.do_commit, DefaultDialect.do_rollback

def appending(tx, events, revision):
    append(tx, events, revision)
    told.events = [*getattr(told, "events", ()), *(f"{event.type} {event.pool_id}" for event in events)]

def full(connection):
    if isinstance(connection.driver_connection, sqlite3.Connection):
        error = sqlite3.OperationalError("full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        return error
    return psycopg.errors.DiskFull("full")

def committing(dialect, connection):
    events, told.events = getattr(told, "events", ()), ()
    found = [event for event in events if event in doomed]
    if not found:
        return commit(dialect, connection)
    if when == "after":
        commit(dialect, connection)
    if when != "never":
        os.kill(os.getpid(), signal.SIGKILL)
    rollback(dialect, connection)
    print("doomed:", *found, file=sys.stderr, flush=True)
    raise full(connection)

def rolling_back(dialect, connection):
    told.events = ()
    rollback(dialect, connection)

EventTx._append, DefaultDialect.do_commit, DefaultDialect.do_rollback = appending, committing, rolling_back
"""
"""What a server runs before all else: it kills itself `before` or `after` the commit of an event of some kind in some
pool, or it has no such commit (`never`: the disk is full) and rolls back."""


@dataclass(frozen=True)
class Site:
    """A control plane whose servers come and go, and the tokens of its people."""

    database: str
    directory: Path
    tokens: dict[str, str]

    @contextmanager
    def served(self, **environ: str) -> Iterator[tuple[Server, Client, Client]]:
        """A server, with the clients of root and of acme."""
        with (
            serving(self.database, **environ) as server,
            connect(server.url, tenant_id="root", token=self.tokens["sa_fleet"], runtime=HASTY) as root,
            connect(server.url, tenant_id="acme", token=self.tokens["sa_acme"], runtime=HASTY) as acme,
        ):
            yield server, root.client, acme.client

    def count(self, kind: str, pool: str) -> int:
        """How many events of a kind there are of a pool; whatever is stored is whole, so each change has its own."""
        with opened(self.database, SYSTEM, create=False) as plane:
            read = plane.store._database.read  # type: ignore[attr-defined]
            assert read(broken) == []
            counted = text("SELECT count(*) FROM events WHERE type = :kind AND pool_id = :pool")
            return int(read(lambda c: c.scalar(counted, {"kind": kind, "pool": pool})))


@pytest.fixture
def site(database_url: str, tmp_path: Path) -> Site:
    world = tmp_path / "world.yaml"
    world.write_text(WORLD)
    with opened(database_url, SYSTEM, world) as plane:
        tokens = {who: new_token(plane, who) for who in ("sa_fleet", "sa_acme")}
    (tmp_path / "sitecustomize.py").write_text(DOOM)
    return Site(database_url, tmp_path, tokens)


def a_pool(root: Client, key: str, *, roomy: bool) -> str:
    """A pool that acme is offered, with a host or without."""
    pool: str = root.call("pools/create", {**H100, "idempotencyKey": key})["id"]
    root.call("pools/offer", {"poolId": pool, "toTenantId": "acme", "quota": {"gpu": 8}})
    if roomy:
        token = root.nodes.create_join_token(pool).join_token
        root.nodes.join(pool, join_token=token, inventory={"gpus": [CARD]})
    return pool


def book(acme: Client, pool: str) -> str:
    return acme.reservations.create(pool, {"gpu": 1}, idempotency_key=pool).id


STATES = {
    "reservation.pending": "pending",
    "reservation.placed": "active",
    "reservation.activated": "active",
    "reservation.ended": "ended",
    "reservation.failed": "failed",
}
"""Kind of event -> the state that a reservation comes to when all is done that brings one about."""


def bring_about(kind: str, pool: str, root: Client, acme: Client) -> None:
    """All that leads to an event of that kind; it may be done again from wherever it stopped."""
    if kind == "reservation.failed":
        # Its offer goes, and another comes: what waits in the pool is looked at again.
        root.call("pools/unoffer", {"poolId": pool, "toTenantId": "acme"})
        root.call("pools/offer", {"poolId": pool, "toTenantId": "globex", "quota": {"gpu": 1}})
        return
    reservation_id = book(acme, pool)
    if kind == "reservation.ended":
        acme.reservations.end(reservation_id)


def is_all(acme: Client, pool: str, state: str) -> bool:
    """Whether there is one reservation in the pool, in that state."""
    return [reservation.state for reservation in acme.reservations.list(pool)] == [state]


@pytest.mark.parametrize("when", ["before", "after", "never"])
def test_k088_a_change_of_a_reservation_and_its_event_are_both_there_or_neither(site: Site, when: str) -> None:
    with site.served() as (_, root, acme):
        pools = {
            kind: a_pool(root, kind, roomy=kind not in ("reservation.pending", "reservation.failed")) for kind in STATES
        }
        book(acme, pools["reservation.failed"])
    # Who rolls back lives on, and may do so with all of them.
    for doomed in [list(pools)] if when == "never" else [[kind] for kind in pools]:
        events = [f"{kind} {pools[kind]}" for kind in doomed]
        with site.served(PYTHONPATH=str(site.directory), DOOM=", ".join([when, *events])) as (server, root, acme):
            for kind, event in zip(doomed, events, strict=True):
                with suppress(ComputeError):
                    bring_about(kind, pools[kind], root, acme)
                if when == "never":
                    until(partial(server.said.__contains__, f"doomed: {event}\n"))
                else:
                    assert server.process.wait(LONG) == -signal.SIGKILL
        for kind in doomed:
            assert site.count(kind, pools[kind]) == (1 if when == "after" else 0), kind
    with site.served() as (_, root, acme):
        for kind, pool in pools.items():
            bring_about(kind, pool, root, acme)
        for kind, pool in pools.items():
            until(partial(is_all, acme, pool, STATES[kind]))
    assert {kind: site.count(kind, pool) for kind, pool in pools.items()} == dict.fromkeys(STATES, 1)
