"""Placement: which devices of a host a reservation takes, and what devices are selected by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from better_compute.domain.devices import Device
from better_compute.domain.hosts import Host
from better_compute.domain.problems import INVALID_INPUT, Problem, did_you_mean
from better_compute.domain.reservations import Reservation, Selectors

Attributes = Mapping[str, str | int]

OF_DEVICE = {"gpuProduct": "product", "vramGiB": "vram_gib", "migProfile": "profile"}
"""Selectors that are about a device itself -> the field of it."""


class Kind(NamedTuple):
    """What devices are, and may be selected by."""

    product: str
    profile: str | None
    vram_gib: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """A host, and the positions of the devices on it."""

    node_id: str
    positions: Sequence[int]


def choose(host: Host, reservation: Reservation) -> Place:
    """The devices that the reservation takes of a host that has room for it: of those that are free and selected the
    ones at the lowest positions. Fewer than it asks for where the host was not the right one."""
    attributes = host.node.inventory.attributes
    fitting = [d.position for d in host.devices if d.free and _matches(d, attributes, reservation.selectors)]
    return Place(host.node.id, sorted(fitting)[: reservation.atoms])


def check_selectors(kinds: Collection[Kind], selectors: Selectors, unsaid: Collection[str]) -> list[Problem]:
    """Rule reservation.selectors, where no device has all that is selected by; no kinds at all have yet to come.
    `unsaid`: the selectors besides those of devices that the host of no device meets. The problems name what none has;
    of what the machines are they tell the nearest product and memory alone."""
    if not kinds:
        return []
    unmet = {
        name
        for name, values in selectors.items()
        if (name in unsaid if name not in OF_DEVICE else not any(_is(kind, name, values) for kind in kinds))
    }
    if not unmet:
        return [_refuse("selectors", "no device of this pool has all of these at once")]
    products = {kind.product for kind in kinds}
    sizes = {kind.vram_gib for kind in kinds if kind.vram_gib is not None}
    return [
        _refuse(f"selectors.{n}", "no device of this pool has this", _near(n, selectors[n], products, sizes))
        for n in sorted(unmet)
    ]


def _matches(device: Device, attributes: Attributes, selectors: Selectors) -> bool:
    """What the device itself is counts, and not what its host says under the same name. A number is no text."""
    return all(
        _is(device, name, values) if name in OF_DEVICE else attributes.get(name) in values
        for name, values in selectors.items()
    )


def _is(device: Device | Kind, name: str, values: Sequence[str | int]) -> bool:
    return getattr(device, OF_DEVICE[name]) in values


def _near(name: str, values: Sequence[str | int], products: set[str], sizes: set[int]) -> str:
    if name == "gpuProduct":
        return did_you_mean(str(values[0]), products)
    if name == "vramGiB" and sizes:
        wanted = [value for value in values if isinstance(value, int)] or [0]
        return f"the nearest is {min(sizes, key=lambda size: (min(abs(size - w) for w in wanted), size))}"
    return ""


def _refuse(path: str, message: str, hint: str = "") -> Problem:
    return Problem(INVALID_INPUT, "reservation.selectors", message, path, hint)
