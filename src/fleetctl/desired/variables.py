"""What the expressions of checks see: the variables, and what each of their fields means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from fleetctl.desired.model import Each

Kind = Each | Literal["capacity"]

VARIABLES: Final[Mapping[Kind, Mapping[str, str]]] = {
    "pool": {
        "id": "its id",
        "idempotencyKey": "its key (not where an adopted pool has none)",
        "siteId": "its site",
        "class": "its class",
        "gpuModel": "its GPU model",
        "sharing": "its sharing mode",
        "agent": "its agent",
        "providerAccountId": "its provider account (class provider alone)",
        "policy": "its policy, merged over that of policyRef",
        "ownerQuota": "resource to limit of the owner",
        "protect": "whether its entry protects it",
        "managed": "whether an entry stands for it (not for one that was removed or released, or is foreign)",
        "foreign": "whether others made it, and it is not of this fleet: seen by expressions that ask for this alone",
        "offers": "its offers, each like offer",
    },
    "offer": {
        "pool": "the pool's key, or its id where it has no key",
        "poolId": "the pool's id",
        "toTenantId": "the tenant",
        "quota": "resource to limit",
        "priority": "its priority",
        "includeDescendants": "whether it includes descendants",
        "siteId": "the pool's site",
        "gpuModel": "the pool's GPU model",
        "sharing": "the pool's sharing mode",
        "managed": "whether the files state the offers of its pool",
        "foreign": "whether the pool is: seen by expressions that ask for this alone",
    },
    "operation": {
        "n": "its number in the plan",
        "action": "create, update, offer, setQuota, unoffer or archive",
        "key": "the pool's key (not where it has none)",
        "poolId": "the pool's id",
        "toTenantId": "the tenant (offer, setQuota and unoffer alone)",
        "siteId": "the pool's site",
        "gpuModel": "the pool's GPU model before the plan",
        "atom": "the resource its GPUs are counted in",
        "severity": "safe, lowers, withdraws or irreversible",
        "before": "what is there (not of a create or a new offer)",
        "after": "what will be there (not of an unoffer)",
    },
    "capacity": {
        "gpuModel": "a GPU model",
        "atom": "the resource its GPUs are counted in",
        "siteId": "at this site",
        "schedulable": "atoms of the machines there (not where none has joined)",
        "schedulableAfter": "the same after the plan (not where none has joined)",
        "before": "what tenants may book of them before the plan",
        "after": "and after it",
        "inUse": "what they have booked",
        "oversellBefore": "before / schedulable (not where that is missing)",
        "oversellAfter": "after / schedulableAfter (not where that is missing)",
    },
    "tenant": {
        "id": "its id",
        "atoms": "what it may book, by gpuModel and atom: before and after the plan",
        "offers": "what it is offered after the plan, each like offer",
    },
}
"""By name, one at a time. Pools, offers and capacity are all that the fleet's tenant has once the plan is done: what it
leaves alone stays as it is, whatever the files wish. But pools of others, which nobody here can mend, their offers, and
tenants that hold no other are seen only by an expression that asks for `.foreign`. What is missing is asked for with
`has(pool.providerAccountId)`."""

LISTS: Final[Mapping[str, Kind]] = {
    "pools": "pool",
    "offers": "offer",
    "operations": "operation",
    "capacity": "capacity",
}
"""What an expression sees without `each`: lists of which kind."""


def described() -> str:
    """All of it in words, for the schema of fleet files."""
    lists = ", ".join(f"{name} (each like {kind})" for name, kind in LISTS.items())
    kinds = (
        f"{kind}: " + "; ".join(f"{name}, {meaning}" for name, meaning in fields.items())
        for kind, fields in VARIABLES.items()
    )
    foreign = "Pools that are foreign, and their offers, are seen only where the expression asks for .foreign"
    sees = f"Without each it sees the lists {lists}; with it, one of what each names. {foreign}. "
    return sees + ". ".join(kinds) + "."
