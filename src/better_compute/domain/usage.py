"""Usage: on which meter a reservation runs, from when to when, and how many hours that comes to. Exact
throughout: hours are rounded once, when they are written down."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

HOUR = 60 * 60 * 1000
"""Milliseconds."""

_DIGITS = 6
_UNIT = 10**_DIGITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of time in which a reservation was metered, in epoch milliseconds: its start counts, its end does not.
    One whose `ended_at` is None goes on. `share` is how many GPUs it held: three slots of four are 3/4."""

    reservation_id: str
    started_at: int
    pool_id: str
    tenant_id: str
    meter: str
    share: Fraction
    ended_at: int | None = None


def meter(gpu_model: str) -> str:
    """What the GPUs of a model are metered on: `gpu.h100.hours`."""
    return f"gpu.{gpu_model.lower()}.hours"


def hours(amount: Fraction) -> str:
    """An amount, which is GPUs times milliseconds, in hours of one GPU with six decimals: half of the last is rounded
    up."""
    rounded = floor(amount * _UNIT / HOUR + Fraction(1, 2))
    return f"{rounded // _UNIT}.{rounded % _UNIT:0{_DIGITS}}"
