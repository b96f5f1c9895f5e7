"""Whether a tenant may spend: what billing is asked, and what is said where it cannot be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from better_compute.domain.problems import SPEND_LIMIT_REACHED, UNAVAILABLE, ComputeError, Problem
from better_compute.domain.reservations import Reservation
from better_compute.domain.state import Pool
from better_compute.domain.usage import meter
from better_compute.service.ports import Billing, Spending, Store, Tx, Verdict

T = TypeVar("T")

Admit = Callable[[Pool, Reservation], None]
"""Called before a reservation is stored, under the lock of its pool's row; raises where it may not be stored now."""

RULE = "admission.budgetCheck"

UNREACHED = "billing could not be asked"


def spending(pool: Pool, reservation: Reservation) -> Spending | None:
    """What billing is asked before the reservation may go on; None where the pool's policy does not want its word."""
    admission = pool.policy.get("admission")
    if not isinstance(admission, Mapping) or admission.get("budgetCheck") != "meter":
        return None
    return Spending(
        tenant_id=reservation.tenant_id,
        pool_id=pool.id,
        meter=meter(pool.gpu_model),
        atom=pool.atom,
        atoms=reservation.atoms,
    )


def transact(store: Store, billing: Billing, work: Callable[[Tx, Admit], T]) -> T:
    """`Store.transact` of work that may need billing's word. Billing is asked between two transactions: the first finds
    out what about, and leaves nothing behind.

    Raises ComputeError: SPEND_LIMIT_REACHED when billing refuses, UNAVAILABLE when it gives no answer, or when by the
    second transaction its word is needed about something else; then nothing was written.
    """
    heard: dict[Spending, Verdict] = {}

    def admit(pool: Pool, reservation: Reservation) -> None:
        asked = spending(pool, reservation)
        if asked is None:
            return
        if asked not in heard:
            raise _UnheardError(asked)
        if not heard[asked].allowed:
            raise refused(heard[asked])

    for _ in range(2):
        try:
            return store.transact(lambda tx: work(tx, admit))
        except _UnheardError as unheard:
            if not heard:
                heard[unheard.spending] = billing.check(unheard.spending)
    raise ComputeError(Problem(UNAVAILABLE, RULE, "the pool changed while billing was asked: nothing was written"))


class _UnheardError(Exception):
    """Billing's word is needed and was not asked for."""

    def __init__(self, asked: Spending) -> None:
        super().__init__()
        self.spending = asked


class NoBilling:
    """A `Billing` where none is set: nothing that needs its word goes on."""

    def check(self, spending: Spending) -> Verdict:
        raise unreached(f"no billing is set, and the pool {spending.pool_id} needs its word: see --billing-url")


class UnreachedError(ComputeError):
    """Billing cannot be reached, or did not answer in time: so it would be with any other question now."""


def unreached(why: str) -> UnreachedError:
    """Billing gave no answer at all. `why` is a note: for the operator, not for the caller."""
    found = UnreachedError(Problem(UNAVAILABLE, RULE, UNREACHED))
    found.add_note(why)
    return found


def unread(why: str) -> ComputeError:
    """Billing gave an answer to this question, and none that counts. `why` as in `unreached`."""
    found = ComputeError(Problem(UNAVAILABLE, RULE, UNREACHED))
    found.add_note(why)
    return found


def refused(verdict: Verdict) -> ComputeError:
    """Billing said no."""
    return ComputeError(Problem(SPEND_LIMIT_REACHED, RULE, "billing allows no more of this", hint=verdict.reason))
