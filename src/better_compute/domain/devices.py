"""Devices: the atoms of a host, as its inventory and the pool's policy make them."""

from __future__ import annotations

from dataclasses import dataclass

WHOLE = 1_000_000
"""The share of a device that is a whole GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One atom of a host: a whole GPU, a MIG instance, or a slot of a GPU.

    `position` tells it from the others of its node and stays with it. `product` is the NVML name of the card, `profile`
    that of a MIG instance. `vram_gib` is the memory of the instance, or of the whole card that slots share; None where
    nothing tells. `share` is how much of a GPU it is metered as, in millionths. One that is `leaving` is not there any
    more: it is kept until its booking ends.
    """

    position: int
    product: str
    profile: str | None = None
    vram_gib: int | None = None
    share: int = WHOLE
    leaving: bool = False
    reservation_id: str | None = None

    @property
    def free(self) -> bool:
        """Whether a new booking may take it, as far as its host may be booked at all."""
        return self.reservation_id is None and not self.leaving
