"""The small reports: what files say wrong, a derived id, who one is, and why there is no other report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from better_compute.domain.ids import DERIVATION
from better_compute.domain.policy.secrets import mask_text
from better_compute.domain.problems import Problem
from fleetctl.desired import Desired, Embedded
from fleetctl.plan.digest import FORMAT_VERSION
from fleetctl.report import forms, parts

if TYPE_CHECKING:
    from better_compute.client import SystemInfoView, WhoamiView

READS: Final = ("compute:pools:read", "compute:quotas:read", "compute:sites:read", "compute:events:read")
"""The rights that plan and drift need."""

WRITES: Final = ("compute:pools:create", "compute:pools:manage", "compute:pools:share", "compute:quotas:manage")
"""Those that apply needs besides."""


def of_validate(problems: Sequence[Problem], desired: Desired | None) -> forms.ValidationReport:
    """What is wrong with files that wish `desired`; None where they say nothing that can be wished."""
    found = parts.severities(problems)
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": "validation",
        "valid": not found["error"],
        "problems": parts.worst_first(problems),
        "summary": {
            "entries": None if desired is None else len(desired.entries),
            "offers": None if desired is None else parts.offers(desired),
            "errors": found["error"],
            "warnings": found["warning"],
            "unchecked": found["unchecked"],
        },
    }


def of_id(pool_id: str, key: str, tenant_id: str, caller: str) -> forms.IdReport:
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": "id",
        "id": pool_id,
        "derivedFrom": {
            "derivation": DERIVATION,
            "kind": "pool",
            "tenantId": tenant_id,
            "caller": caller,
            "key": key,
        },
    }


def of_whoami(
    info: SystemInfoView, me: WhoamiView, desired: Desired, url: str, *, overridden: bool, now: int
) -> forms.WhoamiReport:
    """What the server at `url` says of itself and of who asks; `now` is this machine's clock in the moment of that."""
    # Rights in a tenant that is not there, or in one whose own pools are not shown, are of no use to plan.
    rights = me.rights if isinstance(info.digest_key, str) else tuple(set(me.rights) - {READS[0]})
    pinned = "embedded" if isinstance(desired.server, Embedded) else desired.server
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": "whoami",
        "server": parts.server(url, info.instance_id, info.derivation, overridden),
        "identity": {"id": me.identity_id, "tenantId": me.tenant_id},
        "pins": {
            "server": None if pinned is None else mask_text(pinned),
            "tenantId": desired.tenant_id,
            "caller": desired.caller,
        },
        "missing": {
            "plan": [right for right in READS if right not in rights],
            "apply": [right for right in (*READS, *WRITES) if right not in rights],
        },
        "clockOffsetMs": info.time - now,
    }


def of_problems(problems: Sequence[Problem]) -> forms.ErrorReport:
    return {"formatVersion": FORMAT_VERSION, "kind": "error", "problems": [parts.problem(p) for p in problems]}
