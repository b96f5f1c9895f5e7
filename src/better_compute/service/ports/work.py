"""Reading and writing reservations, and what can be booked for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from better_compute.domain.hosts import Host
from better_compute.domain.placement import Kind
from better_compute.domain.reservations import Reservation, Selectors, State
from better_compute.domain.state import PoolState
from better_compute.service.ports.records import EventRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationQuery:
    """Reservations of the pools that `tenant_id` owns and its own in all others, or of one pool: those after an item's
    key, which is pool and id; `limit` at most. `states`: those in one of these alone."""

    tenant_id: str
    limit: int
    after: tuple[str, ...] = ()
    pool_id: str | None = None
    states: Collection[State] | None = None


class HeldReservation(NamedTuple):
    """A reservation, and what of its pool decides how it is shown."""

    reservation: Reservation
    owner_id: str
    archived: bool


class Pending(NamedTuple):
    """How many reservations are pending in a pool, and how many of them are one tenant's."""

    in_pool: int
    of_tenant: int


class WorkTx(Protocol):
    def reservation(self, reservation_id: str) -> HeldReservation | None:
        """Whoever it is of. It stands still while the row of its pool is locked."""

    def reservation_for(self, tenant_id: str, reservation_id: str) -> HeldReservation | None:
        """A reservation of the tenant's own or in a pool that it owns. A hidden one costs what an absent one costs."""

    def reservations(self, query: ReservationQuery) -> list[HeldReservation]:
        """In order of pool and id."""

    def has_reservations(self, tenant_id: str, pool_id: str) -> bool:
        """Whether the tenant has or had any in the pool."""

    def pools_with(self, state: State) -> list[str]:
        """The pools in which reservations are in this state, one of the live ones, in order of their ids."""

    def oldest(self, pool_id: str, state: State, limit: int, after: Reservation | None) -> list[Reservation]:
        """Those of a pool that are in this state, one of the live ones, in order of their creation, after one."""

    def stranded(self, reservations: Collection[Reservation]) -> set[str]:
        """Those of booked ones, by id, that their host cannot serve: some of what they hold of it is leaving, as all is
        of a host that cannot be booked now."""

    def pending(self, pool_id: str, tenant_id: str) -> Pending: ...

    def bookable(self, wish: Reservation) -> Host | None:
        """The machine that the wish is placed on, without its node resources: of those with room for it that with the
        fewest devices free, and of these the first by id. None where no machine has room.

        The room of a resource is what is stored of it: its ratio is in there, and no policy is asked. What the machine
        says of itself is taken from its attributes as they are kept: `choose` asks its inventory.
        """

    def most_free(self, pool_id: str) -> int:
        """How many devices are free on the machine of a pool that has the most; 0 where none can be booked."""

    def has_device(self, pool_id: str, selectors: Selectors) -> bool:
        """Whether a device of a machine that can be booked has all that is selected by, booked ones too."""

    def kinds(self, pool_id: str) -> list[Kind]:
        """The devices of the machines that can be booked, one of each kind, booked ones too; with one statement."""

    def save_reservation(
        self, before: Reservation | None, after: Reservation, event: EventRecord | None, positions: Sequence[int] = ()
    ) -> None:
        """Write a reservation as it is now, with its event; the row of its pool is locked in this transaction.

        What is placed now is booked: quota, the devices at `positions` of its host, and its node resources. What is
        over and was booked is released: devices that are leaving go with it. A new one is inserted, so that a second
        one of its id begins its transaction anew. Raises RuntimeError, and nothing stays, where one of these is not as
        its caller saw it: a fault of this program.
        """

    def roll_up(self, states: Iterable[PoolState]) -> None:
        """Add to the rollups what runs on the pools, by tenant, and what their hosts provide; three statements."""
