"""The placer: reservations that wait are tried again, pool by pool and the oldest first.

It stands on what is stored alone, so it may run at any time, as often as one likes, in several processes at once. A
later wish that fits is placed although an earlier, larger one still waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from better_compute.domain import reservations as rules
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

_Kind = tuple[object, ...]
"""What makes two wishes alike to every host."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """How far a pass through all that waits in a pool has come: the last that was tried, and what no host had room
    for."""

    last: Reservation | None = None
    hopeless: frozenset[_Kind] = frozenset()


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
        for pool_id, so_far in list(self._passes.items()):
            failure = f"the reservations that wait in pool {pool_id} were not all tried"
            try_some = partial(_some, self._service, pool_id, so_far)
            turn = attempt(partial(self._service.store.transact, try_some), failure)
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


def _some(service: Service, pool_id: str, so_far: _Pass, tx: Tx) -> tuple[_Pass | None, Counter[str]]:
    """Try the next ones: how far the pass has come, None at its end; and how many came to which state."""
    tx.pool(pool_id)  # locks the pool: what waits is read when it stands still
    # With the lock: no time was spent before, and nothing of others happened later.
    begun, now = service.stopwatch(), service.clock()
    waiting = tx.oldest(pool_id, "pending", MOST, so_far.last)
    if not waiting:
        return None, Counter()
    state = tx.pool_state(pool_id, {wish.tenant_id for wish in waiting})
    bookings = Bookings(service, tx, ACTOR, known(state), now)
    hopeless = set(so_far.hopeless)
    for tried, wish in enumerate(waiting, start=1):
        _try(bookings, state, wish, hopeless)
        if tried == MOST or service.stopwatch() - begun >= LONGEST:
            return _Pass(wish, frozenset(hopeless)), bookings.done
    return None, bookings.done


def _try(bookings: Bookings, state: PoolState, wish: Reservation, hopeless: set[_Kind]) -> None:
    """One wish; `state` and what is `hopeless` are brought up to date."""
    rows = state.rows(wish.tenant_id)
    if reason := rules.why_failed(state, wish, bookings.now):
        bookings.save(wish, rules.fail(wish, reason, bookings.now))
    elif rules.check_room(rows, wish.resources):
        bookings.save(wish, rules.wait(wish, rules.QUOTA))
    elif (kind := _kind(wish)) in hopeless or (place := bookings.find(wish)) is None:
        bookings.save(wish, rules.wait(wish, rules.NO_CAPACITY))
        hopeless.add(kind)
    else:
        bookings.save(wish, rules.place(wish, place.node_id, bookings.now), place)
        state.quotas[wish.tenant_id] = rules.add_use(rows, wish.resources)


def _kind(wish: Reservation) -> _Kind:
    return wish.atoms, *sorted(wish.scalars.items()), *sorted(wish.selectors.items(), key=lambda pair: pair[0])
