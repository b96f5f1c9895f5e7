"""Reading and writing what reservations used."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from better_compute.domain.usage import Stretch
from better_compute.service.ports.queries import UsageQuery, Used


class UsageTx(Protocol):
    def share(self, reservation_id: str) -> Fraction:
        """How many GPUs the devices that it holds are metered as."""

    def meter_from(self, stretch: Stretch) -> None:
        """A reservation is metered from now on."""

    def metered_from(self, reservation_id: str) -> int | None:
        """Since when it runs on the meter that it runs on; None where it is not metered now."""

    def meter_until(self, reservation_id: str, now: int) -> None:
        """It is not metered any more, if it was. `now` is not before `metered_from`."""

    def meter_anew(self, pool_id: str, meter: str, now: int) -> None:
        """The active reservations of a pool are metered on another meter from now on, each with its share. Where the
        clock was set back, that is from when the one before began: no time is metered twice."""

    def usage(self, query: UsageQuery) -> list[Used]:
        """In order of pool, tenant and meter: of all tenants in pools that the tenant owns, its own in the others."""
