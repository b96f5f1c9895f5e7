"""The report of a comparison of two fleets."""

from __future__ import annotations

from collections import Counter

from better_compute.domain.policy.urls import mask_message
from fleetctl.fleet_diff import Differences, PoolDifference, Side
from fleetctl.report import forms, parts, problems
from fleetctl.spelling import FORMAT_VERSION


def of_fleet_diff(found: Differences, before: Side, after: Side) -> forms.FleetDiffReport:
    kinds = Counter(pool.kind for pool in found.pools)
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": "diff",
        "before": _side(before),
        "after": _side(after),
        "fields": [parts.change(change) for change in found.fields],
        "limits": [{"change": parts.change(limit.change), "direction": limit.direction} for limit in found.limits],
        "pools": [_pool(pool) for pool in found.pools],
        "summary": {
            "added": kinds["added"],
            "removed": kinds["removed"],
            "changed": kinds["changed"],
            "unchanged": found.unchanged,
            "offers": sum(len(pool.offers) for pool in found.pools),
            "fields": len(found.fields),
            "limits": len(found.limits),
            "looser": found.looser,
        },
    }


def _side(side: Side) -> forms.ComparedSide:
    desired = side.desired
    return {
        "given": mask_message(side.given),
        "commit": side.commit,
        "fleet": desired.fleet,
        "tenantId": desired.tenant_id,
        "caller": desired.caller,
        "entries": len(desired.entries),
        "offers": parts.offers(desired),
    }


def _pool(pool: PoolDifference) -> forms.ChangedPool:
    entry = pool.entry
    return {
        "kind": pool.kind,
        "poolId": entry.pool_id,
        "key": entry.key,
        "changes": [parts.change(change) for change in pool.changes],
        "offers": [
            {
                "toTenantId": offer.tenant_id,
                "kind": offer.kind,
                "changes": [parts.change(change) for change in offer.changes],
            }
            for offer in pool.offers
        ],
        "looser": pool.looser,
        "source": problems.source(entry.place.source()),
    }
