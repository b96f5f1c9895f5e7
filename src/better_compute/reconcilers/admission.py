"""Admission: what is placed becomes active, where billing allows it if the pool's policy wants its word.

It stands on what is stored alone, as the placer does. Billing is asked while no row is locked; what is decided then
stands on the pool as it is under its lock, and waits for the next round where that needs another word.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
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
"""Seconds after which a round asks billing no more: whatever else is due waits for its end. What it was not asked about
by then is told of as placed once more."""

_Heard = Mapping[Spending, Verdict | None]
"""What billing was asked, and its word; None where it gave none."""


@dataclass(slots=True)
class Inquiry:
    """Billing as one round asks it: each question until it is answered. Once it was silent it is not asked again, by
    this round; an answer that does not count says nothing of other questions, and may count when it is asked again.
    Where no billing is set there is nobody to ask."""

    service: Service
    until: float
    chance: Random
    silent: bool
    heard: dict[Spending, Verdict | None] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    wanted: set[str] = field(default_factory=set)
    """The pools in which something needs its word."""
    cut: set[str] = field(default_factory=set)
    """Those in which there was no time for a question that was never asked."""

    @classmethod
    def begin(cls, service: Service) -> Inquiry:
        silent = isinstance(service.billing, NoBilling)
        return cls(service, service.stopwatch() + LONGEST, Random(service.entropy(8)), silent)

    def mixed(self, all_: Iterable[T]) -> list[T]:
        """In an order of chance. One question that billing never answers may end what a round asks: in one order for
        all rounds, nothing behind it would ever be asked about."""
        found = list(all_)
        self.chance.shuffle(found)
        return found

    def ask(self, pool: Pool, needing: list[Reservation]) -> None:
        """About those that need its word, while there is time."""
        for reservation in self.mixed(needing):
            asked = spending(pool, reservation)
            if asked is None or self.heard.get(asked) is not None:
                continue
            if self.service.stopwatch() < self.until:
                self.heard[asked] = self._hear(asked)
            elif asked not in self.heard:
                self.cut.add(pool.id)

    def _hear(self, asked: Spending) -> Verdict | None:
        if self.silent:
            return None
        try:
            return self.service.billing.check(asked)
        except ComputeError as error:
            if error.code != UNAVAILABLE:
                raise
            self.silent = isinstance(error, UnreachedError)
            self._tell(f"{error}: {'; '.join(getattr(error, '__notes__', ()))}")
            return None

    def _tell(self, failure: str) -> None:
        """The operator, once of each failure."""
        if failure not in self.told:
            self.told.add(failure)
            log.warning("%s", failure)


def admit_all(service: Service, pools: Collection[str] | None = None) -> Counter[str]:
    """Let in all that is placed, in these pools or in all; how many reservations reached which state. What goes wrong
    in one pool is logged, and keeps no other pool waiting."""
    due, done = pools_where(service, "placed", pools), Counter[str]()
    if not due:
        return done
    inquiry = Inquiry.begin(service)
    failure = "the reservations that are placed in pool {} did not all become active"
    for pool_id in due:
        done += attempt(partial(_admit_in, service, pool_id, inquiry, asks=False), failure.format(pool_id)) or Counter()
    # What needs no word of billing has waited for none.
    for pool_id in inquiry.mixed(inquiry.wanted):
        done += attempt(partial(_admit_in, service, pool_id, inquiry, asks=True), failure.format(pool_id)) or Counter()
    return done


def _admit_in(service: Service, pool_id: str, inquiry: Inquiry, *, asks: bool) -> Counter[str]:
    """Let in all that is placed in one pool: each becomes active, fails, or stays with the reason of today. Where
    billing is not asked, what needs its word stays as it is."""
    last, done = None, Counter[str]()
    while True:
        pool, placed, stranded = service.store.view(partial(_placed, pool_id, last))
        needing = [r for r in placed if r.id not in stranded and spending(pool, r) is not None]
        if asks:
            inquiry.ask(pool, needing)
        elif needing:
            inquiry.wanted.add(pool_id)
        # Where nothing is to change, such as while billing is silent, no lock is asked for.
        if any(_next(pool, stranded, inquiry.heard, service.clock(), each) != each for each in placed):
            some = service.store.transact(partial(_some, service, pool_id, last, inquiry.heard))
            if some["failed"]:
                service.after_freed(pool_id)
            done += some
        if len(placed) < MOST:
            break
        last = placed[-1]
    if pool_id in inquiry.cut:
        service.after_placed(pool_id)
    return done


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
    if needed not in heard:
        return reservation
    if (verdict := heard[needed]) is None:
        return rules.wait(reservation, UNREACHED)
    if not verdict.allowed:
        return rules.fail(reservation, SPEND_LIMIT_REACHED, now)
    return rules.activate(reservation, now)
