"""Guards: a fleet's limits on what one plan may do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Freeze:
    """A window in which no operation runs: from `start` up to, and without, `end`, in epoch milliseconds."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
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

    def stricter(self, other: Guards) -> Guards:
        """The stricter of two, guard by guard: a change cannot remove its own guard."""
        ratios = [limit for limit in (self.max_oversell, other.max_oversell) if limit is not None]
        return Guards(  # whole: nothing is one side's alone
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
