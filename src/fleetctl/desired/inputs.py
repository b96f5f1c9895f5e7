"""Desired state as JSON: what a saved plan binds itself to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from better_compute.domain.atoms import DEFAULT_AGENT
from better_compute.domain.commands import CreatePool
from better_compute.domain.policy import canonical
from better_compute.domain.state import Pool, Terms
from better_compute.domain.values import Json
from fleetctl.desired.guards import Guards
from fleetctl.desired.model import Check, Desired, PoolEntry


def canonical_inputs(desired: Desired) -> Json:
    """All that the files wish, in one form: maps and lists that are equal where two fleets wish the same, however their
    files are split, ordered and formatted. Prices and expected differences change nothing, and are not in it. Where a
    caller is not known the ids are not real, and this is no use."""
    return {
        "fleet": desired.fleet,
        "tenantId": desired.tenant_id,
        "caller": desired.caller,
        "previousCallers": [*desired.previous_callers],
        "keyPrefix": desired.key_prefix,
        "allowEmpty": desired.allow_empty,
        "guards": _guards(desired.guards),
        "checks": [_check(check) for check in sorted(desired.checks, key=lambda check: check.name)],
        "entries": [_entry(entry) for entry in desired.entries.values()],
    }


def _guards(guards: Guards) -> Json:
    """Every guard, the defaults too: sets in order, numbers by value."""
    freeze = sorted([window.start, window.end, window.reason] for window in guards.freeze)
    return {
        **{name: _number(value) for name, value in asdict(guards).items()},
        "protect": sorted(guards.protect),
        "freeze": freeze,
    }


def _number(value: Json) -> Json:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check(check: Check) -> Json:
    return {
        "name": check.name,
        "severity": check.severity,
        "each": check.each,
        "expr": check.expr,
        "message": check.message,
    }


def _entry(entry: PoolEntry) -> Json:
    quota = entry.pool.owner_quota if entry.pool else None
    return {
        "id": entry.pool_id,
        "key": entry.key,
        "previously": entry.previously,
        "replaces": entry.replaces,
        "archived": entry.archived,
        "released": entry.released,
        "protect": entry.protect,
        "spec": entry.pool and {**spec_json(entry.pool), "policy": canonical(dict(entry.pool.policy))},
        "ownerQuota": None if quota is None else without_zeros(quota),
        "offersAre": entry.offers_are,
        "offers": {
            tenant_id: {**terms_json(terms), "quota": without_zeros(terms.quota)}
            for tenant_id, terms in entry.offers.items()
        },
    }


def without_zeros(quota: Mapping[str, int]) -> dict[str, int]:
    """A row of 0 and no row are equal (rule quota.missing)."""
    return {resource: limit for resource, limit in quota.items() if limit}


def terms_json(terms: Terms) -> dict[str, Json]:
    """An offer's terms as files spell them."""
    return {
        "quota": dict(terms.quota),
        "priority": terms.priority,
        "includeDescendants": terms.include_descendants,
    }


def spec_json(pool: CreatePool | Pool) -> dict[str, Json]:
    """A pool as files spell it, its quota and offers apart; what it has not is null."""
    return {
        "siteId": pool.site_id,
        "class": pool.class_,
        "gpuModel": pool.gpu_model,
        "sharing": pool.sharing,
        "agent": pool.agent or DEFAULT_AGENT,
        "providerAccountId": pool.provider_account_id,
        "policy": dict(pool.policy),
    }
