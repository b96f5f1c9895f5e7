"""What guards look at, and what each of them counts there."""

from __future__ import annotations

from dataclasses import dataclass

from fleetctl.desired import Desired, Guards
from fleetctl.live import Live
from fleetctl.plan import Operation, Plan
from fleetctl.plan.grants import Grant, Pools


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A plan, the live state that it was made from, and the guards that hold. `grants` are all of its changes of quota
    rows; `now` is the server's clock in epoch milliseconds."""

    plan: Plan
    live: Live
    guards: Guards
    now: int
    pools: Pools
    grants: tuple[Grant, ...]

    @property
    def desired(self) -> Desired:
        """The files, each entry under the id of its pool."""
        return self.plan.comparison.desired


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """`number` of what a guard counts, against `limit`; None: there is no limit. `says` tells what was found, `may`
    what the limit is; `first` is the first operation, in the plan's order, that counts. `name`: what an override calls
    it."""

    name: str
    number: int
    limit: int | None
    says: str
    may: str
    first: Operation
