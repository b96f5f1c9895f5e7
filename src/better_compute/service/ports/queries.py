"""What is asked of a store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from better_compute.domain.state import Offer, QuotaRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolQuery:
    """Which pools `tenant_id` sees: owned or offered to it, in order of their ids after `after`, `limit` at most."""

    tenant_id: str
    limit: int
    after: str | None = None
    ids: Collection[str] | None = None
    owned: bool | None = None
    archived: bool | None = None
    offers: bool = False
    """Load every offer with its rows (of pools that the tenant owns)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartQuery:
    """Offers or quota rows of the pools that `tenant_id` sees, or of one of them: those after an item's key, which is
    pool, tenant and, of a row, resource; `limit` at most. `of`: the rows of one tenant alone."""

    tenant_id: str
    limit: int
    after: tuple[str, ...] = ()
    pool_id: str | None = None
    of: str | None = None


HeldRow = tuple[str, str, str, QuotaRow]
"""A quota row behind its pool, tenant and resource."""


class HeldOffer(NamedTuple):
    """An offer with the rows of its tenant, by resource."""

    pool_id: str
    offer: Offer
    rows: Mapping[str, QuotaRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """Events of one owner's chain after sequence `after`. `latest`: the newest of each pool and of each pair of pool
    and tenant alone, pool.* and quota.* only."""

    tenant_id: str
    limit: int
    after: int = 0
    newest_first: bool = False
    before: int | None = None
    types: Collection[str] | None = None
    """Exact names, or prefixes that end in `.*`."""
    pool_ids: Collection[str] | None = None
    latest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageQuery:
    """What was used from `start` to `end`, in epoch milliseconds, of one meter or of all; what runs is counted until
    `now`. `after` and `limit` as in a `PartQuery`, the key of an item being pool, tenant and meter."""

    tenant_id: str
    start: int
    end: int
    now: int
    limit: int
    after: tuple[str, ...] = ()
    meter: str | None = None


class Used(NamedTuple):
    """What a tenant used of a meter in a pool: GPUs times milliseconds."""

    pool_id: str
    tenant_id: str
    meter: str
    amount: Fraction
