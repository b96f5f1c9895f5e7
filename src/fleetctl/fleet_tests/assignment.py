"""Which of those found stands for which of those expected, so that as many as can be have one."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def assigned(candidates: Sequence[Sequence[int]]) -> dict[int, int]:
    """For each expected one, by its number, the number of one of its `candidates`, a different one each; none is found
    for more of them. Where one is taken, its holder moves on to another if it may be that too."""
    holds: dict[int, int] = {}
    holder: dict[int, int] = {}
    spent: set[int] = set()  # of searches that found none: whatever comes later, none of these gets free
    for start in range(len(candidates)):
        came: dict[int, int] = {}
        free = _search(start, candidates, holder, came, spent)
        if free is None:
            spent |= came.keys()
        while free is not None:
            wanted = holder[free] = came[free]
            before = holds.get(wanted)
            holds[wanted] = free
            free = before
    return holds


def _search(
    start: int, candidates: Sequence[Sequence[int]], holder: dict[int, int], came: dict[int, int], spent: set[int]
) -> int | None:
    """One that is free, nearest first; `came` says of each that was looked at for which expected one that was."""
    queue = deque([start])
    while queue:
        wanted = queue.popleft()
        for index in candidates[wanted]:
            if index in came or index in spent:
                continue
            came[index] = wanted
            if index not in holder:
                return index
            queue.append(holder[index])
    return None
