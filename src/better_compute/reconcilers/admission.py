"""Admission: what is placed becomes active, where billing allows it if the pool's policy wants its word.

It stands on what is stored alone, as the placer does. Billing is asked while no row is locked; what is decided then
stands on the pool as it is under its lock, and is asked about anew where that needs another word.
"""

from __future__ import annotations

import logging
from collections import ChainMap, Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from random import Random
from typing import TypeVar

from better_compute.domain import reservations as rules
from better_compute.domain.problems import SPEND_LIMIT_REACHED, UNAVAILABLE, ComputeError
from better_compute.domain.reservations import Reservation
from better_compute.domain.state import Pool
from better_compute.reconcilers.waiting import pools_where
from better_compute.service.actions import ADMISSION, ROOT
from better_compute.service.billing import UNREACHED, NoBilling, UnreachedError, spending
from better_compute.service.bookings import Bookings
from better_compute.service.core import Service, attempt, known
from better_compute.service.ports import Caller, Spending, Tx, Verdict

log = logging.getLogger(__name__)

T = TypeVar("T")

ACTOR = Caller(identity_id=ADMISSION, tenant_id=ROOT)

MOST = 50
"""So many are let in by one transaction: others wait for its lock."""

LONGEST = 10.0
"""Seconds after which billing is asked no more at a time: whatever else is due waits for the end of that."""

_Word = tuple[Spending, Verdict | None]
"""A question, and what billing said to it; None where that does not count."""

_Heard = Mapping[str, _Word]
"""The word about a reservation, by its id."""


class Admission:
    """What is placed is let in by turns. A whole turn looks at all of it; the turns after that look at the pools that
    they are given alone, and ask what there was no time for. About a pool there is to be asked what the last look at it
    found, and nothing that was over or another question by then.

    A word is about the reservations that were seen placed before it was asked for, and about no other: billing may
    have said something else to one that was made meanwhile. Where billing gives none that counts, these are not asked
    about again before the next whole turn, and the operator is told of each failure once until then. Once it was
    silent it is asked nothing more in that turn; where no billing is set there is nobody to ask.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._unasked: dict[str, dict[Spending, set[str]]] = {}
        self._unsaid: dict[str, _Word] = {}
        self._warned: set[str] = set()
        self._silent = False

    def __bool__(self) -> bool:
        """Whether something is left to ask."""
        return bool(self._unasked)

    def go_on(self, pools: Collection[str] | None, longest: float) -> Counter[str]:
        """One turn, a whole one without `pools`: let in what needs no word, then ask for so many seconds, one question
        at least, and let in what that is about; how many reservations reached which state. What goes wrong in one pool
        is logged, and keeps no other waiting."""
        waiting, done = pools_where(self._service, "placed", pools), Counter[str]()
        if pools is None:
            self._unasked, self._unsaid, self._warned = {}, {}, set()
        for pool_id in pools or ():
            self._unasked.pop(pool_id, None)
        # What needs no word of billing is in before it is asked, and has waited for none.
        for pool_id in waiting:
            done += self._admit(pool_id, {})
        until = self._service.stopwatch() + longest
        self._silent = isinstance(self._service.billing, NoBilling)
        for pool_id in self._mixed(self._unasked):
            if self._is_over(until):
                break
            done += self._admit(pool_id, self._ask(pool_id, until))
        return done

    def _is_over(self, until: float) -> bool:
        """Whether there is no time left to ask. To know that it is silent takes none."""
        return not self._silent and self._service.stopwatch() >= until

    def _mixed(self, things: Iterable[T]) -> list[T]:
        """In an order of chance: where some questions are slow, nothing stands behind them for ever."""
        mixed = sorted(things, key=repr)
        Random(self._service.entropy(8)).shuffle(mixed)
        return mixed

    def _ask(self, pool_id: str, until: float) -> dict[str, _Word]:
        """Ask about one pool: every word that counts. What there is no time for is found by the next look at it."""
        heard: dict[str, _Word] = {}
        questions = self._unasked.pop(pool_id)
        for asked in self._mixed(questions):
            if self._is_over(until):
                break
            verdict = attempt(partial(self._hear, asked), f"billing was not asked about pool {pool_id} as it should be")
            (self._unsaid if verdict is None else heard).update(dict.fromkeys(questions[asked], (asked, verdict)))
        return heard

    def _hear(self, asked: Spending) -> Verdict | None:
        if self._silent:
            return None
        try:
            return self._service.billing.check(asked)
        except ComputeError as error:
            if error.code != UNAVAILABLE:
                raise
            self._silent = isinstance(error, UnreachedError)
            self._warn(f"{error}: {'; '.join(getattr(error, '__notes__', ()))}")
            return None

    def _warn(self, failure: str) -> None:
        if failure not in self._warned:
            self._warned.add(failure)
            log.warning("%s", failure)

    def _admit(self, pool_id: str, heard: dict[str, _Word]) -> Counter[str]:
        failure = f"the reservations that are placed in pool {pool_id} did not all become active"
        # A new word stands before one that was missing: it may be about another question.
        return attempt(partial(self._admit_in, pool_id, ChainMap(heard, self._unsaid)), failure) or Counter()

    def _admit_in(self, pool_id: str, heard: _Heard) -> Counter[str]:
        """Let in all that is placed in one pool: each becomes active, fails, or stays with the reason of today; what
        needs a word that was not heard stays as it is, and is to be asked about."""
        service, last, done = self._service, None, Counter[str]()
        while True:
            pool, placed, stranded = service.store.view(partial(_placed, pool_id, last))
            for reservation in placed:
                needed = None if reservation.id in stranded else spending(pool, reservation)
                if needed is not None and not _is_heard(heard, needed, reservation):
                    self._unasked.setdefault(pool_id, {}).setdefault(needed, set()).add(reservation.id)
            # Where nothing is to change, such as while billing is silent, no lock is asked for.
            if any(_next(pool, stranded, heard, service.clock(), each) != each for each in placed):
                some = service.store.transact(partial(_some, service, pool_id, last, heard))
                if some["failed"]:
                    service.after_freed(pool_id)
                done += some
            if len(placed) < MOST:
                return done
            last = placed[-1]


def admit_all(service: Service, pools: Collection[str] | None = None) -> Counter[str]:
    """Let in all that is placed, in these pools or in all, by one turn; how many reservations reached which state. What
    there was no time to ask waits for the next round."""
    return Admission(service).go_on(pools, LONGEST)


def _placed(pool_id: str, after: Reservation | None, tx: Tx) -> tuple[Pool, list[Reservation], set[str]]:
    """The next ones, with their pool as it is now, and those of them that their hosts cannot serve."""
    pool = known(tx.pool(pool_id))
    placed = tx.oldest(pool_id, "placed", MOST, after)
    return pool, placed, tx.stranded(placed) if placed else set()


def _some(service: Service, pool_id: str, after: Reservation | None, heard: _Heard, tx: Tx) -> Counter[str]:
    pool, placed, stranded = _placed(pool_id, after, tx)
    bookings = Bookings(service, tx, ACTOR, pool, service.clock())
    for reservation in placed:
        bookings.save(reservation, _next(pool, stranded, heard, bookings.now, reservation))
    return bookings.done


def _next(pool: Pool, stranded: Collection[str], heard: _Heard, now: int, reservation: Reservation) -> Reservation:
    """The reservation after this round."""
    if reservation.id in stranded:
        return rules.wait(reservation, rules.STRANDED)
    needed = spending(pool, reservation)
    if needed is None:
        return rules.activate(reservation, now)
    if not _is_heard(heard, needed, reservation):
        return reservation
    if (verdict := heard[reservation.id][1]) is None:
        return rules.wait(reservation, UNREACHED)
    if not verdict.allowed:
        return rules.fail(reservation, SPEND_LIMIT_REACHED, now)
    return rules.activate(reservation, now)


def _is_heard(heard: _Heard, needed: Spending, reservation: Reservation) -> bool:
    """Whether the word that it needs was asked for when it was placed already."""
    return reservation.id in heard and heard[reservation.id][0] == needed
