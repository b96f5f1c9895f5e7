"""Times and counts in words, the same in every message."""

from __future__ import annotations

from datetime import UTC, datetime


def time(epoch_ms: int) -> str:
    """A time in UTC; what no calendar holds is shown as the number it is."""
    try:
        return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{epoch_ms} ms"


def count(number: int, noun: str) -> str:
    """`1 pool`, `2,000 pools`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
