"""The report of who one is, and which rights are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from better_compute.domain.policy.secrets import mask_text
from fleetctl.desired import Desired, Embedded
from fleetctl.report import forms, parts
from fleetctl.spelling import FORMAT_VERSION

if TYPE_CHECKING:
    from better_compute.client import SystemInfoView, WhoamiView

READS: Final = ("compute:pools:read", "compute:quotas:read", "compute:sites:read", "compute:events:read")
"""The rights that plan and drift need."""

WRITES: Final = ("compute:pools:create", "compute:pools:manage", "compute:pools:share", "compute:quotas:manage")
"""Those that apply needs besides."""


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
