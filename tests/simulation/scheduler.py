"""One thing at a time: threads that hand a baton on, in an order drawn from a seed, on a clock that jumps.

Whoever holds the baton runs until it pauses, sleeps, waits or ends; who goes on next is drawn among all that could.
Once nobody can, the clock jumps to the next moment at which something is due. So one seed makes one course of events.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent import futures
from concurrent.futures import Future
from heapq import heappop, heappush
from itertools import count
from random import Random
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

_STUCK_SECONDS = 300.0
"""Of real time: what holds the baton, and waits in a way of its own, would be waited for for ever."""

Deed = Callable[[], None]


class StuckError(AssertionError):
    """Nobody can go on, and nothing is due; or somebody waits where the scheduler does not see it."""


class _Task:
    """A thread, and the gate that it waits at. `turn` counts how often it went on: of several reasons to go on the
    first one counts, and the others are of a turn that is over."""

    def __init__(self, number: int) -> None:
        self.number, self.turn = number, 0
        self.gate = Lock()
        self.gate.acquire()


_Next = tuple[_Task | Deed, int]
"""Who may go on, or what is to be done, and for a task in which turn."""


class Waited(NamedTuple):
    """What `concurrent.futures.wait` finds, in an order that where things lie in memory has no part in: theirs are
    sets."""

    done: list[Future[Any]]
    not_done: list[Future[Any]]


class Scheduler:
    """The thread that makes it has the baton first. `now` is seconds."""

    def __init__(self, random: Random, now: float) -> None:
        self.random, self.now = random, now
        self._main = self._mine = _Task(0)
        self._ready: list[_Next] = []
        self._later: list[tuple[float, int, _Next]] = []
        self._waiting: list[_Next] = []
        self._tasks, self._entries = count(1), count()
        self._failure: BaseException | None = None

    @property
    def who(self) -> int:
        """Whose turn it is: 0 for the thread that began, the others in the order of their beginning."""
        return self._mine.number

    def clock(self) -> int:
        """Epoch milliseconds."""
        return round(self.now * 1000)

    def monotonic(self) -> float:
        return self.now

    def pause(self) -> None:
        """Whoever else could go on may do so first."""
        self._ready.append((self._mine, self._mine.turn))
        self._hand_over(self._mine)

    def sleep(self, seconds: float) -> None:
        self._put(seconds, (self._mine, self._mine.turn))
        self._hand_over(self._mine)

    def after(self, seconds: float, deed: Deed) -> None:
        """Do something in so many seconds, whoever runs by then. It must not wait."""
        self._put(seconds, (deed, 0))

    def start(self, work: Deed) -> None:
        """Run `work`, which raises nothing, beside what runs."""
        task = _Task(next(self._tasks))
        Thread(target=self._live, args=(task, work), daemon=True).start()
        self._ready.append((task, 0))

    def wait(self, found: Collection[Future[Any]], timeout: float | None = None, return_when: str = "") -> Waited:
        """As `concurrent.futures.wait` does for the first of them."""
        assert return_when in ("", futures.FIRST_COMPLETED)
        end = None if timeout is None else self.now + timeout
        while not any(one.done() for one in found) and (end is None or self.now < end):
            mine = (self._mine, self._mine.turn)
            self._waiting.append(mine)
            if end is not None:
                self._put(end - self.now, mine)
            self._hand_over(self._mine)
        done = [one for one in found if one.done()]
        self.random.shuffle(done)
        return Waited(done, [one for one in found if not one.done()])

    def finished(self) -> None:
        """Something ended that others may wait for."""
        self._ready += self._waiting
        self._waiting.clear()

    def _put(self, seconds: float, what: _Next) -> None:
        heappush(self._later, (self.now + max(0.0, seconds), next(self._entries), what))

    def _live(self, task: _Task, work: Deed) -> None:
        task.gate.acquire()
        work()
        self._hand_over(None)

    def _hand_over(self, mine: _Task | None) -> None:
        """Let the next one go on, and come back in the next turn of `mine`, if there is to be one."""
        try:
            self._mine = chosen = self._next()
        except BaseException as error:
            if mine is self._main:
                raise
            self._failure, chosen = error, self._main  # who began it all is told; the others wait for ever
        chosen.turn += 1
        if chosen is mine:
            return
        chosen.gate.release()
        if mine is None:
            return
        if not mine.gate.acquire(timeout=_STUCK_SECONDS if mine is self._main else -1):
            raise StuckError("somebody who may go on waits, where the scheduler does not see it")
        if self._failure is not None:
            raise self._failure

    def _next(self) -> _Task:
        """Draw who goes on; what is to be done on the way is done."""
        while True:
            while self._later and (self._later[0][0] <= self.now or not _counts(*self._later[0][2])):
                self._ready.append(heappop(self._later)[2])
            self._ready = [(what, turn) for what, turn in self._ready if _counts(what, turn)]
            if self._ready:
                what, _ = self._ready.pop(self.random.randrange(len(self._ready)))
                if isinstance(what, _Task):
                    return what
                what()
            elif self._later:
                self.now = max(self.now, self._later[0][0])
            else:
                raise StuckError("nobody can go on, and nothing is due")


def _counts(what: _Task | Deed, turn: int) -> bool:
    return not isinstance(what, _Task) or what.turn == turn


class Workers(futures.Executor):
    """An executor whose threads the scheduler owns."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)
            self._scheduler.finished()

        self._scheduler.start(work)
        self._scheduler.pause()
        return future


class SimulatedEvent(Event):
    """An event whose waits take the scheduler's time."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler, self._told = scheduler, Future[None]()

    def set(self) -> None:
        if not self.is_set():
            super().set()
            self._told.set_result(None)
            self._scheduler.finished()

    def wait(self, timeout: float | None = None) -> bool:
        self._scheduler.wait([self._told], timeout)
        return self.is_set()
