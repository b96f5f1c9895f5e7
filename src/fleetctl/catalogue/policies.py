"""Rules of the fields of a policy: made from the table that judges them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from better_compute.domain.policy.fields import FIELDS, Field
from fleetctl.catalogue.entry import Entries, Entry

_PREFIX = "policy."
_WHY: Final = {
    "capacity": "It decides what may be booked, and for how long it waits.",
    "server": "It decides which machines may join.",
    "provision": "It becomes configuration of every host of the pool, and is checked before a host gets it.",
}
_ALSO: Final[Mapping[str, str]] = {
    "acceptance.kind": "No kind stands twice, and one that is nearly a known one is a warning.",
    "cpu.mitigations": "Switching them off in a pool that tenants share is a warning.",
    "cpu.reserved": "It must not overlap with `isolated`; fewer than `hostReserve.vcpu` keeps back are a warning.",
    "gpu.computeMode": "exclusive-process lets nobody share a GPU of a timeslice pool.",
    "gpu.driver.kernelModule": "Some models work with one kind of module alone.",
    "gpu.driver.version": "It must be one that still knows the pool's model.",
    "gpu.ecc": "Switching it off in a pool that tenants share is a warning.",
    "gpu.mig.devices": "Only a mig pool has them, and they must fit on one card of the pool's model.",
    "gpu.mig.strategy": "Only a mig pool has one.",
    "gpu.slots": "A timeslice or mps pool must have it, another must not.",
    "hugepages.numa": "No node has a size twice, and a size stands here or as a total, not both.",
    "iommu": "A vps-host pool that hands out whole GPUs cannot have it off.",
    "joinAttestors": "Each must be one that the server runs, and none stands twice.",
    "kernelModules.name": "None stands twice, and nouveau is not loaded beside a GPU driver.",
    "kernelModules.parameters": "None is set twice.",
    "kubernetes": "In a provider pool it does nothing: no machine joins.",
    "kubernetes.taints": "None stands twice.",
    "overcommit.diskGiB": "Only vps-host pools sell disk.",
    "overcommit.memoryGiB": "Above 1 is a warning where whole GPUs or huge pages are sold.",
}


def policies() -> Entries:
    """One entry for each rule that judges a field; an element of a list, or a value of a map, has the rule of these."""
    fields: dict[str, list[Field]] = {}
    for path, field in FIELDS.items():
        fields.setdefault(path.replace("[]", "").replace("{}", ""), []).append(field)
    return {_PREFIX + name: _entry(name, found) for name, found in fields.items()}


def _entry(name: str, fields: list[Field]) -> Entry:
    first = fields[0]
    must = "; each of them ".join(field.says for field in fields)
    default = "" if first.default is None else f" Left out, it is {_shown(first.default)}."
    also = f" {_ALSO[name]}" if name in _ALSO else ""
    return Entry(f"`{name}` must be {must}.{default}{also}", _WHY[first.module], _act(fields))


def _act(fields: list[Field]) -> str:
    examples = list(_examples(fields))
    return f"Write such a value, for example {examples[0]}." if examples else "Write such a value, or leave it out."


def _examples(fields: list[Field]) -> Iterator[str]:
    for field in fields:
        yield from (example for example in (field.example, *field.values[:1]) if example)


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, list):
        return f"[{', '.join(default)}]"
    return "{}" if isinstance(default, dict) else str(default)
