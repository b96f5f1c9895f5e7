"""The report of drift: what differs, since when, by whom, and through which change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from better_compute.domain.policy.secrets import mask, mask_text
from fleetctl.desired import Desired
from fleetctl.drift import Drifted
from fleetctl.report import forms, parts
from fleetctl.report.parts import Header


def of_drift(drifted: Sequence[Drifted], header: Header, desired: Desired) -> forms.DriftReport:
    kinds = Counter(one.kind for one in drifted)
    return {
        **parts.headed(header),
        "kind": "drift",
        "commit": header.commit,
        "base": None,
        "selection": None,
        "snapshot": False,
        "drift": [_drifted(one) for one in drifted],
        "summary": {
            "changed": kinds["changed"],
            "pending": kinds["pending"],
            "removed": kinds["removed"],
            "expected": 0,
            "entries": len(desired.entries),
            "offers": parts.offers(desired),
        },
    }


def _drifted(one: Drifted) -> forms.Drifted:
    return {
        "kind": one.kind,
        "poolId": one.pool_id,
        "key": one.key,
        "toTenantId": one.to_tenant_id,
        "what": mask_text(one.what),
        "changes": [parts.change(change) for change in one.changes],
        "source": parts.source(one.source) if one.source else None,
        "since": one.since,
        "actorId": one.actor_id,
        "eventType": one.event_type,
        "via": mask(dict(one.via)) if one.via else None,
        "expected": None,
    }
