"""The rhythm of a control plane that is served: all that is due every so often, and at once what a call let go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from better_compute.bootstrap.plane import ControlPlane

EVERY = 30.0
"""Seconds from one whole round to the next."""


class _Woken:
    """The pools in which something may go on, each once, however often it is told of."""

    def __init__(self) -> None:
        self._pools: set[str] = set()
        self._lock = threading.Lock()
        self._told = threading.Event()
        self.stopped = False

    def add(self, pool_id: str) -> None:
        with self._lock:
            self._pools.add(pool_id)
        self._told.set()

    def stop(self) -> None:
        self.stopped = True
        self._told.set()

    def take(self, seconds: float) -> list[str]:
        """Those that there are, or that there will be within so many seconds."""
        self._told.wait(max(0.0, seconds))
        with self._lock:
            pools, self._pools = self._pools, set()
            if not self.stopped:
                self._told.clear()
        return sorted(pools)


@contextmanager
def in_rhythm(
    plane: ControlPlane, every: float = EVERY, clock: Callable[[], float] = time.monotonic
) -> Iterator[ControlPlane]:
    """The plane, with a thread beside it that does what is due: all of it now and every so many seconds, and at once
    what waits in a pool where a call freed something. Nobody waits for it, and none of its failures ends it."""
    woken = _Woken()

    def work() -> None:
        due = clock()
        while not woken.stopped:
            if clock() >= due:
                plane.reconcile()
                due = clock() + every
            for pool_id in woken.take(due - clock()):
                if not woken.stopped:
                    plane.reconcile_in(pool_id)

    # Nobody waits for it for long at the end: what it has not committed is undone, and begun anew by whoever opens the
    # database.
    thread = threading.Thread(target=work, name="rhythm", daemon=True)
    thread.start()
    try:
        yield replace(plane, service=replace(plane.service, freed=woken.add))
    finally:
        woken.stop()
        thread.join(1)
