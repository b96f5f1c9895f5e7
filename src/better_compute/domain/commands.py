"""What can be asked of a pool. One type, four readers: plan operation, client request, HTTP body, input of `decide`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from better_compute.domain.atoms import DEFAULT_SHARING

Policy = Mapping[str, Any]
Quota = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`tenant_id` acts; `pool_id` is the pool it is about."""

    tenant_id: str
    pool_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePool(Command):
    """`agent` and `owner_quota` of None were not stated: rules pool.agent, pool.provider and pool.ownerQuota tell."""

    site_id: str
    class_: str
    gpu_model: str
    sharing: str = DEFAULT_SHARING
    agent: str | None = None
    policy: Policy = field(default_factory=dict)
    provider_account_id: str | None = None
    owner_quota: Quota | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePool(Command):
    """The policy is replaced whole; None leaves a part as it is."""

    policy: Policy | None = None
    gpu_model: str | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferPool(Command):
    """Priority and includeDescendants of None keep what the offer has, or take the default at a first offer."""

    to_tenant_id: str
    quota: Quota
    priority: int | None = None
    include_descendants: bool | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnofferPool(Command):
    to_tenant_id: str
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuota(Command):
    """The named rows are set, others stay. `to_tenant_id` is the owner or a tenant with an offer."""

    to_tenant_id: str
    quota: Quota
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePool(Command):
    expected_version: int | None = None
    expected_offers_version: int | None = None
