"""Pools, offers, quotas and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from better_compute.wire.views.base import View


class QuotaView(View):
    """A quota row: `available` is never negative."""

    tenant_id: str
    pool_id: str
    resource: str
    max: int
    used: int
    available: int


class QuotasView(View):
    """A tenant's rows after quotas/set."""

    items: list[QuotaView]


class OfferView(View):
    pool_id: str
    to_tenant_id: str
    priority: int
    include_descendants: bool
    version: int
    quotas: list[QuotaView]


class RemovedView(View):
    """Whether there was an offer to remove."""

    removed: bool


class AtomsView(View):
    """What the GPUs of a pool's hosts come to in its own atoms, and how many of those are booked."""

    total: int
    booked: int = 0


class WorkView(View):
    """A tenant's reservations in a pool, and the atoms that the pending ones ask for and the others hold."""

    pending: int
    placed: int
    active: int
    pending_atoms: int
    booked_atoms: int


class ProvidedView(View):
    """What the hosts of a pool provide of a resource, their ratios counted in, and how much of it is booked."""

    total: int
    booked: int = 0


class RollupView(View):
    """A pool's machines and what runs on them, summed up. `models` counts host nodes by GPU model, `gpus` the GPUs that
    can be booked whole or as the policy splits them, `instances` the MIG instances of those that are cut already;
    `reservations` are by tenant."""

    nodes: int
    host_nodes: int
    tenant_owned_nodes: int
    models: Mapping[str, int]
    gpus: int
    atoms: AtomsView
    reservations: Mapping[str, WorkView] = {}
    instances: int = 0
    resources: Mapping[str, ProvidedView] = {}


class PoolView(View, kw_only=True):
    """A pool as the acting tenant sees it; `quotas` are that tenant's own rows. The fields after them are for the
    owner, the last three only where `include` asks for them: `kept` comes with the offers where there is any, and
    holds the rows of tenants without an offer that are still in use."""

    id: str
    owner_tenant_id: str
    site_id: str
    class_: str = msgspec.field(name="class")
    gpu_model: str
    sharing: str
    agent: str
    provider_account_id: str | UnsetType = UNSET
    policy: Mapping[str, Any]
    version: int
    owned: bool
    archived: bool
    quotas: list[QuotaView]
    idempotency_key: str | UnsetType = UNSET
    created_by: str | UnsetType = UNSET
    created_at: int | UnsetType = UNSET
    archived_at: int | UnsetType = UNSET
    owner_quota_version: int | UnsetType = UNSET
    offers_version: int | UnsetType = UNSET
    offers: list[OfferView] | UnsetType = UNSET
    kept: list[QuotaView] | UnsetType = UNSET
    rollup: RollupView | UnsetType = UNSET


class ProblemView(View):
    code: str
    rule: str
    message: str
    path: str
    hint: str
    severity: Literal["error", "warning", "unchecked"]


class VerdictView(View):
    """Whether an operation would be carried out, and everything there is to say about it."""

    ok: bool
    problems: list[ProblemView]


class VerdictsView(View):
    """A verdict for each operation that was asked about, in the same order."""

    verdicts: list[VerdictView]
