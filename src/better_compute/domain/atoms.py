"""The fixed tables of the pools system: classes and the role of their machines, sharing modes and their atoms."""

from __future__ import annotations

from typing import Literal

Role = Literal["host", "infra", "none"]

CLASSES: dict[str, Role] = {
    "metal-host": "host",
    "vps-host": "host",
    "infra": "infra",
    "provider": "none",
}
"""Pool class -> role of a machine that joins. Only hosts add capacity; a provider pool takes no machines."""

ATOMS: dict[str, str] = {
    "exclusive": "gpu",
    "mig": "gpu.mig",
    "timeslice": "gpu.slot",
    "mps": "gpu.slot",
}
"""Sharing mode -> the resource its GPUs are counted and booked in."""

ISOLATING = frozenset({"exclusive", "mig"})
"""Sharing modes that keep workloads apart; the others serve the owner alone (rule offer.sharing)."""

AGENTS = ("bcd", "none")
DEFAULT_AGENT = "bcd"
DEFAULT_SHARING = "exclusive"

UNLIMITED = 2_147_483_647
"""The largest quota; for whole GPUs it reads as unlimited."""

DEFAULT_OWNER_QUOTA = {"gpu": UNLIMITED}

SCALARS = ("vcpu", "memoryGiB", "diskGiB", "hugepages2Mi", "hugepages1Gi")
"""The scalar resources that hosts provide."""
