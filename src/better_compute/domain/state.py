"""One pool with all that belongs to it, and what changes in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from better_compute.domain.atoms import ATOMS
from better_compute.domain.bounds import HostBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A pool's own row. Times are epoch milliseconds; `region` is its site's.

    `version` is raised by update and archive, `offers_version` by offer, unoffer and quotas/set; both start at 1 and
    each change raises one of them by exactly 1. `owner_quota_version` is the `offers_version` of the last write of
    the owner's quota rows.
    """

    id: str
    owner_id: str
    site_id: str
    class_: str
    gpu_model: str
    sharing: str
    agent: str
    provider_account_id: str | None
    policy: Mapping[str, Any]
    region: str
    idempotency_key: str | None
    created_by: str
    created_at: int
    archived_at: int | None = None
    version: int = 1
    offers_version: int = 1
    owner_quota_version: int = 1

    @property
    def archived(self) -> bool:
        return self.archived_at is not None

    @property
    def atom(self) -> str:
        """The resource its GPUs are counted in."""
        return ATOMS[self.sharing]


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer's row; `version` is the pool's `offers_version` at the last write of the offer or its quota rows."""

    tenant_id: str
    priority: int
    include_descendants: bool
    version: int


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """What a tenant may book of one resource in a pool, and what it has booked."""

    max: int
    used: int = 0

    @property
    def available(self) -> int:
        """Never negative: `max` may be set below `used` (rule quota.exact)."""
        return max(0, self.max - self.used)


@dataclass(frozen=True, slots=True)
class Terms:
    """What an offer grants, without its version: what files wish and events tell. Rows of 0 and no rows are equal."""

    quota: Mapping[str, int]
    priority: int = 0
    include_descendants: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """A tenant's reservations in a pool by what they do, and the atoms that each sort asks for or holds."""

    pending: int = 0
    placed: int = 0
    active: int = 0
    pending_atoms: int = 0
    booked_atoms: int = 0

    @property
    def running(self) -> int:
        """Reservations that hold what they asked for."""
        return self.placed + self.active


@dataclass(frozen=True, slots=True)
class Provided:
    """What hosts provide of a resource, their ratios counted in, and how much of it is booked."""

    total: int
    booked: int = 0


@dataclass(frozen=True, slots=True)
class Rollup:
    """The machines of a pool and what runs on them, summed up. `models` counts host nodes by GPU model, `gpus` the GPUs
    that can be booked whole or as the policy splits them, `instances` the MIG instances of those that are cut already.
    `atoms` are the devices that hosts are split into by now, whatever the policy says since; `work` is by tenant."""

    nodes: int = 0
    host_nodes: int = 0
    tenant_owned_nodes: int = 0
    models: Mapping[str, int] = field(default_factory=dict)
    gpus: int = 0
    instances: int = 0
    work: Mapping[str, Work] = field(default_factory=dict)
    resources: Mapping[str, Provided] = field(default_factory=dict)
    atoms: int = 0

    @property
    def total_work(self) -> Work:
        """That of all tenants together."""
        return Work(*(sum(getattr(work, each.name) for work in self.work.values()) for each in fields(Work)))


@dataclass(slots=True)
class PoolState:
    """The aggregate that `decide` judges: a pool (None: not created), its offers, quota rows and machines.

    A loader may leave out offers and rows of tenants that a command does not touch; then `others` (offers to tenants
    besides the owner) and `wide` (those of them with includeDescendants) still count all of them. `bounds` is loaded
    where a policy is judged; None is not known.
    """

    pool: Pool | None = None
    offers: dict[str, Offer] = field(default_factory=dict)
    quotas: dict[str, dict[str, QuotaRow]] = field(default_factory=dict)
    rollup: Rollup = Rollup()
    others: int = 0
    wide: int = 0
    bounds: HostBounds | None = None

    @classmethod
    def whole(
        cls, pool: Pool, offers: dict[str, Offer], quotas: dict[str, dict[str, QuotaRow]], rollup: Rollup
    ) -> PoolState:
        """A state with every offer loaded, counted here."""
        others = [o for t, o in offers.items() if t != pool.owner_id]
        return cls(pool, offers, quotas, rollup, len(others), sum(o.include_descendants for o in others))

    def copy(self) -> PoolState:
        """A state of its own, so that a model can change while what was read stays."""
        quotas = {tenant_id: dict(rows) for tenant_id, rows in self.quotas.items()}
        return PoolState(self.pool, dict(self.offers), quotas, self.rollup, self.others, self.wide, self.bounds)

    def is_seen_by(self, tenant_id: str) -> bool:
        """Whether the tenant owns the pool or holds an offer of it, where its offer is loaded."""
        return self.pool is not None and (tenant_id == self.pool.owner_id or tenant_id in self.offers)

    def rows(self, tenant_id: str) -> Mapping[str, QuotaRow]:
        return self.quotas.get(tenant_id, {})

    @property
    def booked(self) -> dict[str, int]:
        """What all tenants together have booked of each resource; those of which nothing is are left out."""
        used: dict[str, int] = {}
        for rows in self.quotas.values():
            for resource, row in rows.items():
                if row.used:
                    used[resource] = used.get(resource, 0) + row.used
        return used

    def limits(self, tenant_id: str) -> dict[str, int]:
        """A tenant's quota: resource -> max."""
        return {resource: row.max for resource, row in self.rows(tenant_id).items()}

    def terms(self, tenant_id: str) -> Terms | None:
        """What the tenant is offered, None without an offer."""
        offer = self.offers.get(tenant_id)
        return None if offer is None else Terms(self.limits(tenant_id), offer.priority, offer.include_descendants)

    def apply(self, delta: Delta) -> None:
        """Take over a delta; costs no more than it is large, so that a fold over a plan stays linear."""
        self.pool = delta.pool or self.pool
        for tenant_id, offer in delta.offers.items():
            before = self.offers.pop(tenant_id, None)
            if offer is not None:
                self.offers[tenant_id] = offer
            if self.pool is not None and tenant_id != self.pool.owner_id:
                self.others += (offer is not None) - (before is not None)
                self.wide += _wide(offer) - _wide(before)
        for tenant_id, rows in delta.quotas.items():
            self.quotas.setdefault(tenant_id, {}).update(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """Rows as they are after a decision; what is not named stays. An offer of None is removed. `created`: there was no
    such pool before."""

    pool: Pool | None = None
    created: bool = False
    offers: Mapping[str, Offer | None] = field(default_factory=dict)
    quotas: Mapping[str, Mapping[str, QuotaRow]] = field(default_factory=dict)


def _wide(offer: Offer | None) -> int:
    return int(offer is not None and offer.include_descendants)
