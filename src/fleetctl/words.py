"""Times, counts and lists in words, the same in every message."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

AT_BASE: Final = "base:"
"""Begins the names of files as they are at a base: their lines are none of today's files."""

UNITS: Final = {"gpu": "GPUs", "gpu.mig": "MIG slices", "gpu.slot": "slots"}
"""What the atoms of GPUs are called."""

LISTED: Final = 3
"""So many names stand in a message, or all but the last of so many and how many more there are."""
_COMMIT = 12


def time(epoch_ms: int) -> str:
    """A time in UTC; what no calendar holds is shown as the number it is."""
    try:
        return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{epoch_ms} ms"


def count(number: int, noun: str) -> str:
    """`1 pool`, `2,000 pools`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def unit(model: str, atom: str) -> str:
    """`H100 GPUs`, `L40S slots`."""
    return f"{model} {UNITS.get(atom, atom)}"


def short(commit: str) -> str:
    """A commit as people name it."""
    return commit[:_COMMIT]


def listed(names: Sequence[str], noun: str) -> str:
    """`a`, `a and b`, `a, b and 7 more tenants`: the line stays short. Raises IndexError for none."""
    if len(names) > LISTED:
        names = [*names[: LISTED - 1], count(len(names) - LISTED + 1, f"more {noun}")]
    return joined(names)


def joined(names: Sequence[str]) -> str:
    """`a, b, c and d`: all of them. Raises IndexError for none."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
