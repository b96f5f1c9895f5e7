"""Desired state as JSON: what a saved plan binds itself to."""

from __future__ import annotations

from better_compute.domain.commands import CreatePool
from better_compute.domain.policy import canonical
from better_compute.domain.state import Terms
from better_compute.domain.values import Json
from fleetctl.desired.model import Desired, PoolEntry


def canonical_inputs(desired: Desired) -> Json:
    """All that the files wish, in one form: maps and lists that are equal where two fleets wish the same, however their
    files are split, ordered and formatted. Where a caller is not known the ids are not real, and this is no use."""
    return {
        "fleet": desired.fleet,
        "tenantId": desired.tenant_id,
        "caller": desired.caller,
        "keyPrefix": desired.key_prefix,
        "entries": [_entry(entry) for entry in desired.entries.values()],
    }


def _entry(entry: PoolEntry) -> Json:
    quota = entry.pool.owner_quota if entry.pool else None
    return {
        "id": entry.pool_id,
        "key": entry.key,
        "archived": entry.archived,
        "spec": entry.pool and _spec(entry.pool),
        "ownerQuota": None if quota is None else dict(quota),
        "offersAre": entry.offers_are,
        "offers": {tenant_id: terms_json(terms) for tenant_id, terms in entry.offers.items()},
    }


def terms_json(terms: Terms) -> dict[str, Json]:
    """An offer's terms as files spell them."""
    return {
        "quota": dict(terms.quota),
        "priority": terms.priority,
        "includeDescendants": terms.include_descendants,
    }


def _spec(pool: CreatePool) -> Json:
    return {
        "siteId": pool.site_id,
        "class": pool.class_,
        "gpuModel": pool.gpu_model,
        "sharing": pool.sharing,
        "agent": pool.agent,
        "providerAccountId": pool.provider_account_id,
        "policy": canonical(dict(pool.policy)),
    }
