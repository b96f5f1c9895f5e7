"""Host resources: the scalars that a host provides, from its inventory and the pool's policy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """What a host provides of a resource at a ratio, and how much of it is booked. `total` counts the ratio in, and is
    never below `allocated`; `ratio` is a decimal number as the policy spells it, clamped."""

    resource: str
    total: int
    ratio: str
    allocated: int = 0

    @property
    def room(self) -> int:
        return self.total - self.allocated
