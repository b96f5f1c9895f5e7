"""What a machine says of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from better_compute.domain.problems import INVALID_INPUT, Problem

MIB_PER_GIB = 1024
MIB_PER_PAGE = {"2Mi": 2, "1Gi": 1024}
"""What a huge page of each size takes."""

MOST_GPUS = 128
"""So many GPUs or MIG instances may a machine name: more than sixteen cards that are cut into seven each."""

VRAM = "vramGiB"
"""The attribute that says how much memory each of its GPUs has."""

_NAMED_VRAM = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4})GB?(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What a machine says of itself. GPUs by NVML name; memory and disk in GiB; huge pages in pages."""

    gpus: tuple[str, ...] = ()
    vcpu: int = 0
    memory_gib: int = 0
    disk_gib: int = 0
    hugepages_2mi: int = 0
    hugepages_1gi: int = 0
    attributes: Mapping[str, str | int] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Inventory:
        """From its fields as JSON holds them: the GPUs are a list there."""
        return cls(**{**fields, "gpus": tuple(fields["gpus"])})

    @property
    def room_mib(self) -> int:
        """The memory beside its huge pages."""
        return int(beside_pages(self.memory_gib * MIB_PER_GIB, self.hugepages_2mi, self.hugepages_1gi))

    def vram_of(self, gpu: str) -> int | None:
        """The memory of a whole card in GiB: what the machine says, else what the name says (`80GB`)."""
        said = self.attributes.get(VRAM)
        if type(said) is int:
            return said
        found = _NAMED_VRAM.search(gpu)
        return int(found[1]) if found else None


def beside_pages(memory_mib: Any, pages_2mi: Any, pages_1gi: Any) -> Any:
    """The memory beside so many huge pages, in MiB; of numbers, or of columns that hold them."""
    return memory_mib - pages_2mi * MIB_PER_PAGE["2Mi"] - pages_1gi * MIB_PER_PAGE["1Gi"]


def check_inventory(inventory: Inventory) -> list[Problem]:
    """Rule node.inventory: a machine holds so many GPUs at most, and an attribute with a meaning what it means."""
    problems = []
    if len(inventory.gpus) > MOST_GPUS:
        message = f"a machine has at most {MOST_GPUS} GPUs or MIG instances, and this one names {len(inventory.gpus)}"
        problems.append(Problem(INVALID_INPUT, "node.inventory", message, "inventory.gpus"))
    if type(inventory.attributes.get(VRAM, 0)) is not int:
        message = f"{VRAM} is the memory of each GPU, a whole number of GiB"
        problems.append(Problem(INVALID_INPUT, "node.inventory", message, f"inventory.attributes.{VRAM}"))
    return problems
