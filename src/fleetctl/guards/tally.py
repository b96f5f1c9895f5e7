"""What guards look at, and what each of them counts there."""

from __future__ import annotations

from dataclasses import dataclass

from fleetctl.consequences import Consequences
from fleetctl.consequences.grants import Grant, Pools
from fleetctl.desired import Desired, Guards
from fleetctl.live import Live
from fleetctl.override import Allowable
from fleetctl.plan import Operation, Plan


@dataclass(frozen=True, slots=True)
class Case:
    """What a plan does, and the guards that hold; `now` is the server's clock in epoch milliseconds."""

    of: Consequences
    guards: Guards
    now: int

    @property
    def plan(self) -> Plan:
        return self.of.plan

    @property
    def live(self) -> Live:
        return self.of.live

    @property
    def pools(self) -> Pools:
        return self.of.pools

    @property
    def grants(self) -> tuple[Grant, ...]:
        return self.of.grants

    @property
    def taking(self) -> Operation | None:
        """The first operation that takes something away."""
        return next((operation for operation in self.plan.operations if operation.severity != "safe"), None)

    @property
    def desired(self) -> Desired:
        """The files, each entry under the id of its pool."""
        return self.plan.comparison.desired


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """`number` of what a guard counts, against `limit`; None: there is no limit. `says` tells what was found, `may`
    what the limit is; `first` is the operation that a problem points to: the first that counts, of an oversold pool the
    one that sells most of it. `name`: what an override calls it."""

    name: Allowable
    number: int
    limit: int | None
    says: str
    may: str
    first: Operation
