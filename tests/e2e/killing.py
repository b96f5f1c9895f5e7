"""An apply of many operations in which fleetctl, or its server, is killed at chosen moments of chosen requests.

A `Ground` is what every such apply begins with, made once and copied. A `Story` is one apply from its first command to
the one that ends it: it is struck at each of its points in turn, and after each the same command goes on. What was
done twice or lost anywhere in it shows at its end, since no event is ever taken away.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.plane import opened
from tests import warm
from tests.e2e.conftest import Server, environment, serving
from tests.e2e.homes import Home, Ran, entry, served
from tests.e2e.proxy import Exchange, Proxy, proxied
from tests.invariants import broken

MODES = ("yes", "plan", "server")
"""fleetctl is killed, with `--yes` and with `--plan`; the server is, under a fleetctl with `--yes`."""
BOUNDARIES = ("seen", "held", "passed")
"""The server has the request; it has answered, and nobody was told; the answer was passed on."""
UNIT = 50
"""Operations that a unit of a fleet asks for."""
SECONDS = 300
ALLOWED = ("--allow", "archives=50", "--allow", "withdrawals=100", "--allow", "gpusWithdrawn=1000", "--reason", "moved")
EVENTS = {
    "create": "pool.created",
    "update": "pool.updated",
    "offer": "pool.offered",
    "unoffer": "pool.unoffered",
    "setQuota": "quota.updated",
    "archive": "pool.archived",
}


def before(units: int) -> list[dict[str, Any]]:
    return [
        *(entry(f"change-{n}", {"acme": 8}, policy={"maxPending": "6h"}) for n in range(10 * units)),
        *(entry(f"leave-{n}", {"acme": 8, "globex": 8}) for n in range(5 * units)),
        *(entry(f"close-{n}", {"acme": 8}) for n in range(5 * units)),
    ]


def after(units: int) -> list[dict[str, Any]]:
    """As many operations of every kind."""
    new = {"maxPending": "7d", "hugepages": {"1Gi": 8}}
    lowered: tuple[dict[str, Any], ...] = ({}, {"ownerQuota": {"gpu": 64}})
    return [
        *(entry(f"change-{n}", {"acme": 9}, policy=new, **lowered[n % 2]) for n in range(10 * units)),
        *(entry(f"leave-{n}", {"acme": 8}) for n in range(5 * units)),
        *({"idempotencyKey": f"close-{n}", "archived": True} for n in range(5 * units)),
        *(entry(f"new-{n}", {"acme": 4, "globex": 4}) for n in range(5 * units)),
    ]


@dataclass(frozen=True)
class Ground:
    """A control plane that holds the fleet as it was, its files as it is to be, and the plan between the two."""

    home: Home
    plan: Path
    planned: dict[str, Any]

    def copy(self, directory: Path, url: str | None = None) -> Home:
        """A home that begins so, on a copy of the database or on the one at `url`, which is a copy already."""
        home = Home(directory)
        home.environ = dict(self.home.environ)
        home.write("fleet.yaml", (self.home.directory / "fleet.yaml").read_bytes())
        if url is None:
            self.put_back(home)
        else:
            home.url = url
        return home

    def put_back(self, home: Home) -> None:
        """Make the home's database, a file that no server has open, what it was at the beginning."""
        with closing(sqlite3.connect(self.home.database)) as here, closing(sqlite3.connect(home.database)) as there:
            here.backup(there)


def ground(home: Home, units: int = 10) -> Ground:
    """Make one in a home that has nothing yet."""
    plan = home.directory.parent / "plan.json"
    with served(home):
        home.wish(*before(units))
        home.apply()
        home.wish(*after(units))
        planned = home.plan(*ALLOWED, "--out", plan).report
    assert len(planned["operations"]) == UNIT * units
    return Ground(home, plan, planned)


@dataclass(frozen=True)
class Point:
    """A boundary of the request for the k-th operation. An operation counts when it is asked for the first time,
    whichever run asks, so `request` means the same however often the apply was struck before."""

    request: int
    boundary: str


class Strike:
    """A proxy's rule that calls `kill` at a point, and passes on all else."""

    def __init__(self) -> None:
        self.struck = threading.Event()
        self._asked: set[str] = set()
        self._point: Point | None = None
        self._kill: Callable[[], object] = lambda: None
        self._lock = threading.Lock()

    def arm(self, point: Point, kill: Callable[[], object]) -> None:
        """Points are armed in the order of their requests, further apart than as many as are made at a time."""
        with self._lock:
            assert len(self._asked) < point.request, f"{len(self._asked)} were asked for before {point}"
            self._point, self._kill = point, kill
            self.struck.clear()

    def __call__(self, exchange: Exchange) -> None:
        point = self._due(exchange)
        if point is None:
            exchange.pass_on()
            return
        try:
            if point.boundary == "seen":
                exchange.send()
            elif point.boundary == "held":
                exchange.forward()
            else:
                exchange.pass_on()
            self._kill()
        finally:
            self.struck.set()
        if point.boundary == "seen":
            exchange.forward()
        if point.boundary != "passed":
            exchange.drop()

    def _due(self, exchange: Exchange) -> Point | None:
        if exchange.write is None:
            return None
        operation = json.loads(exchange.headers["x-better-compute-change"])["operation"]
        with self._lock:
            if operation in self._asked:
                return None
            self._asked.add(operation)
            return self._point if self._point and self._point.request == len(self._asked) else None


class _Run:
    """fleetctl under way, a process of its own."""

    def __init__(self, home: Home, *arguments: str | Path) -> None:
        line = home.line("apply", *ALLOWED, *arguments)
        self._printed = home.directory.parent / "printed.txt"
        with self._printed.open("wb") as out:
            self.process = warm.Process(["fleetctl", *map(str, line)], environment(**home.environ), out.fileno())
        self._said: list[str] = []
        self._listening = threading.Thread(target=lambda: self._said.extend(self.process.stderr), daemon=True)
        self._listening.start()

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> int:
        """Its exit code, once it has ended by itself or was killed."""
        try:
            return self.process.wait(SECONDS)
        finally:
            self.process.kill()
            self._listening.join(SECONDS)
            self.process.stderr.close()

    @property
    def said(self) -> str:
        """What it said, and the end of what it printed, where the plan is followed by what became of it."""
        return "".join(self._said) + self._printed.read_text()[-2000:]


@dataclass
class Story:
    """`serve` starts a server on the home's database; it is called again after the server was killed."""

    home: Home
    arguments: Sequence[str | Path]
    is_server: bool
    """Whether the server is what is killed."""
    serve: Callable[[str], AbstractContextManager[Server]] = serving
    last: Callable[[], Ran] | None = None
    """Takes the place of the command that is left alone."""
    strike: Strike = field(default_factory=Strike)
    _server: Server = field(init=False)
    _proxy: Proxy = field(init=False)
    _run: _Run = field(init=False)
    _serving: ExitStack = field(default_factory=ExitStack)

    def play(self, points: Sequence[Point]) -> None:
        """To the end of a command that was left alone. AssertionError: one did not end as it must, or something is
        still to be done after the last."""
        with self._serving:
            self._start_server()
            with proxied(self._server.url) as self._proxy:
                self._proxy.rule = self.strike
                self.home.target = ("--server", self._proxy.url)
                try:
                    self._play(points)
                finally:
                    self._run.process.kill()
                assert self.home.run("plan", "--detailed-exitcode").code == 0, "the next plan is not empty"

    def _play(self, points: Sequence[Point]) -> None:
        self.strike.arm(points[0], self._kill)
        self._start()
        for point, following in pairwise([*points, None]):
            assert point is not None
            self._await_strike(point)
            if following is not None:
                self.strike.arm(following, self._kill)
                self._go_on()
        self._finish()

    def _kill(self) -> None:
        (self._server if self.is_server else self._run).process.kill()

    def _start(self) -> None:
        self._run = _Run(self.home, *self.arguments)

    def _start_server(self) -> None:
        self._server = self._serving.enter_context(self.serve(self.home.url))

    def _await_strike(self, point: Point) -> None:
        if not self.is_server:
            code = self._run.end()
            assert code == -9, f"{point}: it ended {code}\n{self._run.said}"
            assert self.strike.struck.wait(SECONDS)
            return
        until = time.monotonic() + SECONDS
        while not self.strike.struck.wait(0.02):
            assert time.monotonic() < until, f"{point} is not reached\n{self._run.said}"
            if self._run.is_over:
                self._again()

    def _go_on(self) -> None:
        """The same command again, or the server."""
        if not self.is_server:
            self._start()
            return
        self._serving.close()
        self._start_server()
        self._proxy.upstream = self._server.url

    def _again(self) -> None:
        """It may have given up while there was no server, and says so."""
        code = self._run.end()
        assert code in (1, 5), f"it ended {code}\n{self._run.said}"
        self._start()

    def _finish(self) -> None:
        if self.last is not None:
            ran = self.last()
            assert ran.code == 0, ran.said
            return
        self._go_on()
        if self.is_server and self._run.end() != 0:
            self._again()
        code = self._run.end()
        assert code == 0, f"it ended {code}\n{self._run.said}"


def check(home: Home, planned: dict[str, Any], digest: str | None = None) -> None:
    """Each operation of the plan was done exactly once, whichever run did it, and nothing else was; all under `digest`
    where one is given."""
    with home.hand() as client:
        events = client.events.all(after=planned["sequence"], types=["pool.*", "quota.*"])
    # The events of an archive are the pool's, also for its offers.
    planned_events = Counter((EVENTS[o["action"]], o["poolId"], o["toTenantId"]) for o in planned["operations"])
    _check_same(Counter((e.type, e.pool_id, e.to_tenant_id or None) for e in events), planned_events)
    changes = [e.via or {} for e in events]
    _check_same(Counter(via.get("operation") for via in changes), Counter(o["digest"] for o in planned["operations"]))
    assert digest is None or {via.get("digest") for via in changes} == {digest}, "it was done under another digest"
    with opened(home.url, SYSTEM, create=False) as plane:
        found: list[str] = plane.store._database.read(broken)  # type: ignore[attr-defined]
    assert not found, found


def _check_same(done: Counter[Any], wished: Counter[Any]) -> None:
    assert done == wished, f"too often: {dict(done - wished)}; missing: {dict(wished - done)}"
