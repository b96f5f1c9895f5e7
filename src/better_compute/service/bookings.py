"""Reservations as their pool allows: what is written with each step, and which host takes one.

Everything here is called in a write transaction that has locked the pool's row: the whole pool stands still.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from better_compute.domain import reservations as rules
from better_compute.domain.events import of_reservation
from better_compute.domain.placement import OF_DEVICE, Place, check_selectors, choose
from better_compute.domain.problems import Problem
from better_compute.domain.reservations import Reservation
from better_compute.domain.state import Pool
from better_compute.domain.usage import Stretch, meter
from better_compute.service.core import Service
from better_compute.service.ports import Caller, Tx


@dataclass(frozen=True, slots=True)
class Bookings:
    """The reservations of one pool, changed by `caller` at the time `now`; `done` counts those that came to a state."""

    service: Service
    tx: Tx
    caller: Caller
    pool: Pool
    now: int
    done: Counter[str] = field(default_factory=Counter)

    def save(self, before: Reservation | None, after: Reservation, place: Place | None = None) -> Reservation:
        """Write a reservation as it is after a step, with what it books or gives back and its event; nothing where it
        is as it was. `place` is where one is placed by this step."""
        if before == after:
            return after
        event = of_reservation(self.pool.owner_id, before, after)
        record = None if event is None else self.service.record(self.caller, event, after.since)
        self.tx.save_reservation(before, after, record, () if place is None else place.positions)
        self._meter(before, after)
        if before is None or before.state != after.state:
            self.done[after.state] += 1
        return after

    def end(self, reservation: Reservation) -> Reservation:
        """The reservation, ended and saved: not before the last meter it ran on began, whatever the clock says."""
        begun = self.tx.metered_from(reservation.id)
        return self.save(reservation, rules.end(reservation, self.now if begun is None else max(self.now, begun)))

    def _meter(self, before: Reservation | None, after: Reservation) -> None:
        """A reservation is metered while it is active."""
        was = before is not None and before.state == "active"
        if was and after.state != "active":
            self.tx.meter_until(after.id, after.since)
        elif after.state == "active" and not was:
            stretch = Stretch(
                reservation_id=after.id,
                started_at=after.since,
                pool_id=after.pool_id,
                tenant_id=after.tenant_id,
                meter=meter(self.pool.gpu_model),
                share=self.tx.share(after.id),
            )
            self.tx.meter_from(stretch)

    def find(self, reservation: Reservation) -> Place | None:
        """The place that the reservation would be given now: of the hosts with room for it the one with the fewest free
        devices, so that large wishes find whole hosts."""
        host = self.tx.bookable(reservation)
        return None if host is None else choose(host, reservation)

    def check_selectors(self, reservation: Reservation) -> Sequence[Problem]:
        """Why no device of the pool has what the reservation selects by, however free it is; nothing while there is
        no device."""
        selectors, pool_id = reservation.selectors, self.pool.id
        if not selectors or self.tx.has_device(pool_id, selectors):
            return ()
        said = ({name: values} for name, values in selectors.items() if name not in OF_DEVICE)
        unsaid = [name for one in said if not self.tx.has_device(pool_id, one) for name in one]
        return check_selectors(self.tx.kinds(pool_id), selectors, unsaid)
