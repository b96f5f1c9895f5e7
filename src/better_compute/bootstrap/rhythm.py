"""The rhythm of a control plane that is served: all that is due every so often, and at once what a call let go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from better_compute.bootstrap.machines import tell
from better_compute.bootstrap.plane import ControlPlane

EVERY = 30.0
"""Seconds from one whole round to the next."""


class _Woken:
    """The pools in which something may go on, each once, however often it is told of: where something came free, where
    something was placed, and which were changed."""

    def __init__(self) -> None:
        self._pools: tuple[set[str], set[str], set[str]] = set(), set(), set()
        self._lock = threading.Lock()
        self._told = threading.Event()
        self.stopped = False

    def freed(self, pool_id: str) -> None:
        self._add(0, pool_id)

    def placed(self, pool_id: str) -> None:
        self._add(1, pool_id)

    def changed(self, pool_id: str) -> None:
        self._add(2, pool_id)

    def _add(self, kind: int, pool_id: str) -> None:
        with self._lock:
            self._pools[kind].add(pool_id)
        self._told.set()

    def stop(self) -> None:
        self.stopped = True
        self._told.set()

    def take(self, seconds: float) -> tuple[set[str], set[str], set[str]]:
        """Those that there are, or that there will be within so many seconds, of each kind."""
        self._told.wait(max(0.0, seconds))
        with self._lock:
            pools, self._pools = self._pools, (set(), set(), set())
            if not self.stopped:
                self._told.clear()
        return pools


@contextmanager
def in_rhythm(
    plane: ControlPlane, every: float = EVERY, clock: Callable[[], float] = time.monotonic
) -> Iterator[ControlPlane]:
    """The plane, with a thread beside it that does what is due: all of it now and every so many seconds, and at once
    what waits in the pools that calls changed, or where they freed or placed something: in all of them together, so
    that a billing that is slow holds up what follows no longer than one round may ask it. Nobody waits for it, and none
    of its failures ends it. Why machines of a world wait is logged when it changes."""
    woken = _Woken()

    def work() -> None:
        due = clock()
        told: Sequence[str] = []
        while not woken.stopped:
            if clock() >= due:
                refusals = plane.reconcile().refusals
                if refusals != told:
                    tell(refusals)
                    told = refusals
                due = clock() + every
            pools = woken.take(due - clock())
            if any(pools) and not woken.stopped:
                plane.reconcile_in(*pools)

    # Nobody waits for it for long at the end: what it has not committed is undone, and begun anew by whoever opens the
    # database.
    thread = threading.Thread(target=work, name="rhythm", daemon=True)
    thread.start()
    try:
        yield replace(
            plane, service=replace(plane.service, freed=woken.freed, placed=woken.placed, changed=woken.changed)
        )
    finally:
        woken.stop()
        thread.join(1)
