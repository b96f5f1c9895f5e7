"""Machines: what one brings, and whether it may join a pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from better_compute.domain.atoms import CLASSES
from better_compute.domain.families import family_of
from better_compute.domain.inventory import Inventory
from better_compute.domain.problems import INVALID_STATE, Problem, Refused
from better_compute.domain.state import Pool, PoolState, Rollup

Control = Literal["platform", "tenant"]
"""Who runs a machine. One that a tenant controls has no resources to book, and the placer passes it by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What joins: an inventory and, for a machine that a tenant owns, that tenant. `id` of None: a new one."""

    inventory: Inventory
    owner_tenant_id: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine of a pool. A quarantined one adds no capacity until its inventory is understood."""

    id: str
    pool_id: str
    role: str
    gpu_model: str | None
    inventory: Inventory
    owner_tenant_id: str | None
    joined_at: int
    quarantined: str | None = None
    control: Control = "platform"

    @property
    def is_host(self) -> bool:
        """Only host nodes add schedulable capacity."""
        return self.role == "host" and self.quarantined is None

    @property
    def is_schedulable(self) -> bool:
        """Whether its devices and resources can be booked."""
        return self.is_host and self.control == "platform"


def join(
    state: PoolState, pool: Pool, node_id: str, inventory: Inventory, owner_tenant_id: str | None, now: int
) -> Node | Refused:
    """The node that a machine becomes in the pool, quarantined when a GPU's name is not understood (never guessed)."""
    if problems := _check_join(state, pool, owner_tenant_id):
        return Refused(tuple(problems))
    node = Node(
        id=node_id,
        pool_id=pool.id,
        role=CLASSES[pool.class_],
        gpu_model=None,
        inventory=inventory,
        owner_tenant_id=owner_tenant_id,
        joined_at=now,
    )
    families = {name: family_of(name) for name in dict.fromkeys(inventory.gpus)}
    if unknown := [name for name, family in families.items() if family is None]:
        return replace(node, quarantined=unknown[0])
    models = set(families.values())
    if strangers := sorted(str(m) for m in models - {pool.gpu_model}):
        message = f"the pool holds {pool.gpu_model}, and this machine has {', '.join(strangers)}"
        return Refused((Problem(INVALID_STATE, "node.model", message, "inventory.gpus"),))
    return replace(node, gpu_model=pool.gpu_model if models else None)


def add_node(rollup: Rollup, node: Node, count: int = 1) -> Rollup:
    """The rollup with one more node, or with `count` that are equal."""
    hosts = count if node.is_host else 0
    models = dict(rollup.models)
    if hosts and node.gpu_model:
        models[node.gpu_model] = models.get(node.gpu_model, 0) + hosts
    return replace(
        rollup,
        nodes=rollup.nodes + count,
        host_nodes=rollup.host_nodes + hosts,
        tenant_owned_nodes=rollup.tenant_owned_nodes + (0 if node.owner_tenant_id is None else count),
        models=models,
        gpus=rollup.gpus + len(node.inventory.gpus) * hosts,
    )


def schedulable_atoms(pool: Pool, rollup: Rollup) -> int:
    """The atoms that the pool's host GPUs make: one each, or as many as the policy splits a GPU into."""
    return rollup.gpus * atoms_per_gpu(pool.sharing, pool.policy) if rollup.atoms is None else rollup.atoms


def atoms_per_gpu(sharing: str, policy: Mapping[str, Any]) -> int:
    """How many atoms a GPU makes; 0 where the policy does not say, or not as its schema wants it."""
    if sharing == "exclusive":
        return 1
    gpu = policy.get("gpu")
    settings = gpu if isinstance(gpu, Mapping) else {}
    if sharing != "mig":
        slots = settings.get("slots")
        return slots if type(slots) is int else 0
    mig = settings.get("mig")
    devices = mig.get("devices") if isinstance(mig, Mapping) else None
    return sum(n for n in devices.values() if type(n) is int) if isinstance(devices, Mapping) else 0


def _check_join(state: PoolState, pool: Pool, owner_tenant_id: str | None) -> list[Problem]:
    problems = []
    if pool.archived:
        problems.append(Problem(INVALID_STATE, "node.join", "an archived pool takes no machines"))
    if CLASSES[pool.class_] == "none":
        problems.append(Problem(INVALID_STATE, "pool.class", f"pools of class {pool.class_} take no machines"))
    if owner_tenant_id is not None and state.others:
        message = "the pool is offered to other tenants, so a machine that a tenant owns cannot join"
        problems.append(Problem(INVALID_STATE, "offer.tenantOwned", message, "ownerTenantId"))
    return problems
