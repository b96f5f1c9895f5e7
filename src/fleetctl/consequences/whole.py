"""What a plan does to what tenants may book, worked out once for guards, checks and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fleetctl.consequences.grants import Grant, Pools, grants
from fleetctl.consequences.ledger import Holdings, Ledger, Sides, Stock, StockKey, holdings, ledger, sides, stock
from fleetctl.live import Live
from fleetctl.plan import Plan


@dataclass(frozen=True)
class Consequences:
    """`live` is what the plan was made from; findings change nothing here. Each part is made when it is first asked
    for."""

    plan: Plan
    live: Live

    @cached_property
    def pools(self) -> Pools:
        return Pools(self.plan, self.live)

    @cached_property
    def grants(self) -> tuple[Grant, ...]:
        """Every change of quota rows, in the plan's order."""
        return tuple(grants(self.pools))

    @cached_property
    def _sides(self) -> Sides:
        return sides(self.pools)

    @cached_property
    def ledger(self) -> Ledger:
        return ledger(self._sides, self.plan.comparison.desired.prices)

    @cached_property
    def stock(self) -> Mapping[StockKey, Stock]:
        """By GPU model, atom and site, of all pools, those that the plan leaves alone too."""
        return stock(self._sides)

    @cached_property
    def holdings(self) -> Mapping[str, Holdings]:
        """By tenant, of all pools, those that the plan leaves alone too."""
        return holdings(self._sides)
