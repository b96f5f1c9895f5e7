"""The placer: reservations that wait are tried again, pool by pool and the oldest first.

It stands on what is stored alone, so it may run at any time, as often as one likes, in several processes at once. A
later wish that fits is placed although an earlier, larger one still waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial

from better_compute.domain import reservations as rules
from better_compute.domain.placement import Place
from better_compute.domain.reservations import Reservation
from better_compute.domain.state import PoolState
from better_compute.reconcilers.waiting import pools_where
from better_compute.service.actions import PLACER, ROOT
from better_compute.service.bookings import Bookings
from better_compute.service.core import Service, attempt, known
from better_compute.service.ports import Caller, Tx

ACTOR = Caller(identity_id=PLACER, tenant_id=ROOT)

MOST = 50
LONGEST = 0.05
"""So many wishes are tried in one transaction, and after so many seconds with the pool's lock no other one is
begun: others wait for the lock."""

SEARCH = 1.0
"""Seconds for which the pools that are due look at hosts, each in its turn for its part of them: each waits for the
turns of the others. What is read to begin a turn, and wishes that no host is looked at for, take nothing of them. A
turn looks at hosts as long as it read before, at least: else a pass through many pools would do little but read."""

_Kind = tuple[object, ...]
"""What makes two wishes alike to every host."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """How far a pass through all that waits in a pool has come: the last that was tried, and what no host had room
    for, which is added to by each of its turns."""

    last: Reservation | None = None
    hopeless: set[_Kind] = field(default_factory=set)


class Turns:
    """Pools that are gone through by turns: one in which much waits keeps no other waiting."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._passes: dict[str, _Pass] = {}
        self._again: set[str] = set()

    def __bool__(self) -> bool:
        """Whether something is left to try."""
        return bool(self._passes)

    def add(self, pools: Collection[str] | None) -> None:
        """Try all that waits in these pools, or in all; what is being gone through already, once more after that."""
        for pool_id in pools_where(self._service, "pending", pools):
            if pool_id in self._passes:
                self._again.add(pool_id)
            else:
                self._passes[pool_id] = _Pass()

    def go_on(self) -> Counter[str]:
        """One turn of each pool: how many reservations reached which state. What goes wrong in one pool is logged, and
        keeps no other pool waiting."""
        done = Counter[str]()
        seconds = SEARCH / max(len(self._passes), 1)
        for pool_id, so_far in list(self._passes.items()):
            failure = f"the reservations that wait in pool {pool_id} were not all tried"
            turn = attempt(partial(_turn, self._service, pool_id, so_far, seconds), failure)
            further, some = turn or (None, Counter())
            self._note(pool_id, further)
            done += some
            if some["placed"]:
                self._service.after_placed(pool_id)
        return done

    def _note(self, pool_id: str, further: _Pass | None) -> None:
        if further is None and pool_id in self._again:
            self._again.remove(pool_id)
            further = _Pass()
        if further is None:
            del self._passes[pool_id]
        else:
            self._passes[pool_id] = further


def place_all(service: Service, pools: Collection[str] | None = None) -> Counter[str]:
    """Try all that waits, in these pools or in all: each is placed, fails, or waits on with the reason of today. How
    many reached which state."""
    turns, done = Turns(service), Counter[str]()
    turns.add(pools)
    while turns:
        done += turns.go_on()
    return done


def _turn(service: Service, pool_id: str, so_far: _Pass, seconds: float) -> tuple[_Pass | None, Counter[str]]:
    """Try the next ones: how far the pass has come, None at its end; and how many came to which state.

    Hosts are looked for while nobody waits for a lock: it takes long where many have what is selected and none has
    room. What comes free between that and the lock is told to the turns, and all is gone through once more.
    """
    seen = service.store.view(partial(_look, service, pool_id, so_far, seconds))
    so_far.hopeless.update(seen.hopeless)
    if not seen.changes:
        return None if seen.is_end else _Pass(seen.last, so_far.hopeless), Counter()
    tried = service.store.transact(partial(_some, service, pool_id, so_far, seen))
    so_far.hopeless.update(tried.hopeless)
    return tried.further, tried.done


@dataclass(frozen=True, slots=True)
class _Seen:
    """The next wishes, so many, as they would come out: whether any is to change, the last of them and whether it is
    the last of all, the devices that the host with the most has free, and what no host has room for beside what is
    known."""

    count: int
    changes: bool
    last: Reservation | None
    is_end: bool
    room: int
    hopeless: set[_Kind]


@dataclass(frozen=True, slots=True)
class _Tried:
    """How far the pass has come, how many came to which state, and what no host had room for beside what was known."""

    further: _Pass | None
    done: Counter[str]
    hopeless: set[_Kind]


@dataclass(slots=True)
class _Search:
    """Looks for hosts, for what is not known to find none. What it finds out is kept apart: the work of a transaction
    may be undone."""

    bookings: Bookings
    room: int
    known: Collection[_Kind]
    hopeless: set[_Kind] = field(default_factory=set)
    seconds: float = 0.0

    def find(self, wish: Reservation) -> Place | None:
        kind = _kind(wish)
        if kind in self.known or kind in self.hopeless:
            return None
        place = self._find(wish) if wish.atoms <= self.room else None
        if place is None:
            self.hopeless.add(kind)
        return place

    def _find(self, wish: Reservation) -> Place | None:
        stopwatch = self.bookings.service.stopwatch
        begun = stopwatch()
        place = self.bookings.find(wish)
        self.seconds += stopwatch() - begun
        return place


def _look(service: Service, pool_id: str, so_far: _Pass, seconds: float, tx: Tx) -> _Seen:
    begun = service.stopwatch()
    waiting = tx.oldest(pool_id, "pending", MOST, so_far.last)
    state = tx.pool_state(pool_id, {wish.tenant_id for wish in waiting})
    bookings = Bookings(service, tx, ACTOR, known(state), service.clock())
    search, changes = _Search(bookings, tx.most_free(pool_id), so_far.hopeless), False
    seconds = max(seconds, service.stopwatch() - begun)
    for tried, wish in enumerate(waiting, start=1):
        changes |= _next(search, state, wish)[0] != wish
        if tried == MOST or search.seconds >= seconds:
            return _Seen(tried, changes, wish, False, search.room, search.hopeless)
    last = waiting[-1] if waiting else so_far.last
    return _Seen(len(waiting), changes, last, True, search.room, search.hopeless)


def _some(service: Service, pool_id: str, so_far: _Pass, seen: _Seen, tx: Tx) -> _Tried:
    """Try those that were seen, under the lock of their pool."""
    tx.pool(pool_id)  # locks the pool: what waits is read when it stands still
    # With the lock: no time was spent before, and nothing of others happened later.
    begun, now = service.stopwatch(), service.clock()
    waiting = tx.oldest(pool_id, "pending", seen.count, so_far.last)
    state = tx.pool_state(pool_id, {wish.tenant_id for wish in waiting})
    bookings = Bookings(service, tx, ACTOR, known(state), now)
    search = _Search(bookings, seen.room, so_far.hopeless)
    for wish in waiting:
        after, place = _next(search, state, wish)
        bookings.save(wish, after, place)
        if place is not None:
            state.quotas[wish.tenant_id] = rules.add_use(state.rows(wish.tenant_id), wish.resources)
        if service.stopwatch() - begun >= LONGEST:
            return _Tried(_Pass(wish, so_far.hopeless), bookings.done, search.hopeless)
    # Not always the last that was seen: others may have come before it meanwhile, by the clock of another server.
    last = waiting[-1] if waiting else seen.last
    is_end = seen.is_end and last == seen.last
    return _Tried(None if is_end else _Pass(last, so_far.hopeless), bookings.done, search.hopeless)


def _next(search: _Search, state: PoolState, wish: Reservation) -> tuple[Reservation, Place | None]:
    """The wish after this turn, and its place if it is given one."""
    now = search.bookings.now
    if reason := rules.why_failed(state, wish, now):
        return rules.fail(wish, reason, now), None
    if rules.check_room(state.rows(wish.tenant_id), wish.resources):
        return rules.wait(wish, rules.QUOTA), None
    place = search.find(wish)
    if place is None:
        return rules.wait(wish, rules.NO_CAPACITY), None
    return rules.place(wish, place.node_id, now), place


def _kind(wish: Reservation) -> _Kind:
    return wish.atoms, *sorted(wish.scalars.items()), *sorted(wish.selectors.items(), key=lambda pair: pair[0])
