"""Host resources: the scalars that a host provides, from its inventory and the pool's policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from better_compute.domain.devices import Device, devices_of, follow
from better_compute.domain.inventory import MIB_PER_GIB, Inventory
from better_compute.domain.nodes import Node, judged
from better_compute.domain.policy.values import effective_ratio
from better_compute.domain.state import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResource:
    """What a host provides of a resource at a ratio, and how much of it is booked. `provided` counts the ratio in;
    `ratio` is a decimal number as the policy spells it, clamped."""

    resource: str
    provided: int
    ratio: str
    allocated: int = 0

    @property
    def total(self) -> int:
        """How much there is: it never shrinks below what is allocated."""
        return max(self.provided, self.allocated)


NodeResources = Mapping[str, NodeResource]
"""Those of a host, by their resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine with what can be booked on it: nothing on one that cannot be booked, but what is booked still."""

    node: Node
    devices: tuple[Device, ...] = ()
    resources: NodeResources = field(default_factory=dict)

    @property
    def is_booked(self) -> bool:
        """Whether a reservation holds any of it."""
        devices, resources = self.devices, self.resources.values()
        return any(d.reservation_id is not None for d in devices) or any(r.allocated for r in resources)

    @property
    def free(self) -> int:
        """How many of its devices a new booking may take."""
        return sum(device.free for device in self.devices) if self.node.is_schedulable else 0


Upkeep = Callable[[Pool, Host], Host]
"""A host as it should be: the host itself where nothing is to change."""


def fitted(pool: Pool, host: Host) -> Host:
    """The host with the devices and resources that follow from its inventory and the pool's policy."""
    return vps_hosts(pool, capacity_hosts(pool, host))


def vps_hosts(pool: Pool, host: Host) -> Host:
    """`vps.hosts`: vcpu, memoryGiB (less the huge page pools) and diskGiB of a vps-host pool, each times its ratio."""
    if pool.class_ != "vps-host":
        return host
    i = host.node.inventory
    provides = {"vcpu": Fraction(i.vcpu), "memoryGiB": _memory(i), "diskGiB": Fraction(i.disk_gib)}
    return _with_resources(pool, host, provides)


def capacity_hosts(pool: Pool, host: Host) -> Host:
    """`capacity.hosts`: the devices and the huge pages of every pool; outside of vps-host pools vcpu and memoryGiB
    (less the huge page pools), each less what hostReserve keeps back, times its ratio. What a machine is follows from
    its inventory too, by the rules of today."""
    if (node := judged(pool, host.node, booked=host.is_booked)) is not host.node:
        host = replace(host, node=node)
    held = host.devices
    if (devices := tuple(follow(held, devices_of(pool, host.node)))) != held:
        host = replace(host, devices=devices)
    i = host.node.inventory
    if pool.class_ != "vps-host":
        kept = pool.policy.get("hostReserve")
        provides = {
            "vcpu": i.vcpu - _kept_back(kept, "vcpu"),
            "memoryGiB": _memory(i) - _kept_back(kept, "memoryGiB"),
        }
        host = _with_resources(pool, host, provides)
    pages = {"hugepages2Mi": Fraction(i.hugepages_2mi), "hugepages1Gi": Fraction(i.hugepages_1gi)}
    return _with_resources(pool, host, pages, overcommit=False)


def _with_resources(pool: Pool, host: Host, provides: Mapping[str, Fraction], *, overcommit: bool = True) -> Host:
    """The host with these resources as they should be: none on one that cannot be booked, and what is booked stays."""
    resources = dict(host.resources)
    for resource, amount in provides.items():
        before = resources.pop(resource, None)
        allocated = 0 if before is None else before.allocated
        ratio = _ratio(pool.policy, resource) if overcommit else Decimal(1)
        provided = max(int(amount * Fraction(ratio)), 0) if host.node.is_schedulable else 0
        if allocated or host.node.is_schedulable:
            resources[resource] = NodeResource(
                resource=resource, provided=provided, ratio=f"{ratio:f}", allocated=allocated
            )
    return host if resources == host.resources else replace(host, resources=resources)


def _memory(inventory: Inventory) -> Fraction:
    """GiB beside the huge page pools."""
    return Fraction(inventory.room_mib, MIB_PER_GIB)


def _kept_back(reserve: Any, resource: str) -> Fraction:
    """What the policy's hostReserve keeps back; nothing where it says none, or not as its schema wants it."""
    amount = reserve.get(resource) if isinstance(reserve, Mapping) else None
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < float("inf"):
        return Fraction(0)
    return Fraction(str(amount))


def _ratio(policy: Mapping[str, Any], resource: str) -> Decimal:
    """The overcommit of a resource, exactly as it is spelled: one number for all, or one for each; 1 where the policy
    says none. Clamped."""
    stated = policy.get("overcommit")
    ratio = effective_ratio(stated.get(resource) if isinstance(stated, Mapping) else stated)
    return Decimal(1) if ratio is None else Decimal(str(ratio)).normalize()
