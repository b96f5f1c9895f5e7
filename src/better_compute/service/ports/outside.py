"""What the service needs from outside a store: the time, chance, who may do what, and who may spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Clock = Callable[[], int]
"""The time now in epoch milliseconds. Somebody may set it: how long something took is told by a stopwatch."""
Stopwatch = Callable[[], float]
"""Seconds that have passed since some moment."""
Entropy = Callable[[int], bytes]
"""So many random bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: an authenticated identity, its tenant, and the change that its request names (`via` of events)."""

    identity_id: str
    tenant_id: str
    via: Mapping[str, Any] | None = field(default=None)
    credential_expires_at: int | None = None


class Authorizer(Protocol):
    def rights(self, caller: Caller, tenant_id: str) -> frozenset[str]:
        """The actions that `caller` may take as `tenant_id`: none when it may not act as it, whether or not there is
        such a tenant."""


class Attestor(Protocol):
    def check(self, evidence: str, claim: bytes) -> None:
        """Raises ComputeError ACCESS_DENIED unless the evidence speaks for what a machine claims (`wire.claims`), now.
        That no evidence counts twice is not the attestor's to see to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What billing is asked about: a tenant books so many of a pool's own atoms, metered on `meter`."""

    tenant_id: str
    pool_id: str
    meter: str
    atom: str
    atoms: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether billing allows it; `reason` is what it says besides, in its own words: one short line, inert."""

    allowed: bool
    reason: str = ""


class Billing(Protocol):
    def check(self, spending: Spending) -> Verdict:
        """It may take seconds: nobody asks while a row is locked. An answer counts for all that would spend the same
        and become active in one round: they are asked about once. Raises ComputeError UNAVAILABLE (see
        `service.billing`) when there is no answer, or none that can be read."""


Authenticate = Callable[[str], Caller]
"""Who the bearer of a token is. Raises ComputeError UNAUTHENTICATED, the same for every token that does not count."""
