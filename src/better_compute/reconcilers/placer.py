"""The placer: reservations that wait are tried again, pool by pool and the oldest first.

It stands on what is stored alone, so it may run at any time, as often as one likes, in several processes at once. A
later wish that fits is placed although an earlier, larger one still waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
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
LONGEST = 200
"""So many wishes are tried in one transaction, and after so many milliseconds with the pool's lock no other one is
begun: others wait for the lock."""

_Kind = tuple[object, ...]
"""What makes two wishes alike to every host."""


def place_all(service: Service, pools: Collection[str] | None = None) -> Counter[str]:
    """Try all that waits, in these pools or in all; how many reservations reached which state. What goes wrong in one
    pool is logged, and keeps no other pool waiting."""
    done = Counter[str]()
    for pool_id in pools_where(service, "pending", pools):
        failure = f"the reservations that wait in pool {pool_id} were not all tried"
        done += attempt(partial(place_in, service, pool_id), failure) or Counter()
    return done


def place_in(service: Service, pool_id: str) -> Counter[str]:
    """Try all that waits in one pool: each is placed, fails, or waits on with the reason of today."""
    done = Counter[str]()
    last: Reservation | None = None
    hopeless: frozenset[_Kind] = frozenset()
    while True:
        last, hopeless, some = service.store.transact(partial(_some, service, pool_id, last, hopeless))
        done += some
        if last is None:
            return done


def _some(
    service: Service, pool_id: str, after: Reservation | None, hopeless: frozenset[_Kind], tx: Tx
) -> tuple[Reservation | None, frozenset[_Kind], Counter[str]]:
    """Try the next ones: the last that was tried, None at the end; what no host has room for in this pass; and how many
    came to which state."""
    tx.pool_state(pool_id, [])  # locks the pool: what waits is read when it stands still
    begun = service.clock()  # with the lock: no time was spent before, and nothing of others happened later
    waiting = tx.oldest(pool_id, "pending", MOST, after)
    if not waiting:
        return None, hopeless, Counter()
    state = tx.pool_state(pool_id, {wish.tenant_id for wish in waiting})
    bookings = Bookings(service, tx, ACTOR, known(state), begun)
    for wish in waiting:
        hopeless |= _try(bookings, state, wish, hopeless)
        if service.clock() - begun >= LONGEST:
            return wish, hopeless, bookings.done
    return waiting[-1] if len(waiting) == MOST else None, hopeless, bookings.done


def _try(bookings: Bookings, state: PoolState, wish: Reservation, hopeless: frozenset[_Kind]) -> frozenset[_Kind]:
    """One wish; `state` is brought up to date. Its kind, where no host has room for it."""
    rows = state.rows(wish.tenant_id)
    if reason := rules.why_failed(state, wish, bookings.now):
        bookings.save(wish, rules.fail(wish, reason, bookings.now))
    elif rules.check_room(rows, wish.resources):
        bookings.save(wish, rules.wait(wish, rules.QUOTA))
    elif (kind := _kind(wish)) in hopeless or (place := bookings.find(wish)) is None:
        bookings.save(wish, rules.wait(wish, rules.NO_CAPACITY))
        return frozenset({kind})
    else:
        bookings.save(wish, rules.place(wish, place.node_id, bookings.now), place)
        state.quotas[wish.tenant_id] = rules.add_use(rows, wish.resources)
    return frozenset()


def _kind(wish: Reservation) -> _Kind:
    return wish.atoms, *sorted(wish.scalars.items()), *sorted(wish.selectors.items(), key=lambda pair: pair[0])
