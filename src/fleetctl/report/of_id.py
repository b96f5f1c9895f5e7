"""The report of a derived id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from better_compute.domain.ids import DERIVATION
from fleetctl.spelling import FORMAT_VERSION

if TYPE_CHECKING:
    from fleetctl.report import forms


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
