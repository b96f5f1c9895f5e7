"""The rhythm of a control plane that is served: all that is due every so often, and at once what a call let go on.

Two threads keep it, so that a billing that is slow to say what becomes active keeps no reservation from being placed.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

from better_compute.bootstrap.arrivals import tell
from better_compute.bootstrap.plane import ControlPlane
from better_compute.domain.state import Pool
from better_compute.reconcilers import rounds
from better_compute.reconcilers.admission import Admission
from better_compute.reconcilers.hosts import Keeper
from better_compute.reconcilers.placer import Turns
from better_compute.service.core import Service, attempt

EVERY = 30.0
"""Seconds from one whole round to the next."""

ASKING = 2.0
"""Seconds for which admission asks billing before it looks what else was told: that may need no word."""

T = TypeVar("T")


class _Inbox(Generic[T]):
    """What a thread is told of by others: each thing once, however often it is told."""

    def __init__(self) -> None:
        self._things: set[T] = set()
        self._lock = threading.Lock()
        self._told = threading.Event()
        self.stopped = False

    def add(self, thing: T) -> None:
        with self._lock:
            self._things.add(thing)
        self._told.set()

    def stop(self) -> None:
        self.stopped = True
        self._told.set()

    def take(self, seconds: float | None) -> set[T]:
        """What there is, or what there will be within so many seconds, or at some time."""
        self._told.wait(None if seconds is None else max(0.0, seconds))
        with self._lock:
            things, self._things = self._things, set()
            if not self.stopped:
                self._told.clear()
        return things


@dataclass(frozen=True, slots=True)
class _Told:
    """The pools in which something may go on: where something came free or (the flag) the pool itself was changed, so
    that its hosts may provide more; and where something was placed, None for all pools."""

    freed: _Inbox[tuple[str, bool]] = field(default_factory=_Inbox)
    placed: _Inbox[str | None] = field(default_factory=_Inbox)

    def after_freed(self, pool_id: str) -> None:
        self.freed.add((pool_id, False))
        self.placed.add(pool_id)  # also what its host could not serve until now

    def after_changed(self, pool_id: str) -> None:
        self.freed.add((pool_id, True))


@contextmanager
def in_rhythm(plane: ControlPlane, every: float = EVERY) -> Iterator[ControlPlane]:
    """The plane, with threads beside it that do what is due: all of it now and every so many seconds, and at once
    what waits in the pools that calls changed, or where they freed or placed something. Nobody waits for them, and none
    of their failures ends them. Why machines of a world wait is logged when it changes."""
    told = _Told()

    def created(pool: Pool) -> None:
        plane.service.created(pool)
        told.after_freed(pool.id)  # its id is known beforehand: something may wait there for the machines that came

    service = replace(
        plane.service, created=created, freed=told.after_freed, placed=told.placed.add, changed=told.after_changed
    )
    # Nobody waits for them for long at the end: what they have not committed is undone, and begun anew by whoever opens
    # the database.
    threads = [
        threading.Thread(target=_place, args=(plane, service, told, every), name="placer", daemon=True),
        threading.Thread(target=_admit, args=(service, told), name="admission", daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield replace(plane, service=service)
    finally:
        told.freed.stop()
        told.placed.stop()
        for thread in threads:
            thread.join(1)


def _place(plane: ControlPlane, service: Service, told: _Told, every: float) -> None:
    """Whole rounds, and between them what is pending in the pools that were told of."""
    due, turns, keeper = service.stopwatch(), Turns(service), Keeper(service)
    refusals: Sequence[str] = []
    while not told.freed.stopped:
        if service.stopwatch() >= due:
            refusals = _tell_anew(refusals, plane.let_in())
            rounds.keep_hosts(keeper)
            attempt(partial(turns.add, None), "what waits is tried by the next round")
            told.placed.add(None)
            due = service.stopwatch() + every
        freed = told.freed.take(0 if turns else due - service.stopwatch())
        if freed and not told.freed.stopped:
            attempt(partial(_add, keeper, told, turns, freed), "what calls let go on waits for the next round")
        turns.go_on()


def _add(keeper: Keeper, told: _Told, turns: Turns, freed: Collection[tuple[str, bool]]) -> None:
    """What is pending in these pools is due."""
    if changed := {pool_id for pool_id, is_changed in freed if is_changed}:
        keeper.in_pools(changed)
        for pool_id in changed:
            told.placed.add(pool_id)
    turns.add({pool_id for pool_id, _ in freed})


def _tell_anew(before: Sequence[str], refusals: Sequence[str]) -> Sequence[str]:
    if refusals != before:
        tell(refusals)
    return refusals


def _admit(service: Service, told: _Told) -> None:
    """What is placed in the pools that were told of, and what there was no time to ask billing about."""
    turns = Admission(service)
    while not told.placed.stopped:
        placed = told.placed.take(0 if turns else None)
        if not told.placed.stopped:
            pools = None if None in placed else {pool_id for pool_id in placed if pool_id is not None}
            attempt(partial(turns.go_on, pools, ASKING), "what is placed waits for the next round")
