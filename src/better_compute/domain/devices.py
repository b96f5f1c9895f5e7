"""Devices: the atoms of a host, as its inventory and the pool's policy make them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from better_compute.domain.families import Instance, cut, instance_of
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Node, atoms_per_gpu, mig_devices
from better_compute.domain.policy.mig import most_slices
from better_compute.domain.state import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One atom of a host: a whole GPU, a MIG instance, or a slot of a GPU.

    `position` tells it from the others of its node and stays with it. `product` is the NVML name of the card, `profile`
    that of a MIG instance. `vram_gib` is the memory of the instance, or of the whole card that slots share; None where
    nothing tells. It is metered as `share` of the `whole` parts of a GPU. One that is `leaving` is not there any more:
    it is kept until its booking ends.
    """

    position: int
    product: str
    profile: str | None = None
    vram_gib: int | None = None
    share: int = 1
    whole: int = 1
    leaving: bool = False
    reservation_id: str | None = None

    @property
    def free(self) -> bool:
        """Whether a new booking may take it, as far as its host may be booked at all."""
        return self.reservation_id is None and not self.leaving

    @property
    def part(self) -> Fraction:
        """How much of a GPU it is metered as."""
        return Fraction(self.share, self.whole)

    @property
    def kind(self) -> tuple[str, str | None]:
        """What a device is: two of one kind stand for each other."""
        return self.product, self.profile


def devices_of(pool: Pool, node: Node) -> list[Device]:
    """The atoms of a machine, none booked, in the order of its inventory: none where it cannot be booked."""
    if not node.is_schedulable:
        return []
    made = _instances(pool, node.inventory) if pool.sharing == "mig" else _shares(pool, node.inventory)
    return [replace(device, position=position) for position, device in enumerate(made)]


def follow(held: Sequence[Device], wanted: Sequence[Device]) -> list[Device]:
    """The devices of a machine that has `held` and should have `wanted`, by position.

    Those of a kind that is wanted keep their positions, booked ones before free ones, and booked ones the share that
    was booked; of the others the free ones go, and the booked ones are leaving until their bookings end. New ones take
    the lowest positions that are not in use; while bookings may hold their part of the hardware they are not there.
    """
    stock: dict[tuple[str, str | None], list[Device]] = {}
    for device in sorted(held, key=lambda d: (d.reservation_id is None, d.leaving, d.position), reverse=True):
        stock.setdefault(device.kind, []).append(device)
    kept, new, held_beyond = [], [], Fraction(0)
    for device in wanted:
        if there := stock.get(device.kind):
            kept.append(_kept(there.pop(), device))
            held_beyond += kept[-1].part - device.part
        else:
            new.append(device)
    left = (device for devices in stock.values() for device in devices)
    leaving = [replace(device, leaving=True) for device in left if device.reservation_id is not None]
    kept += leaving
    unused = _unused({device.position for device in kept})
    fitting = _fitting(new, held_beyond + sum(map(_may_hold, leaving)))
    return sorted([*kept, *(replace(d, position=next(unused)) for d in fitting)], key=lambda device: device.position)


def _kept(before: Device, wanted: Device) -> Device:
    """A device that stays, as it is wanted now; where it is booked it is metered as it was booked."""
    m = wanted if before.reservation_id is None else before
    return replace(wanted, position=before.position, reservation_id=before.reservation_id, share=m.share, whole=m.whole)


def _may_hold(leaving: Device) -> Fraction:
    """How much of GPUs a device that is leaving may keep from new ones: where cards are cut otherwise than before, the
    whole card that a booked instance is on."""
    return leaving.part if leaving.profile is None else Fraction(1)


def _fitting(new: Sequence[Device], held: Fraction) -> Iterator[Device]:
    """The new devices that the hardware has room for, where bookings hold so much of it: a card under another name, or
    split in another way, is booked once."""
    for device in reversed(new):
        if held <= 0:
            yield device
        held -= device.part


def _shares(pool: Pool, inventory: Inventory) -> Iterator[Device]:
    """Whole GPUs, or the slots that each of them is split into."""
    each = atoms_per_gpu(pool.sharing, pool.policy)
    for name in inventory.gpus:
        slot = Device(position=0, product=name, vram_gib=inventory.vram_of(name), whole=each)
        yield from [slot] * each


def _instances(pool: Pool, inventory: Inventory) -> Iterator[Device]:
    """The MIG instances that the inventory names, which stand for the whole GPUs beside them; where it names none,
    those that the policy cuts each GPU into."""
    named = [(card, instance) for card, instance in map(cut, inventory.gpus) if instance is not None]
    if named:
        yield from (_instance(pool, card, instance) for card, instance in named)
        return
    devices = [(found, n) for profile, n in mig_devices(pool.policy) if (found := instance_of(profile))]
    for name in inventory.gpus:
        for instance, count in devices:
            yield from [_instance(pool, name, instance)] * count


def _instance(pool: Pool, card: str, instance: Instance) -> Device:
    whole = most_slices(pool.gpu_model)
    share = min(instance.slices, whole)
    return Device(
        position=0, product=card, profile=instance.profile, vram_gib=instance.vram_gib, share=share, whole=whole
    )


def _unused(taken: set[int]) -> Iterator[int]:
    position = 0
    while True:
        if position not in taken:
            yield position
        position += 1
