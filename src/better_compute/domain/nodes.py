"""Machines: what one brings, whether it may join a pool, and what may become of it there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from better_compute.domain.atoms import CLASSES
from better_compute.domain.families import cut, family_of
from better_compute.domain.inventory import Inventory, check_inventory
from better_compute.domain.policy.mig import is_made
from better_compute.domain.policy.rules import JOIN_TOKEN
from better_compute.domain.problems import ACCESS_DENIED, INVALID_STATE, Problem, Refused
from better_compute.domain.state import Pool, PoolState, Rollup

Control = Literal["platform", "tenant"]
"""Who runs a machine. One that a tenant controls has no resources to book, and the placer passes it by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What joins: an inventory, who runs it and, for a machine that a tenant owns, that tenant. `id` of None: a new
    one."""

    inventory: Inventory
    owner_tenant_id: str | None = None
    control: Control = "platform"
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


def join(state: PoolState, pool: Pool, machine: Machine, node_id: str, now: int) -> Node | Refused:
    """The node that a machine becomes in the pool, quarantined when a GPU's name is not understood (never guessed)."""
    if problems := [*_check_join(state, pool, machine.owner_tenant_id), *check_inventory(machine.inventory)]:
        return Refused(tuple(problems))
    node = Node(
        id=node_id,
        pool_id=pool.id,
        role=CLASSES[pool.class_],
        gpu_model=None,
        inventory=machine.inventory,
        owner_tenant_id=machine.owner_tenant_id,
        control=machine.control,
        joined_at=now,
    )
    return _understood(pool, node)


def report(pool: Pool, node: Node, inventory: Inventory, *, booked: bool) -> Node | Refused:
    """The machine with the inventory that it has now. While it is `booked` it keeps the model that it is booked as,
    also when it is quarantined or shows no GPU."""
    if problems := check_inventory(inventory):
        return Refused(tuple(problems))
    now_is = replace(node, inventory=inventory)
    after = _understood(pool, now_is)
    return after if isinstance(after, Refused) else _as_booked(after, now_is, booked=booked)


def judged(pool: Pool, node: Node, *, booked: bool) -> Node:
    """The machine as if it reported today what it has: it is understood by today's rules, whatever the rules were when
    it joined. One that would be refused by now is quarantined; a model that it had as what was booked alone goes with
    the booking. The node itself where nothing is to change."""
    if node.role != "host":
        return node
    after = _understood(pool, node)
    if isinstance(after, Refused):
        stranger = next(name for name in node.inventory.gpus if family_of(name) != pool.gpu_model)
        after = replace(node, gpu_model=None, quarantined=stranger)
    after = _as_booked(after, node, booked=booked)
    return node if after == node else after


def _as_booked(after: Node, before: Node, *, booked: bool) -> Node:
    """A machine that shows no model keeps the one that it is booked as."""
    return replace(after, gpu_model=before.gpu_model) if booked and after.gpu_model is None else after


def set_control(
    state: PoolState, node: Node, control: Control, owner_tenant_id: str | None, *, booked: bool
) -> Node | Refused:
    """The machine with another owner, or run by another. Rule offer.tenantOwned; a booked one stays the platform's to
    run (rule node.busy)."""
    problems = []
    if owner_tenant_id not in (None, node.owner_tenant_id) and state.others:
        problems.append(_shared("so a machine in it cannot become a tenant's"))
    if control == "tenant" != node.control and booked:
        message = "the machine is booked, so no tenant can take control of it"
        hint = "wait until its reservations end, or end them"
        problems.append(Problem(INVALID_STATE, "node.busy", message, "control", hint))
    if problems:
        return Refused(tuple(problems))
    return replace(node, control=control, owner_tenant_id=owner_tenant_id)


def check_remove(*, booked: bool) -> list[Problem]:
    """Rule node.busy: a machine does not leave under what runs on it."""
    if not booked:
        return []
    hint = "wait until its reservations end, or end them"
    return [Problem(INVALID_STATE, "node.busy", "the machine is booked, so it cannot leave", "nodeId", hint)]


def count_node(rollup: Rollup, node: Node, count: int = 1) -> Rollup:
    """The rollup with so many more machines that are equal to the node; with fewer where the number is negative."""
    models = dict(rollup.models)
    if node.role == "host" and node.gpu_model is not None:
        models[node.gpu_model] = models.get(node.gpu_model, 0) + count
    gpus, instances = _holds(node) if node.is_schedulable else (0, 0)
    return replace(
        rollup,
        nodes=rollup.nodes + count,
        host_nodes=rollup.host_nodes + count * node.is_host,
        tenant_owned_nodes=rollup.tenant_owned_nodes + count * (node.owner_tenant_id is not None),
        models={model: hosts for model, hosts in models.items() if hosts},
        gpus=rollup.gpus + count * gpus,
        instances=rollup.instances + count * instances,
    )


def schedulable_atoms(pool: Pool, rollup: Rollup) -> int:
    """The atoms that the pool's hosts make: its MIG instances, and what each whole GPU is split into."""
    return rollup.gpus * atoms_per_gpu(pool.sharing, pool.policy) + rollup.instances


def atoms_per_gpu(sharing: str, policy: Mapping[str, Any]) -> int:
    """How many atoms a GPU makes; 0 where the policy does not say, or not as its schema wants it."""
    if sharing == "exclusive":
        return 1
    if sharing == "mig":
        return sum(count for _, count in mig_devices(policy))
    return slots_of(policy) or 0


def slots_of(policy: Mapping[str, Any]) -> int | None:
    """How many slots the policy splits each GPU into; None where it does not say, or not as its schema wants it."""
    slots = _gpu(policy).get("slots")
    return slots if type(slots) is int else None


def mig_devices(policy: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The MIG profiles that the policy cuts each GPU into, and how many of each."""
    mig = _gpu(policy).get("mig")
    devices = mig.get("devices") if isinstance(mig, Mapping) else None
    counts = devices.items() if isinstance(devices, Mapping) else ()
    return [(profile, count) for profile, count in counts if type(count) is int]


def _gpu(policy: Mapping[str, Any]) -> Mapping[str, Any]:
    gpu = policy.get("gpu")
    return gpu if isinstance(gpu, Mapping) else {}


def _understood(pool: Pool, node: Node) -> Node | Refused:
    """The node by what its GPUs are: of the pool's model; quarantined where one is not understood; refused where one
    is of another model."""
    node = replace(node, gpu_model=None, quarantined=None)
    families = {name: family_of(name) for name in dict.fromkeys(node.inventory.gpus)}
    for name, family in families.items():
        if family is None or not _is_understood(pool, node.inventory, name, family):
            return replace(node, quarantined=name)
    models = set(families.values())
    if strangers := sorted(str(model) for model in models - {pool.gpu_model}):
        message = f"the pool holds {pool.gpu_model}, and this machine has {', '.join(strangers)}"
        return Refused((Problem(INVALID_STATE, "node.model", message, "inventory.gpus"),))
    return replace(node, gpu_model=pool.gpu_model if models else None)


def _is_understood(pool: Pool, inventory: Inventory, name: str, family: str) -> bool:
    """A MIG instance belongs into a pool that is mig, and is one that its card makes."""
    card, instance = cut(name)
    if instance is None:
        return True
    return pool.sharing == "mig" and is_made(family, instance.profile, inventory.vram_of(card))


def _holds(node: Node) -> tuple[int, int]:
    """Its whole GPUs and its MIG instances: where it names instances, the GPUs beside them are those that are cut."""
    names = node.inventory.gpus
    instances = sum(1 for name in names if cut(name)[1] is not None)
    return (0, instances) if instances else (len(names), 0)


def _check_join(state: PoolState, pool: Pool, owner_tenant_id: str | None) -> list[Problem]:
    problems = check_takes(pool)
    if owner_tenant_id is not None and state.others:
        problems.append(_shared("so a machine that a tenant owns cannot join"))
    return problems


def check_takes(pool: Pool) -> list[Problem]:
    """Whether the pool takes machines at all."""
    problems = []
    if pool.archived:
        problems.append(Problem(INVALID_STATE, "node.join", "an archived pool takes no machines"))
    if CLASSES[pool.class_] == "none":
        problems.append(Problem(INVALID_STATE, "pool.class", f"pools of class {pool.class_} take no machines"))
    return problems


def check_attestor(pool: Pool, name: str) -> list[Problem]:
    """Rule node.attestor: who may speak for machines of the pool, by its policy; join tokens alone where it says
    nothing."""
    listed = pool.policy.get("joinAttestors", [JOIN_TOKEN])
    if isinstance(listed, list) and name in listed:
        return []
    path = "joinToken" if name == JOIN_TOKEN else "attested.attestor"
    message = f"this pool lets no machine in by {'a join token' if name == JOIN_TOKEN else name}"
    return [Problem(ACCESS_DENIED, "node.attestor", message, path)]


def _shared(so: str) -> Problem:
    message = f"the pool is offered to other tenants, {so}"
    return Problem(INVALID_STATE, "offer.tenantOwned", message, "ownerTenantId")
