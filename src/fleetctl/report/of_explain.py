"""The report of a pool from all sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from better_compute.domain.nodes import schedulable_atoms
from better_compute.domain.policy.secrets import mask, mask_text
from better_compute.domain.state import Pool, PoolState, Rollup, Work
from better_compute.domain.values import Json
from fleetctl.desired import PoolEntry
from fleetctl.desired.inputs import spec_json
from fleetctl.explain import Explained
from fleetctl.report import forms, problems
from fleetctl.spelling import FORMAT_VERSION

if TYPE_CHECKING:
    from better_compute.client import EventView

_APART = ("policy", "ownerQuota", "idempotencyKey")


def of_explained(what: str, found: Explained) -> forms.ExplanationReport:
    pool: forms.ExplainedPool = {
        "poolId": found.pool_id,
        "key": found.key,
        "server": None if found.server is None else mask_text(found.server),
        "entry": None if found.entry is None else _entry(found.entry),
        "live": _live(found.state, found.state.pool) if found.state and found.state.pool else None,
        "events": [_event(event) for event in found.events],
    }
    return {"formatVersion": FORMAT_VERSION, "kind": "explanation", "what": what, "topic": None, "pool": pool}


def _entry(entry: PoolEntry) -> forms.ExplainedEntry:
    wish = entry.pool
    quota = wish.owner_quota if wish else None
    return {
        "source": problems.source(entry.place.source()),
        "says": list(_says(entry)),
        "pool": None
        if wish is None
        else {n: v for n, v in spec_json(wish).items() if v is not None and n not in _APART},
        "policy": [_part(entry, name, value) for name, value in wish.policy.items()] if wish else [],
        "ownerQuota": None if quota is None else dict(quota),
        "offersAre": entry.offers_are,
        "offers": [
            {
                "toTenantId": tenant_id,
                "quota": dict(terms.quota),
                "priority": terms.priority,
                "includeDescendants": terms.include_descendants,
                "source": problems.source(entry.offer_places.get(tenant_id, entry.place).source()),
            }
            for tenant_id, terms in sorted(entry.offers.items())
        ],
    }


def _says(entry: PoolEntry) -> Iterator[str]:
    marks = {"archived": entry.archived, "released": entry.released, "protect": entry.protect}
    yield from (f"{name}: true" for name, there in marks.items() if there)
    names = {
        "id": entry.pool_id if entry.adopted else None,
        "previously": entry.previously,
        "replaces": entry.replaces,
    }
    yield from (f"{name}: {value}" for name, value in names.items() if value)


def _part(entry: PoolEntry, name: str, value: Json) -> forms.PolicyPart:
    return {
        "name": mask_text(name),
        "value": mask({name: value})[name],
        "source": problems.source(entry.place.source("policy", name)),
    }


def _live(state: PoolState, pool: Pool) -> forms.ExplainedLive:
    terms = {
        "siteId": pool.site_id,
        "class": pool.class_,
        "gpuModel": pool.gpu_model,
        "sharing": pool.sharing,
        "agent": pool.agent,
    }
    if pool.provider_account_id is not None:
        terms["providerAccountId"] = pool.provider_account_id
    return {
        "pool": terms,
        "policy": mask(dict(pool.policy)),
        "key": pool.idempotency_key,
        "createdBy": pool.created_by,
        "createdAt": pool.created_at,
        "archivedAt": pool.archived_at,
        "version": pool.version,
        "atom": pool.atom,
        "machines": _machines(pool, state.rollup),
        "tenants": [_tenancy(state, tenant_id) for tenant_id in _tenants(state, pool)],
    }


def _machines(pool: Pool, rollup: Rollup) -> forms.Machines:
    return {
        "nodes": rollup.nodes,
        "hostNodes": rollup.host_nodes,
        "tenantOwnedNodes": rollup.tenant_owned_nodes,
        "models": dict(rollup.models),
        "gpus": rollup.gpus,
        "schedulable": schedulable_atoms(pool, rollup) if rollup.host_nodes else None,
    }


def _tenants(state: PoolState, pool: Pool) -> list[str]:
    """The owner first."""
    others = (state.offers.keys() | state.quotas.keys() | state.rollup.work.keys()) - {pool.owner_id}
    return [pool.owner_id, *sorted(others)]


def _tenancy(state: PoolState, tenant_id: str) -> forms.Tenancy:
    offer, work = state.offers.get(tenant_id), state.rollup.work.get(tenant_id, Work())
    rows = sorted(state.rows(tenant_id).items())
    return {
        "tenantId": tenant_id,
        "offered": offer is not None,
        "priority": offer.priority if offer else None,
        "includeDescendants": offer.include_descendants if offer else None,
        "rows": [{"resource": resource, "max": row.max, "used": row.used} for resource, row in rows],
        "pending": work.pending,
        "placed": work.placed,
        "active": work.active,
    }


def _event(event: EventView) -> forms.ExplainedEvent:
    via: Mapping[str, Json] = event.via or {}
    return {
        "type": event.type,
        "toTenantId": event.to_tenant_id or None,
        "time": event.time,
        "actorId": event.actor_id,
        "sequence": event.sequence,
        "via": mask(dict(via)) if via else None,
    }
