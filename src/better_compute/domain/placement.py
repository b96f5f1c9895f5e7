"""Placement: which devices of a host a reservation takes, and what devices are selected by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    """What devices may be selected by: what they are, and what their host says of itself."""

    product: str
    profile: str | None
    vram_gib: int | None
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Place:
    """A host, and the positions of the devices on it."""

    node_id: str
    positions: Sequence[int]


def choose(host: Host, reservation: Reservation) -> Place:
    """The devices that the reservation takes of a host that has room for it: of those that are free and selected the
    ones at the lowest positions."""
    attributes = host.node.inventory.attributes
    fitting = [d.position for d in host.devices if d.free and _matches(d, attributes, reservation.selectors)]
    return Place(host.node.id, sorted(fitting)[: reservation.atoms])


def check_selectors(kinds: Iterable[Kind], selectors: Selectors) -> list[Problem]:
    """Rule reservation.selectors: some kind of device has all that is selected by; no kinds at all have yet to come.
    The problems name the attributes that none has so; of what the machines are they tell the nearest product and memory
    alone."""
    kind, unmet = None, set(selectors)
    products: set[str] = set()
    sizes: set[int] = set()
    for kind in kinds:
        met = {name for name, values in selectors.items() if _meets(kind, name, values)}
        if met == selectors.keys():
            return []
        unmet -= met
        products.add(kind.product)
        sizes |= set() if kind.vram_gib is None else {kind.vram_gib}
    if kind is None:
        return []
    if not unmet:
        return [_refuse("selectors", "no device of this pool has all of these at once")]
    return [
        _refuse(f"selectors.{n}", "no device of this pool has this", _near(n, selectors[n], products, sizes))
        for n in sorted(unmet)
    ]


def has_attributes(attributes: Attributes, selectors: Selectors) -> bool:
    """Whether a machine says of itself what of the selectors is not about a device."""
    return all(name in OF_DEVICE or attributes.get(name) in values for name, values in selectors.items())


def _matches(device: Device, attributes: Attributes, selectors: Selectors) -> bool:
    kind = Kind(device.product, device.profile, device.vram_gib, attributes)
    return all(_meets(kind, name, values) for name, values in selectors.items())


def _meets(kind: Kind, name: str, values: Sequence[str | int]) -> bool:
    """What the device itself is counts, and not what its host says under the same name. A number is no text."""
    found = getattr(kind, OF_DEVICE[name]) if name in OF_DEVICE else kind.attributes.get(name)
    return found is not None and found in values


def _near(name: str, values: Sequence[str | int], products: set[str], sizes: set[int]) -> str:
    if name == "gpuProduct":
        return did_you_mean(str(values[0]), products)
    if name == "vramGiB" and sizes:
        wanted = [value for value in values if isinstance(value, int)] or [0]
        return f"the nearest is {min(sizes, key=lambda size: (min(abs(size - w) for w in wanted), size))}"
    return ""


def _refuse(path: str, message: str, hint: str = "") -> Problem:
    return Problem(INVALID_INPUT, "reservation.selectors", message, path, hint)
