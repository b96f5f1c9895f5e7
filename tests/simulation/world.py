"""A control plane on a database of its own, the network before it, and the one clock of both."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import func, select

from better_compute.bootstrap import Runtime
from better_compute.bootstrap.plane import ControlPlane, opened
from better_compute.client import Calls, Client, Retry
from better_compute.http import Http, InProcess
from better_compute.storage import tables as t
from tests import invariants
from tests.e2e.homes import WORLD
from tests.simulation.network import Network
from tests.simulation.scheduler import Scheduler

START = 1_796_000_000.0
"""Epoch seconds at which a world begins."""


@dataclass(frozen=True, slots=True)
class World:
    scheduler: Scheduler
    plane: ControlPlane
    network: Network
    http: Http
    directory: Path
    begin: int
    """The last event of what it began with."""

    def client(self) -> Client:
        """A client as a run of the command has it."""
        scheduler = self.scheduler
        return Client(Calls(self.http, "root", Retry(scheduler.sleep, scheduler.random.random, scheduler.clock)))

    def carried_out(self) -> Counter[str]:
        """How often each operation was, by its digest, as the events since the begin tell."""
        rows = _read(self.plane, select(t.events.c.via).where(t.events.c.sequence > self.begin))
        return Counter(json.loads(row.via)["operation"] for row in rows)

    def broken(self) -> list[str]:
        """The invariants that do not hold."""
        found: list[str] = self.plane.store._database.read(invariants.broken)  # type: ignore[attr-defined]
        return found

    def unlike(self, entries: Sequence[dict[str, Any]]) -> list[str]:
        """The entries that are not live as they say, and the pools that no entry is of; seen without the code that
        plans."""
        with self.network.faultless():
            answer = self.client().call("pools/list", {"owned": True, "limit": 1000, "include": ["offers"]})
        there = {_seen(pool) for pool in answer["items"]}
        return sorted(there ^ {_wished(entry) for entry in entries}) + ["doubled"] * (len(answer["items"]) - len(there))


@contextmanager
def world(database: bytes | None, seed: int) -> Iterator[World]:
    """A world that begins with a copy of `database`, or with nobody's pools."""
    random, chance = Random(seed), Random(seed)
    scheduler = Scheduler(random, START)
    runtime = Runtime(scheduler.clock, scheduler.monotonic, scheduler.sleep, random.random, chance.randbytes)
    with TemporaryDirectory() as name:
        path, file = Path(name) / "plane.db", Path(name) / "world.yaml"
        if database is None:
            file.write_text(WORLD)
        else:
            path.write_bytes(database)
        with opened(str(path), runtime, None if database else file) as plane:
            instance_id = plane.store.view(lambda tx: tx.instance_id())
            network = Network(scheduler, InProcess(plane.by_name()), instance_id)
            http = Http("the control plane", token="sa_fleet", transport=network)
            begin = _read(plane, select(func.coalesce(func.max(t.events.c.sequence), 0)))[0][0]
            yield World(scheduler, plane, network, http, Path(name), begin)
            http.close()


def copied(made: World) -> bytes:
    """The database of a world as it is now."""
    path = made.directory / "plane.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def _read(plane: ControlPlane, query: Any) -> Any:
    return plane.store._database.read(lambda connection: connection.execute(query).all())  # type: ignore[attr-defined]


def _seen(pool: dict[str, Any]) -> str:
    offers = {o["toTenantId"]: [_rows(o["quotas"]), o["priority"]] for o in pool["offers"]}
    return _said(pool.get("idempotencyKey"), pool["archived"], pool["policy"], _rows(pool["quotas"]), offers)


def _wished(entry: dict[str, Any]) -> str:
    if entry.get("archived"):
        return _said(entry["idempotencyKey"], True)
    offers = {o["toTenantId"]: [o["quota"], o.get("priority", 0)] for o in entry["offers"]}
    quota = entry.get("ownerQuota", {"gpu": 2147483647})
    return _said(entry["idempotencyKey"], False, entry.get("policy", {}), quota, offers)


def _said(key: str | None, archived: bool, *rest: Any) -> str:
    """Of an archived pool it is enough that it is archived: no offer outlives it."""
    return json.dumps([key, archived] if archived else [key, archived, *rest], sort_keys=True)


def _rows(quotas: list[dict[str, Any]]) -> dict[str, int]:
    return {row["resource"]: row["max"] for row in quotas if row["max"]}
