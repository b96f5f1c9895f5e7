"""The report of drift: what differs, since when, by whom, and through which change."""

from __future__ import annotations

from collections import Counter

from better_compute.domain.policy.secrets import mask, mask_text
from fleetctl.comparison.coverage import Coverage
from fleetctl.drift import Drift, Drifted
from fleetctl.report import forms, parts, problems
from fleetctl.report.parts import Header

_MOST_UNNAMED = 20
"""So many pools that no entry names are told of; there may be a whole control plane of them."""


def of_drift(drift: Drift, header: Header) -> forms.DriftReport:
    comparison = drift.comparison
    kinds = Counter(one.kind for one in drift.found if one.expected is None)
    return {
        **parts.headed(header),
        "kind": "drift",
        "commit": header.commit,
        "base": parts.base(comparison),
        "selection": parts.selection(comparison, drift.outside),
        "snapshot": header.snapshot,
        "drift": [_drifted(one) for one in drift.found],
        "coverage": _coverage(comparison.coverage),
        "summary": {
            "changed": kinds["changed"],
            "pending": kinds["pending"],
            "removed": kinds["removed"],
            "expected": sum(one.expected is not None for one in drift.found),
            "entries": comparison.entries,
            "offers": comparison.offers,
            "waiting": parts.waiting(comparison),
        },
    }


def _coverage(found: Coverage) -> forms.Coverage:
    return {
        "livePools": found.live,
        "namedPools": found.named,
        "percent": found.percent,
        "liveAtoms": found.live_atoms,
        "namedAtoms": found.named_atoms,
        "unnamed": [parts.unnamed(pool) for pool in found.unnamed[:_MOST_UNNAMED]],
    }


def _drifted(one: Drifted) -> forms.Drifted:
    return {
        "kind": one.kind,
        "poolId": one.pool_id,
        "key": one.key,
        "toTenantId": one.to_tenant_id,
        "what": mask_text(one.what),
        "changes": [parts.change(change) for change in one.changes],
        "source": problems.source(one.source) if one.source else None,
        "since": one.since,
        "actorId": one.actor_id,
        "eventType": one.event_type,
        "via": mask(dict(one.via)) if one.via else None,
        "expected": None if one.expected is None else mask_text(one.expected),
    }
