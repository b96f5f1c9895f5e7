"""What single values of a policy mean: durations, ratios and CPU sets."""

from __future__ import annotations

import re

from better_compute.domain.policy.fields import LONGEST_DURATION, RATIO_HIGH, RATIO_LOW, SECONDS


def seconds(value: object) -> int | None:
    """The length of a duration such as `6h` in seconds: above 0 and at most 90 days; None where it is not one."""
    if not isinstance(value, str) or not re.fullmatch("[0-9]+[smhd]", value):
        return None
    digits = value[:-1].lstrip("0")
    if not digits or len(digits) > len(str(LONGEST_DURATION)):
        return None
    length = int(digits) * SECONDS[value[-1]]
    return length if length <= LONGEST_DURATION else None


def effective_ratio(value: object) -> int | float | None:
    """An overcommit ratio as it acts: clamped to 0.1 to 100; None where it is not a number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        return None
    return min(max(value, RATIO_LOW), RATIO_HIGH)


Ranges = list[tuple[int, int]]
"""The first and the last of ids, merged, lowest first."""


def cpu_ranges(text: str) -> Ranges | None:
    """The CPU ids of `4-63,68` as merged ranges, lowest first; None where a range runs backwards.

    Ranges and not ids: a text of 64 KiB can name far more ids than anyone should hold. The text has the table's
    pattern.
    """
    ranges = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        first, last = int(low), int(high or low)
        if first > last:
            return None
        ranges.append((first, last))
    merged: Ranges = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def within(ranges: Ranges, count: int) -> Ranges:
    """Those ids that are below `count`."""
    return [(first, min(last, count - 1)) for first, last in ranges if first < count]


def spell_ranges(ranges: Ranges) -> str:
    """The text that `cpu_ranges` reads."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def cpu_count(ranges: Ranges) -> int:
    """How many ids merged ranges hold."""
    return sum(last - first + 1 for first, last in ranges)


def overlap(left: Ranges, right: Ranges) -> int | None:
    """The lowest id that two lists of merged ranges share."""
    i = j = 0
    while i < len(left) and j < len(right):
        low = max(left[i][0], right[j][0])
        if low <= min(left[i][1], right[j][1]):
            return low
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return None
