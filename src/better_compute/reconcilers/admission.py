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
"""Seconds after which a round asks billing no more: whatever else is due waits for its end. Where there was no time for
a question, its pools are told of as ones in which something was placed."""

_Heard = Mapping[Spending, Verdict | None]
"""What billing was asked, and its word; None where it gave none."""


@dataclass(slots=True)
class Inquiry:
    """Billing as one round asks it: each question once. Once it was silent it is not asked again, by this round; an
    answer that does not count says nothing of other questions. Where no billing is set there is nobody to ask."""

    service: Service
    silent: bool
    heard: dict[Spending, Verdict | None] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)

    def ask(self, questions: Iterable[Spending], longest: float) -> list[Spending]:
        """Ask for so many seconds; what there was no time for. In an order of chance: where some questions are slow,
        or have no answer that counts, nothing stands behind them for ever."""
        mixed = sorted(questions, key=repr)
        Random(self.service.entropy(8)).shuffle(mixed)
        until = self.service.stopwatch() + longest
        for number, asked in enumerate(mixed):
            if not self.silent and self.service.stopwatch() >= until:
                return mixed[number:]
            failure = f"billing was not asked about pool {asked.pool_id} as it should be"
            self.heard[asked] = attempt(partial(self._hear, asked), failure)
        return []

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


def admit_all(service: Service, pools: Collection[str] | None = None, longest: float = LONGEST) -> Counter[str]:
    """Let in all that is placed, in these pools or in all, asking billing for so many seconds; how many reservations
    reached which state. What goes wrong in one pool is logged, and keeps no other pool waiting."""
    inquiry = Inquiry(service, silent=isinstance(service.billing, NoBilling))
    questions: set[Spending] = set()
    done = _admit(service, pools_where(service, "placed", pools), inquiry.heard, questions)
    # What needs no word of billing is in by now, and has waited for none.
    left = inquiry.ask(questions, longest)
    done += _admit(service, sorted({asked.pool_id for asked in inquiry.heard}), inquiry.heard, set())
    for pool_id in {asked.pool_id for asked in left}:
        service.after_placed(pool_id)
    return done


def _admit(service: Service, pools: Iterable[str], heard: _Heard, questions: set[Spending]) -> Counter[str]:
    done = Counter[str]()
    for pool_id in pools:
        failure = f"the reservations that are placed in pool {pool_id} did not all become active"
        done += attempt(partial(_admit_in, service, pool_id, heard, questions), failure) or Counter()
    return done


def _admit_in(service: Service, pool_id: str, heard: _Heard, questions: set[Spending]) -> Counter[str]:
    """Let in all that is placed in one pool: each becomes active, fails, or stays with the reason of today; what needs
    a word that was not heard stays as it is, and is added to the questions."""
    last, done = None, Counter[str]()
    while True:
        pool, placed, stranded = service.store.view(partial(_placed, pool_id, last))
        for reservation in placed:
            asked = None if reservation.id in stranded else spending(pool, reservation)
            if asked is not None and asked not in heard:
                questions.add(asked)
        # Where nothing is to change, such as while billing is silent, no lock is asked for.
        if any(_next(pool, stranded, heard, service.clock(), each) != each for each in placed):
            some = service.store.transact(partial(_some, service, pool_id, last, heard))
            if some["failed"]:
                service.after_freed(pool_id)
            done += some
        if len(placed) < MOST:
            return done
        last = placed[-1]


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
