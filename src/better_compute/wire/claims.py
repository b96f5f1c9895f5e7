"""What a machine claims when it joins, as bytes that an attestor can speak for."""

from __future__ import annotations

import json

import msgspec

from better_compute.wire.inputs import Inventory, NodesJoin

_CLAIMED = ("poolId", "ownerTenantId", "control", "inventory")


def claim_of(body: NodesJoin) -> bytes:
    """All that the request states of the machine, the pool and the tenant that owns the machine: JSON in ASCII without
    blanks, keys sorted. What has its default is left out, so that who leaves it out claims the same."""
    stated = msgspec.to_builtins(body)
    stated["inventory"] = _stated(body.inventory)
    if body.control == "platform":
        del stated["control"]
    claim = {name: stated[name] for name in _CLAIMED if name in stated}
    return json.dumps(claim, sort_keys=True, separators=(",", ":")).encode()


def _stated(inventory: Inventory) -> dict[str, object]:
    plain, given = msgspec.to_builtins(Inventory()), msgspec.to_builtins(inventory)
    return {name: value for name, value in given.items() if value != plain[name]}
