"""What files say of plans themselves: guards (limits on what one plan may do), checks, and differences to expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from fleetctl.desired.place import Place

CheckSeverity = Literal["deny", "warn"]
Each = Literal["pool", "offer", "operation", "tenant"]


@dataclass(frozen=True, slots=True)
class Freeze:
    """A window in which no operation runs: from `start` up to, and without, `end`, in epoch milliseconds."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The guards of a fleet, each with its default. `max_oversell` of None: no limit. `protect` holds keys and ids."""

    max_archives: int = 1
    max_archive_percent: float = 10
    max_withdrawals: int = 10
    max_gpus_withdrawn: int = 256
    max_oversell: float | None = None
    allow_below_use: bool = False
    allow_archive_in_use: bool = False
    allow_model_change: bool = False
    protect: frozenset[str] = frozenset()
    freeze: tuple[Freeze, ...] = ()

    def stricter(self, other: Limits) -> Limits:
        """The stricter of two, guard by guard: a change cannot remove its own guard."""
        ratios = [limit for limit in (self.max_oversell, other.max_oversell) if limit is not None]
        return replace(
            self,
            max_archives=min(self.max_archives, other.max_archives),
            max_archive_percent=min(self.max_archive_percent, other.max_archive_percent),
            max_withdrawals=min(self.max_withdrawals, other.max_withdrawals),
            max_gpus_withdrawn=min(self.max_gpus_withdrawn, other.max_gpus_withdrawn),
            max_oversell=min(ratios, default=None),
            allow_below_use=self.allow_below_use and other.allow_below_use,
            allow_archive_in_use=self.allow_archive_in_use and other.allow_archive_in_use,
            allow_model_change=self.allow_model_change and other.allow_model_change,
            protect=self.protect | other.protect,
            freeze=tuple(dict.fromkeys((*self.freeze, *other.freeze))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A user's rule: `expr` is CEL, true where all is well. `each` binds one object at a time; None: lists of all."""

    name: str
    severity: CheckSeverity
    expr: str
    message: str
    each: Each | None = None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A difference that drift may ignore: of the entry `key`, at `path` or below it (None: whatever it is), up to
    `until` in epoch milliseconds (None: for ever), and why."""

    key: str
    path: str | None
    until: int | None
    reason: str
    place: Place = field(compare=False)


Prices = Mapping[str, float]
"""GPU model -> price per GPU hour."""
