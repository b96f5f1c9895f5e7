"""The domain's types as the API shows them: `views`, made from what is there. `decode` reads them back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from msgspec import UNSET, UnsetType

from better_compute.domain.hosts import Host
from better_compute.domain.nodes import Node
from better_compute.domain.nodespec import config_units
from better_compute.domain.problems import Problem
from better_compute.domain.state import Offer, Pool, PoolState, QuotaRow, Rollup
from better_compute.wire.views import (
    AtomsView,
    ConfigUnitView,
    InventoryView,
    NodeResourceView,
    NodeView,
    OfferView,
    PoolView,
    ProblemView,
    ProvidedView,
    QuotaView,
    RollupView,
    WorkView,
)

T = TypeVar("T")


def quotas(tenant_id: str, pool_id: str, rows: Mapping[str, QuotaRow]) -> list[QuotaView]:
    """A tenant's rows in a pool, by resource."""
    return [QuotaView(tenant_id, pool_id, r, row.max, row.used, row.available) for r, row in sorted(rows.items())]


def offer(pool_id: str, offer: Offer, rows: Mapping[str, QuotaRow]) -> OfferView:
    """An offer with the rows of its tenant, by resource."""
    shown = quotas(offer.tenant_id, pool_id, rows)
    return OfferView(pool_id, offer.tenant_id, offer.priority, offer.include_descendants, offer.version, shown)


def rollup(machines: Rollup) -> RollupView:
    m = machines
    atoms = AtomsView(m.atoms, sum(work.booked_atoms for work in m.work.values()))
    work = {
        tenant_id: WorkView(w.pending, w.placed, w.active, w.pending_atoms, w.booked_atoms)
        for tenant_id, w in sorted(m.work.items())
    }
    resources = {name: ProvidedView(p.total, p.booked) for name, p in sorted(m.resources.items())}
    counts = (m.nodes, m.host_nodes, m.tenant_owned_nodes, m.models, m.gpus)
    return RollupView(*counts, atoms, work, m.instances, resources)


def node(node: Node) -> NodeView:
    """A machine as whoever may see it does."""
    i = node.inventory
    return NodeView(
        id=node.id,
        pool_id=node.pool_id,
        role=node.role,
        gpu_model=_known(node.gpu_model),
        inventory=InventoryView(
            list(i.gpus), i.vcpu, i.memory_gib, i.disk_gib, i.hugepages_2mi, i.hugepages_1gi, i.attributes
        ),
        owner_tenant_id=_known(node.owner_tenant_id),
        control=node.control,
        joined_at=node.joined_at,
        quarantined=_known(node.quarantined),
    )


def host(pool: Pool, host: Host) -> NodeView:
    """A machine as the owner of its pool sees it."""
    view = node(host.node)
    there = sum(not device.leaving for device in host.devices)
    view.devices = AtomsView(there, sum(device.reservation_id is not None for device in host.devices))
    resources = sorted(host.resources.items())
    view.resources = {name: NodeResourceView(of.total, of.ratio, of.allocated) for name, of in resources}
    view.config_units = [ConfigUnitView(unit.name, unit.value) for unit in config_units(pool)]
    return view


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
            view.offers = [offer(pool.id, o, state.rows(tenant)) for tenant, o in sorted(state.offers.items())]
            view.kept = _kept(state, pool) or UNSET
        if "rollup" in include:
            view.rollup = rollup(state.rollup)
    return view


def _kept(state: PoolState, pool: Pool) -> list[QuotaView]:
    """What is in use by tenants without an offer: of a withdrawal such rows alone are left that matter."""
    found = sorted(state.quotas.keys() - state.offers.keys() - {pool.owner_id})
    return [row for tenant_id in found for row in quotas(tenant_id, pool.id, state.rows(tenant_id)) if row.used]


def problem(problem: Problem) -> ProblemView:
    p = problem
    return ProblemView(p.code, p.rule, p.message, p.path, p.hint, p.severity)


def _known(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value
