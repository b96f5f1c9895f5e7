"""The only writer: runs a plan's operations, as many at a time as it may, each under its own precondition."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from operator import attrgetter
from threading import Event
from typing import TYPE_CHECKING, Any

from fleetctl.apply.attempts import Attempts, Task, Tried
from fleetctl.apply.journal import Journal, Outcome
from fleetctl.apply.pace import Pace
from fleetctl.errors import Stop
from fleetctl.plan import Plan

if TYPE_CHECKING:
    from better_compute.client import Client

Progress = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """What an apply writes with. `change` is what every event keeps as `via`; the operation's digest is added to it.
    Once `stop` is set nothing new is started.

    Nothing here waits in a way of its own, so that a test may own all time: `wait` is for the first of the futures that
    `executor` gave, at most `timeout` seconds; `stop.wait` lets seconds pass, and is called in the executor alone;
    `monotonic` tells the seconds."""

    client: Client
    executor: Executor
    parallelism: int
    change: Mapping[str, Any]
    journal: Journal
    progress: Progress = lambda _: None
    stop: Event = field(default_factory=Event)
    wait: Callable[..., Any] = wait
    monotonic: Callable[[], float] = time.monotonic


def run(plan: Plan, writer: Writer) -> tuple[Outcome, ...]:
    """Run every operation after those it depends on, and say what became of each, in the plan's order.

    A failed operation blocks those that depend on it and nothing else; a server that is gone, or is another, ends the
    run. Never plans anew: a killed apply is repaired by the same command again.
    """
    writer.journal.begun(writer.change)
    going = _Run(plan, writer)
    going.to_its_end()
    return _complete(plan, going.outcomes, going.halt)


class _Run:
    """A run under way: what is ready, what is called at this moment, and what waits for another attempt. All of it is
    known to one thread alone, which does nothing but begin calls and wait for the first to end."""

    def __init__(self, plan: Plan, writer: Writer) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self.halt = ""
        """Why nothing new is started, besides a signal; blank while things go on."""
        self._writer = writer
        self._attempts = Attempts(writer.client, writer.change, writer.journal, writer.stop)
        self._pace = Pace(writer.parallelism)
        self._operations = {operation.n: operation for operation in plan.operations}
        self._sorter = TopologicalSorter({operation.n: operation.depends_on for operation in plan.operations})
        self._sorter.prepare()
        self._ready: deque[int] = deque(self._sorter.get_ready())
        self._running: dict[Future[Tried], Task] = {}
        self._waiting: list[Task] = []
        self._made: set[str] = set()

    def to_its_end(self) -> None:
        while True:
            self._begin_what_may()
            left = self._seconds_left()
            if self._running:
                first = self._writer.wait(self._running, timeout=left, return_when=FIRST_COMPLETED)
                for future in first.done:
                    self._take(self._running.pop(future), future.result())
            elif left is not None:
                # `stop` ends it, which a handler in this thread may set: the thread must not hold its lock then.
                self._writer.wait([self._writer.executor.submit(self._writer.stop.wait, left)])
            else:
                return

    def _is_ending(self) -> bool:
        return bool(self.halt) or self._writer.stop.is_set()

    def _begin_what_may(self) -> None:
        """What is asked again is a new call too: at the end of the run there is none."""
        while not self._is_ending():
            if (task := self._next(self._writer.monotonic())) is None:
                return
            task.burst = self._pace.burst
            self._running[self._writer.executor.submit(self._attempts.make, task)] = task
        for task in self._waiting:
            self._finish(self._attempts.give_up(task))
        self._waiting.clear()
        self._ready.clear()

    def _next(self, now: float) -> Task | None:
        """What may begin at this moment: first what has waited for another attempt, and of that what had most, so that
        as few as may be run out of attempts."""
        if now < self._pace.not_before or len(self._running) >= self._pace.limit:
            return None
        if due := [task for task in self._waiting if task.due <= now]:
            task = max(due, key=attrgetter("made"))
            self._waiting.remove(task)
            return task
        if not self._has_room():
            return None
        operation = self._operations[self._ready.popleft()]
        return Task(operation, is_new=operation.pool_id in self._made)

    def _has_room(self) -> bool:
        """Whether an operation may begin: those that wait have their place, so that a server that is gone is not asked
        for one after the other."""
        return bool(self._ready) and len(self._running) + len(self._waiting) < self._pace.limit

    def _seconds_left(self) -> float | None:
        """How long until something may begin though no call ends; None: nothing may."""
        if len(self._running) >= self._pace.limit:
            return None
        moments = [task.due for task in self._waiting]
        if self._has_room():
            moments.append(self._pace.not_before)
        if not moments:
            return None
        return max(0.0, max(min(moments), self._pace.not_before) - self._writer.monotonic())

    def _take(self, task: Task, tried: Tried) -> None:
        now = self._writer.monotonic()
        if tried.hold:
            self._pace.hold(now + tried.hold)
        if tried.is_busy:
            if self._pace.refused(task.burst):
                with suppress(Stop):  # for lack of room: what matters more is told by the lines of the attempts
                    self._writer.journal.slowed(self._pace.limit)
        elif tried.is_busy is not None:
            self._pace.answered(task.burst)
        self.halt = self.halt or tried.halt
        if tried.outcome is not None:
            self._finish(tried.outcome)
        else:
            task.due = now + tried.wait
            self._waiting.append(task)

    def _finish(self, outcome: Outcome) -> None:
        operation = outcome.operation
        self.outcomes[operation.n] = outcome
        self._writer.progress(outcome)
        if outcome.status == "done":
            if operation.action == "create":
                self._made.add(operation.pool_id)
            self._sorter.done(operation.n)
            self._ready.extend(self._sorter.get_ready())


def _complete(plan: Plan, outcomes: dict[int, Outcome], why: str) -> tuple[Outcome, ...]:
    """Every operation's outcome: one that did not run is blocked by those it waits for, or was not started."""
    for operation in plan.operations:
        if operation.n not in outcomes:
            failed = tuple(n for n in operation.depends_on if outcomes[n].status in ("failed", "blocked"))
            rest = Outcome(operation, "blocked", waits_for=failed) if failed else Outcome(operation, "notStarted", why)
            outcomes[operation.n] = rest
    return tuple(outcomes[operation.n] for operation in plan.operations)
