"""Booking, showing and listing reservations, each against the bare handler and a bare SQL transaction in the same run.

Seconds by the clock: on PostgreSQL much of the work is done by another process.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, text

from benchmarks.crowded import WORLD
from better_compute.bootstrap.plane import ControlPlane, opened
from better_compute.bootstrap.runtime import SYSTEM
from better_compute.wire.message import Handle, Request

TIMES = 100
ROUNDS = 7
"""Each is done so often in a round; rounds go by turns, so that whatever else the machine does meets all."""
FLOORS = ("handler", "transaction")
ASKED = ("book", "get", "list")


def measure(database: str) -> dict[str, float]:
    """Seconds of each, and of the two floors: the median round's mean."""
    with TemporaryDirectory() as folder:
        world = Path(folder) / "world.yaml"
        world.write_text(WORLD)
        with opened(database, SYSTEM, world) as plane:
            calls = _calls(plane)
            rounds: dict[str, list[float]] = {name: [] for name in calls}
            for _ in range(ROUNDS):
                for name, call in calls.items():
                    begin = time.perf_counter()
                    for _ in range(TIMES):
                        call()
                    rounds[name].append((time.perf_counter() - begin) / TIMES)
            return {name: statistics.median(taken) for name, taken in rounds.items()}


def _calls(plane: ControlPlane) -> dict[str, Callable[[], object]]:
    """As a server answers them: what a call lets go on is done beside it, by another thread."""
    handle = replace(plane, service=replace(plane.service, freed=lambda _: None)).by_name()
    made = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "idempotencyKey": "crowded"}
    pool = _ask(handle, "sa_fleet", "pools/create", **made)["id"]
    _ask(handle, "sa_fleet", "pools/offer", poolId=pool, toTenantId="acme", quota={"gpu": 100_000})
    numbers, made_ids = count(), []

    def book() -> None:
        wish = {"poolId": pool, "resources": {"gpu": 1}, "idempotencyKey": f"job-{next(numbers)}"}
        answer = _ask(handle, "sa_acme", "reservations/create", **wish)
        assert answer["state"] == "placed", answer
        made_ids.append(answer["id"])

    book()
    return {
        "handler": lambda: _ask(handle, "sa_acme", "identities/whoami"),
        "transaction": lambda: plane.store._database.write(_bare),  # type: ignore[attr-defined]
        "book": book,
        "get": lambda: _ask(handle, "sa_acme", "reservations/get", reservationId=made_ids[0]),
        "list": lambda: _ask(handle, "sa_acme", "reservations/list", limit=10),
    }


def _bare(connection: Connection) -> None:
    """A row read under a lock and one write: what any change needs."""
    lock = "" if connection.dialect.name == "sqlite" else " FOR UPDATE"
    connection.execute(text(f"SELECT revision FROM pools LIMIT 1{lock}")).all()
    connection.execute(text("UPDATE meta SET value = value WHERE name = 'instance_id'"))


def _ask(handle: Handle, who: str, operation: str, **body: Any) -> Any:
    headers = {"authorization": f"Bearer {who}", "content-type": "application/json", "x-better-compute": "1"}
    tenant = "root" if who == "sa_fleet" else "acme"
    given = json.dumps({"tenantId": tenant, **body}).encode()
    answer = handle(Request("POST", f"/api/compute/{operation}", headers, given))
    assert answer.status == 200, answer.body[:500]
    return json.loads(answer.body)["data"]


if __name__ == "__main__":
    seconds = measure(sys.argv[1])
    floor = sum(seconds[name] for name in FLOORS)
    for name in (*FLOORS, *ASKED):
        sys.stderr.write(f"  {name}: {1 / seconds[name]:,.0f} a second\n")
    sys.stdout.write(json.dumps({name: seconds[name] / floor for name in ASKED}))
