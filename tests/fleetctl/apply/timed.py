"""An apply on a clock of its own: one thing happens at a time, calls take as long as a test says, and waits take no
time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from random import Random
from typing import Any

from better_compute.client import Client, Retry
from fleetctl.apply.journal import Outcome
from tests.e2e.edge import Bend, apply_by, edged, planned
from tests.e2e.homes import Home
from tests.simulation.scheduler import Scheduler, SimulatedEvent, Workers

BEGIN = 1_800_000_000_000
"""Epoch milliseconds at which the clock stands at first: 2027-01-15 08:00:00."""


class Stage(Workers):
    """What an apply waits with. A call ends `seconds` after it began, and is made in that moment; `begun` are the
    moments at which calls began, and how many were under way by then. What is due at one moment is done in the order in
    which it was asked for."""

    def __init__(self, seconds: float = 0.1) -> None:
        self._scheduler = Scheduler(_FirstOnes(), 0.0)
        super().__init__(self._scheduler)
        self.stop = SimulatedEvent(self._scheduler)
        self.seconds, self.under_way = seconds, 0
        self.begun: list[tuple[float, int]] = []

    @property
    def now(self) -> float:
        return self._scheduler.now

    def at(self, moment: float, action: Callable[[], None]) -> None:
        self._scheduler.after(moment - self.now, action)

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **__: Any) -> Future[Any]:
        if work == self.stop.wait:
            return super().submit(work, *arguments)
        self.under_way += 1
        self.begun.append((self.now, self.under_way))

        def call() -> Any:
            self._scheduler.sleep(self.seconds)
            try:
                return work(*arguments)
            finally:
                self.under_way -= 1

        return super().submit(call)

    def clock(self) -> int:
        return BEGIN + self._scheduler.clock()

    def applied(self, home: Home, bend: Bend, *, random: float = 0.0, **settings: Any) -> tuple[Outcome, ...]:
        """Apply what the home's files ask for. `random` is what the client's chance gives."""
        plan, scheduler = planned(home), self._scheduler
        with edged(home, bend) as client:
            timed = Client(replace(client.calls, retry=Retry(_never, lambda: random, self.clock)))
            times: dict[str, Any] = {"stop": self.stop, "wait": scheduler.wait, "monotonic": scheduler.monotonic}
            return apply_by(plan, timed, self, clock=self.clock, **times, **settings)


class _FirstOnes(Random):
    """Draws nothing: whatever was first is first."""

    def randrange(self, *_: Any, **__: Any) -> int:
        return 0

    def shuffle(self, x: Any) -> None:
        pass


def _never(_: float) -> None:
    raise AssertionError("a thread sleeps, and no signal can end that")
