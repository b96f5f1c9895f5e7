"""A control plane on a database of its own, the network before it, and the one clock of both."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import func, select

from better_compute.api.handle import handler
from better_compute.bootstrap import Runtime
from better_compute.bootstrap.plane import open_plane
from better_compute.client import Calls, Client, Retry
from better_compute.http import Http, InProcess
from better_compute.iam import Trusted
from better_compute.storage import tables as t
from tests import invariants
from tests.e2e.homes import WORLD
from tests.simulation.network import Network
from tests.simulation.scheduler import Scheduler

START = 1_796_000_000.0
"""Epoch seconds at which a world begins."""


@dataclass(frozen=True, slots=True)
class World:
    """`file` is where a plan may be kept, `begin` the last event of what the world began with."""

    scheduler: Scheduler
    shared: SharedPlane
    network: Network
    http: Http
    file: Path
    begin: int

    def client(self) -> Client:
        """A client as a run of the command has it."""
        scheduler = self.scheduler
        return Client(Calls(self.http, "root", Retry(scheduler.sleep, scheduler.random.random, scheduler.clock)))

    def carried_out(self) -> Counter[str]:
        """How often each operation was, by its digest, as the events since the begin tell."""
        rows = self.shared.read(select(t.events.c.via).where(t.events.c.sequence > self.begin))
        return Counter(json.loads(row.via)["operation"] for row in rows)

    def broken(self) -> list[str]:
        """The invariants that do not hold."""
        found: list[str] = self.shared.plane.store._database.read(invariants.broken)  # type: ignore[attr-defined]
        return found

    def unlike(self, entries: Sequence[dict[str, Any]]) -> list[str]:
        """The entries that are not live as they say, and the pools that no entry is of; seen without the code that
        plans."""
        with self.network.faultless():
            answer = self.client().call("pools/list", {"owned": True, "limit": 1000, "include": ["offers"]})
        there = {_seen(pool) for pool in answer["items"]}
        return sorted(there ^ {_wished(entry) for entry in entries}) + ["doubled"] * (len(answer["items"]) - len(there))


class SharedPlane:
    """A control plane that is set back to what a world begins with. It is made once: that, and the first use of each
    of its statements, would take longer than a world does. No machine ever joins it, so nothing follows from a call."""

    def __init__(self, directory: Path) -> None:
        self._scheduler, self._chance = Scheduler(Random(0), START), Random(0)
        self._database, self._file = directory / "plane.db", directory / "plan.json"
        runtime = Runtime(
            lambda: self._scheduler.clock(),
            lambda: self._scheduler.now,
            lambda seconds: self._scheduler.sleep(seconds),
            lambda: self._chance.random(),
            lambda count: self._chance.randbytes(count),
        )
        world = directory / "world.yaml"
        world.write_text(WORLD)
        self.plane = open_plane(str(self._database), runtime, world)
        self._inner = InProcess(handler(self.plane.bare, cache(Trusted(self.plane.store))))
        self._instance_id = self.plane.store.view(lambda tx: tx.instance_id())

    def save(self, path: Path) -> None:
        """Keep the database as it is now."""
        _copy(self._database, path)

    @contextmanager
    def world(self, seed: int, path: Path | None = None) -> Iterator[World]:
        """One that begins with the database kept at `path`, or goes on with what there is."""
        self._scheduler, self._chance = Scheduler(Random(seed), START), Random(seed)
        if path is not None:
            _copy(path, self._database)
        network = Network(self._scheduler, self._inner, self._instance_id)
        begin = self.read(select(func.coalesce(func.max(t.events.c.sequence), 0)))[0][0]
        with closing(Http("the control plane", token="sa_fleet", transport=network)) as http:
            yield World(self._scheduler, self, network, http, self._file, begin)

    def read(self, query: Any) -> Any:
        """Rows of the database."""
        return self.plane.store._database.read(lambda connection: connection.execute(query).all())  # type: ignore[attr-defined]


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as begin, closing(sqlite3.connect(target)) as end:
        begin.backup(end)


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
