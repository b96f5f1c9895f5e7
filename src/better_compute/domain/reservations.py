"""Reservations: what a tenant books in a pool, from the wish to the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["pending", "placed", "active", "ended", "failed"]

LIVE = ("pending", "placed", "active")
"""Those that are not over. A pending one holds nothing."""

BOOKED = ("placed", "active")
"""Those that hold quota, devices and host resources."""

MOST_ATTRIBUTES = 16
MOST_VALUES = 64
"""So many attributes may a reservation select by, and so many values of each."""

Resources = Mapping[str, int]
"""Resource -> how much: atoms of the pool's sharing mode, and scalars."""

Selectors = Mapping[str, Sequence[str | int]]
"""Attribute -> the values of which a device must have one: `gpuProduct`, `vramGiB`, `migProfile`, or any attribute of
its host's inventory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A tenant's booking in one pool, placed on one host. Times are epoch milliseconds.

    `atoms` is how many of the pool's own atoms it asks for, as `resources` say too. `reason` says what a pending one
    waits for, why an active one is not there yet, or what a failed one failed with. `ended_at` is when it ended or
    failed.
    """

    id: str
    pool_id: str
    tenant_id: str
    state: Status
    resources: Resources
    atoms: int
    created_by: str
    created_at: int
    selectors: Selectors = field(default_factory=dict)
    idempotency_key: str | None = None
    reason: str | None = None
    node_id: str | None = None
    placed_at: int | None = None
    activated_at: int | None = None
    ended_at: int | None = None

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    @property
    def is_booked(self) -> bool:
        return self.state in BOOKED
