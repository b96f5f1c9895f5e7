"""An apply on a clock of its own: no thread is started, calls take as long as a test says, and waits take no time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from io import BytesIO
from itertools import count
from math import inf
from threading import Event
from typing import Any

from better_compute.client import Client, Retry
from fleetctl.apply.journal import Journal, Outcome
from fleetctl.apply.writer import Writer, run
from tests.e2e.edge import Bend, edged, planned
from tests.e2e.homes import Home
from tests.simulation.scheduler import Waited

BEGIN = 1_800_000_000.0
"""Epoch seconds at which the clock stands at first: 2027-01-15 08:00:00."""


@dataclass
class Stage(Executor):
    """What an apply waits with. A call ends `seconds` after it began, and is made in that moment; `begun` are the
    moments at which calls began, and how many were under way by then."""

    seconds: float = 0.1
    now: float = 0.0
    begun: list[tuple[float, int]] = field(default_factory=list)
    stop: Event = field(default_factory=Event)
    under_way: int = 0
    _agenda: list[tuple[float, int, Callable[[], object]]] = field(default_factory=list)
    _naps: list[Future[Any]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)

    def at(self, moment: float, action: Callable[[], object]) -> None:
        heappush(self._agenda, (moment, next(self._order), action))

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **__: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if work == self.stop.wait:
            self._naps.append(future)
            self.at(self.now + arguments[0], lambda: _end(future, is_stopped=False))
            return future
        self.under_way += 1
        self.begun.append((self.now, self.under_way))

        def call() -> None:
            result = work(*arguments)
            self.under_way -= 1
            future.set_result(result)

        self.at(self.now + self.seconds, call)
        return future

    def wait(self, futures: Collection[Future[Any]], timeout: float | None = None, **__: Any) -> Waited:
        end = inf if timeout is None else self.now + timeout
        while not (done := [future for future in futures if future.done()]):
            if not self._agenda or self._agenda[0][0] > end:
                assert end < inf, "it waits for what never comes"
                self.now = end
                break
            self.now, _, action = heappop(self._agenda)
            action()
            for nap in self._naps if self.stop.is_set() else ():
                _end(nap, is_stopped=True)
        return Waited(done, [future for future in futures if not future.done()])

    def clock(self) -> int:
        return round((BEGIN + self.now) * 1000)

    def applied(
        self,
        home: Home,
        bend: Bend,
        *,
        parallelism: int = 4,
        random: float = 0.0,
        journal: BytesIO | None = None,
        progress: Callable[[Outcome], None] = lambda _: None,
    ) -> tuple[Outcome, ...]:
        """Apply what the home's files ask for. `random` is what the client's chance gives."""
        plan = planned(home)
        with edged(home, bend) as client:
            writer = Writer(
                client=Client(replace(client.calls, retry=Retry(_never, lambda: random, self.clock))),
                executor=self,
                parallelism=parallelism,
                change={"fleet": plan.scope.fleet, "digest": plan.digest},
                journal=Journal(journal, self.clock, plan.digest),
                progress=progress,
                stop=self.stop,
                wait=self.wait,
                monotonic=lambda: self.now,
            )
            return run(plan, writer)


def _end(nap: Future[Any], *, is_stopped: bool) -> None:
    if not nap.done():
        nap.set_result(is_stopped)


def _never(_: float) -> None:
    raise AssertionError("a thread sleeps, and no signal can end that")
