"""What a machine says of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from better_compute.domain.problems import INVALID_INPUT, Problem

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

    def vram_of(self, gpu: str) -> int | None:
        """The memory of a whole card in GiB: what the machine says, else what the name says (`80GB`)."""
        said = self.attributes.get(VRAM)
        if type(said) is int:
            return said
        found = _NAMED_VRAM.search(gpu)
        return int(found[1]) if found else None


def check_inventory(inventory: Inventory) -> list[Problem]:
    """Rule node.inventory: an attribute with a meaning holds what it means."""
    if type(inventory.attributes.get(VRAM, 0)) is int:
        return []
    message = f"{VRAM} is the memory of each GPU, a whole number of GiB"
    return [Problem(INVALID_INPUT, "node.inventory", message, f"inventory.attributes.{VRAM}")]
