"""The apply phase of a plan that makes a fleet, beside a bare loop that sends the same requests as many at a time.

Both write to a control plane in another process, over the network, each time into a new database; what it prints is the
ratio of their wall times. The bare loop knows neither journal nor report, and looks at nothing but the status.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx

from benchmarks import fleet
from benchmarks.servers import Served, serving
from better_compute.bootstrap import SYSTEM, connect
from better_compute.bootstrap.plane import opened
from better_compute.wire import commands
from better_compute.wire.message import CHANGE_HEADER, PREFIX
from fleetctl.apply.journal import Journal
from fleetctl.apply.writer import Writer, run
from fleetctl.desired.load import load
from fleetctl.live import read
from fleetctl.plan import Plan, make

PARALLEL = 10


class Call(NamedTuple):
    path: str
    body: bytes
    change: str


def ratio(operations: int, folder: Path, runs: int) -> float:
    """The median over pairs of runs, one of each at a time."""
    directory = fleet.make(operations, folder / "fleet")
    template = folder / "template.db"
    with opened(f"sqlite:///{template}", SYSTEM, directory / "world.yaml"):
        pass
    pairs = []
    for _ in range(runs):
        ours, bare = _once(directory, template, is_bare=False), _once(directory, template, is_bare=True)
        sys.stderr.write(f"  {operations} operations: {ours:.2f} s, bare loop {bare:.2f} s\n")
        pairs.append(ours / bare)
    return statistics.median(pairs)


def _once(directory: Path, template: Path, *, is_bare: bool) -> float:
    with TemporaryDirectory(dir=template.parent) as name:
        database = Path(name) / "plane.db"
        shutil.copy(template, database)
        token_file = Path(name) / "token"
        with serving(Path(sys.executable).parent, f"sqlite:///{database}", token_file, "sa_fleet") as served:
            token = token_file.read_text().strip()
            with connect(served.url, tenant_id="root", token=token) as connection:
                plan = make(load(directory), read(connection.client, served.url, "root"))
                if is_bare:
                    return _bare(plan, served, token)
                with ThreadPoolExecutor(PARALLEL) as executor:
                    writer = Writer(
                        client=connection.client,
                        executor=executor,
                        parallelism=PARALLEL,
                        change=_change(plan),
                        journal=Journal(BytesIO(), SYSTEM.clock, plan.digest),
                    )
                    start = time.perf_counter()
                    outcomes = run(plan, writer)
                    taken = time.perf_counter() - start
    assert {outcome.status for outcome in outcomes} == {"done"}
    return taken


def _change(plan: Plan) -> dict[str, str]:
    return {"fleet": plan.scope.fleet, "digest": plan.digest}


def _bare(plan: Plan, served: Served, token: str) -> float:
    """The seconds of the same calls: those of a pool one after the other, as its operations wait for its creation."""
    by_pool: dict[str, list[Call]] = {}
    for operation in plan.operations:
        name, body = commands.encode(operation.command)
        change = json.dumps({**_change(plan), "operation": operation.digest}, separators=(",", ":"))
        by_pool.setdefault(operation.pool_id, []).append(Call(PREFIX + name, json.dumps(body).encode(), change))
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json", "x-better-compute": "1"}
    limits = httpx.Limits(max_connections=PARALLEL, max_keepalive_connections=PARALLEL)
    with httpx.Client(base_url=served.url, headers=headers, limits=limits, trust_env=False) as client:

        def send(calls: list[Call]) -> None:
            for call in calls:
                answer = client.post(call.path, content=call.body, headers={CHANGE_HEADER: call.change})
                assert answer.status_code == 200, answer.text[:500]

        start = time.perf_counter()
        with ThreadPoolExecutor(PARALLEL) as executor:
            for _ in executor.map(send, by_pool.values()):
                pass
        return time.perf_counter() - start


if __name__ == "__main__":
    with TemporaryDirectory(dir=sys.argv[1]) as place:
        sys.stdout.write(f"{ratio(int(sys.argv[2]), Path(place), int(sys.argv[3])):.3f}\n")
