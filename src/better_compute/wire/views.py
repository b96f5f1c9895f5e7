"""What the API shows. An absent field is one that there is none of, or that is not the caller's to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

T = TypeVar("T")


class View(Struct, rename="camel", gc=False): ...


class Page(View, Generic[T]):
    """A page of a list. `sequence` is the acting tenant's last event when the page was read."""

    items: list[T]
    next_cursor: str | None
    sequence: int


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


class RollupView(View):
    """A pool's machines and what runs on them, summed up. `models` counts host nodes by GPU model, `gpus` the GPUs of
    host nodes; `reservations` are by tenant."""

    nodes: int
    host_nodes: int
    tenant_owned_nodes: int
    models: Mapping[str, int]
    gpus: int
    atoms: AtomsView
    reservations: Mapping[str, WorkView] = {}


class PoolView(View, kw_only=True):
    """A pool as the acting tenant sees it; `quotas` are that tenant's own rows. The fields after them are for the
    owner, the last two only where `include` asks for them."""

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


class SiteView(View):
    id: str
    tenant_id: str
    name: str
    kind: str
    region: str


class AccountView(View):
    id: str
    tenant_id: str
    name: str


class InventoryView(View):
    """GPUs by NVML name, memory and disk in GiB, huge pages in pages."""

    gpus: list[str]
    vcpu: int
    memory_gib: int = msgspec.field(name="memoryGiB")
    disk_gib: int = msgspec.field(name="diskGiB")
    hugepages_2mi: int = msgspec.field(name="hugepages2Mi")
    hugepages_1gi: int = msgspec.field(name="hugepages1Gi")
    attributes: Mapping[str, str | int]


class NodeView(View, kw_only=True):
    """A machine of a pool. `quarantined` is the GPU name that was not understood; such a machine adds no capacity."""

    id: str
    pool_id: str
    role: str
    gpu_model: str | UnsetType = UNSET
    inventory: InventoryView
    owner_tenant_id: str | UnsetType = UNSET
    joined_at: int
    quarantined: str | UnsetType = UNSET


class JoinTokenView(View):
    """The only time that the token is shown. It lets one machine join."""

    id: str
    pool_id: str
    join_token: str
    expires_at: int


class TenantView(View, kw_only=True):
    id: str
    parent_id: str | UnsetType = UNSET
    status: str
    created_at: int


class IdentityView(View):
    id: str
    tenant_id: str
    kind: str
    created_at: int


class CredentialView(View, kw_only=True):
    """A token's record; the token itself is shown once, in the answer of credentials/create."""

    id: str
    identity_id: str
    created_at: int
    expires_at: int | UnsetType = UNSET
    revoked_at: int | UnsetType = UNSET
    token: str | UnsetType = UNSET


class EventView(View, kw_only=True):
    """`tenantId` is the owner whose chain the event belongs to; `data` holds what was before and is after."""

    id: str
    type: str
    tenant_id: str
    actor_id: str
    via: Mapping[str, Any] | UnsetType = UNSET
    pool_id: str
    to_tenant_id: str | UnsetType = UNSET
    time: int
    sequence: int
    data: Mapping[str, Any]


class WhoamiView(View, kw_only=True):
    """The caller, and the actions it may take as the tenant asked about."""

    identity_id: str
    kind: str
    tenant_id: str
    rights: list[str]
    credential_expires_at: int | UnsetType = UNSET


class SystemInfoView(View, kw_only=True):
    """`digestKey` (hex) is the acting tenant's: random, and never changed."""

    instance_id: str
    version: str
    derivation: str
    capabilities: list[str]
    time: int
    digest_key: str | UnsetType = UNSET
