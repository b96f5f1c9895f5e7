"""What the API shows. An absent field is one that there is none of, or that is not the caller's to see."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from better_compute.domain.nodes import schedulable_atoms
from better_compute.domain.problems import Problem
from better_compute.domain.state import Offer, Pool, PoolState, QuotaRow, Rollup

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
    """What the GPUs of a pool's hosts come to in its own atoms."""

    total: int


class RollupView(View):
    """A pool's machines, summed up. `models` counts host nodes by GPU model, `gpus` the GPUs of host nodes."""

    nodes: int
    host_nodes: int
    tenant_owned_nodes: int
    models: Mapping[str, int]
    gpus: int
    atoms: AtomsView


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
    """A machine of a pool. `quarantined` is the GPU name that was not understood; such a machine counts for nothing."""

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


def quotas(tenant_id: str, pool_id: str, rows: Mapping[str, QuotaRow]) -> list[QuotaView]:
    """A tenant's rows in a pool, by resource."""
    return [QuotaView(tenant_id, pool_id, r, row.max, row.used, row.available) for r, row in sorted(rows.items())]


def offer(state: PoolState, pool: Pool, offer: Offer) -> OfferView:
    tenant_id = offer.tenant_id
    rows = quotas(tenant_id, pool.id, state.rows(tenant_id))
    return OfferView(pool.id, tenant_id, offer.priority, offer.include_descendants, offer.version, rows)


def rollup(pool: Pool, machines: Rollup) -> RollupView:
    atoms = AtomsView(schedulable_atoms(pool, machines))
    m = machines
    return RollupView(m.nodes, m.host_nodes, m.tenant_owned_nodes, m.models, m.gpus, atoms)


def pool(state: PoolState, pool: Pool, tenant_id: str, include: Collection[str] = ()) -> PoolView:
    """The pool as `tenant_id` sees it; what `include` names is shown to the owner alone."""
    owned = pool.owner_id == tenant_id
    view = PoolView(
        id=pool.id,
        owner_tenant_id=pool.owner_id,
        site_id=pool.site_id,
        class_=pool.class_,
        gpu_model=pool.gpu_model,
        sharing=pool.sharing,
        agent=pool.agent,
        provider_account_id=_known(pool.provider_account_id),
        policy=pool.policy,
        version=pool.version,
        owned=owned,
        archived=pool.archived,
        quotas=quotas(tenant_id, pool.id, state.rows(tenant_id)),
    )
    if owned:
        view.idempotency_key = _known(pool.idempotency_key)
        view.created_by = pool.created_by
        view.created_at = pool.created_at
        view.archived_at = _known(pool.archived_at)
        view.owner_quota_version = pool.owner_quota_version
        view.offers_version = pool.offers_version
        if "offers" in include:
            view.offers = [offer(state, pool, o) for _, o in sorted(state.offers.items())]
        if "rollup" in include:
            view.rollup = rollup(pool, state.rollup)
    return view


def problem(problem: Problem) -> ProblemView:
    p = problem
    return ProblemView(p.code, p.rule, p.message, p.path, p.hint, p.severity)


def _known(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value
