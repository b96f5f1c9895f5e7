"""What the hosts of a pool have: how small they are, and which cards, for a policy that is for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from better_compute.domain.inventory import MIB_PER_GIB, Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBounds:
    """The least that a schedulable host of a pool has, each number by itself: logical CPUs, installed memory, and
    memory beside the huge pages that are set aside there, in MiB. None where there is no host, or none that says so: no
    machine has 0 CPUs or no memory. `cards` are the memory sizes of their GPUs in GiB, as far as they are told."""

    vcpu: int | None = None
    memory_mib: int | None = None
    room_mib: int | None = None
    cards: frozenset[int] = frozenset()

    def beside(self, inventory: Inventory) -> HostBounds:
        """The same with one host more."""
        memory = inventory.memory_gib * MIB_PER_GIB or None
        return HostBounds(
            vcpu=_least(self.vcpu, inventory.vcpu or None),
            memory_mib=_least(self.memory_mib, memory),
            room_mib=_least(self.room_mib, None if memory is None else inventory.room_mib),
            cards=self.cards | cards_of(inventory),
        )


NO_HOSTS = HostBounds()
"""A pool without any."""


def cards_of(inventory: Inventory) -> frozenset[int]:
    """The memory sizes of a machine's GPUs, in GiB."""
    return frozenset(size for gpu in inventory.gpus if (size := inventory.vram_of(gpu)) is not None)


def _least(left: int | None, right: int | None) -> int | None:
    return min((value for value in (left, right) if value is not None), default=None)
