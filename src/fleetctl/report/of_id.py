"""The report of the id that a key stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from better_compute.domain.ids import DERIVATION, derive
from fleetctl.spelling import FORMAT_VERSION

if TYPE_CHECKING:
    from fleetctl.report import forms


def of_id(tenant_id: str, origins: Sequence[tuple[str, str]]) -> forms.IdReport:
    """Of keys and their callers, one at least, in the order in which pools are looked for."""
    first, *others = (_derived(tenant_id, key, caller) for key, caller in origins)
    return {"formatVersion": FORMAT_VERSION, "kind": "id", **first, "others": others}


def of_adopted(pool_id: str) -> forms.IdReport:
    """Of an entry that names its pool by its id."""
    return {"formatVersion": FORMAT_VERSION, "kind": "id", "id": pool_id, "derivedFrom": None, "others": []}


def _derived(tenant_id: str, key: str, caller: str) -> forms.DerivedId:
    return {
        "id": derive("pool", tenant_id, caller, key),
        "derivedFrom": {
            "derivation": DERIVATION,
            "kind": "pool",
            "tenantId": tenant_id,
            "caller": caller,
            "key": key,
        },
    }
