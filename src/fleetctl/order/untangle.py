"""A topological order of operations, and the cycles that stand in its way."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from heapq import heappop, heappush

WEAK, SOFT, HARD = range(3)
"""Strengths of an edge: lower first within a pool, no tenant below both, a rule."""

Waits = dict[int, dict[int, int]]
"""For each operation that waits those it waits for, each with its strength."""

_REACH = 32
"""How far back on a long cycle the edge to drop is chosen; what lies further is not looked at again and again."""


@dataclass(frozen=True, slots=True)
class Untangled:
    """An order in which every operation follows those it still waits for; the edges (first, then) that were dropped;
    the cycles of hard edges, each from its smallest operation on, an edge of each also dropped."""

    sequence: list[int]
    dropped: set[tuple[int, int]]
    cycles: list[tuple[int, ...]]


def untangle(count: int, waits: Waits) -> Untangled:
    """Order the numbers below `count`; edges of `waits` are dropped, in place, until it has no cycle.

    First among hard and soft edges alone, so that no tenant's wish is given up for the sake of a pool's; then with the
    weak ones, of which every cycle that is left holds one.
    """
    whole = _Run(waits, WEAK, bytearray(count))
    whole.take()
    strong = _Run(waits, SOFT, whole.done[:]) if whole.left else whole
    if strong is not whole:
        strong.finish()
        for _, then in strong.dropped:
            whole.release(then)
        whole.finish()
    return Untangled(whole.sequence, {*strong.dropped, *whole.dropped}, strong.cycles)


class _Run:
    """Takes what waits for nothing, smallest first; when all that is left waits, walks back along what it waits for
    until the walk meets itself: a cycle. An edge of `least` strength goes (a cycle without one is of hard edges alone).

    The walk is kept from cycle to cycle, so the cost is near that of the edges, however many cycles there are.
    """

    def __init__(self, waits: Waits, least: int, done: bytearray) -> None:
        self.waits, self.least, self.done = waits, least, done
        self.left = done.count(0)
        self.sequence: list[int] = []
        self.dropped: list[tuple[int, int]] = []
        self.cycles: list[tuple[int, ...]] = []
        self.followers: dict[int, list[int]] = defaultdict(list)
        self.missing = [0] * len(done)
        self.path: list[int] = []
        self.places: dict[int, int] = {}
        self.unseen: dict[int, list[int]] = {}
        self.oldest = 0
        for then, firsts in waits.items():
            for first, strength in firsts.items():
                if strength >= least and not done[first]:
                    self.followers[first].append(then)
                    self.missing[then] += 1
        self.ready = [n for n, count in enumerate(self.missing) if not count and not done[n]]

    def finish(self) -> None:
        """Take everything, and drop an edge whenever there is a cycle."""
        self.take()
        while self.left:
            self._drop(self._walk())
            self.take()

    def take(self) -> None:
        """Take what waits for nothing, and what then waits for nothing more."""
        ready, waits, missing = self.ready, self.waits, self.missing
        while ready:
            number = heappop(ready)
            self.done[number] = 1
            self.left -= 1
            self.sequence.append(number)
            for then in self.followers.get(number, ()):
                if number in waits[then]:
                    missing[then] -= 1
                    if not missing[then]:
                        heappush(ready, then)

    def release(self, then: int) -> None:
        """One edge less."""
        self.missing[then] -= 1
        if not self.missing[then]:
            heappush(self.ready, then)

    def _walk(self) -> int:
        """Lengthen the path, on which each operation waits for the next, until its end waits for one of it: which."""
        path, places = self.path, self.places
        while path and self.done[path[-1]]:
            del places[path.pop()]
        if not path:
            self.oldest = self.done.index(0, self.oldest)
            self._step(self.oldest)
        while (first := self._open(path[-1])) not in places:
            self._step(first)
        return first

    def _step(self, number: int) -> None:
        self.places[number] = len(self.path)
        self.path.append(number)

    def _open(self, number: int) -> int:
        """An operation not done that `number` waits for: the same one until it is done or the edge is dropped."""
        waits = self.waits[number]
        unseen = self.unseen.get(number)
        if unseen is None:
            unseen = self.unseen[number] = [n for n, strength in waits.items() if strength >= self.least]
        while self.done[unseen[-1]] or unseen[-1] not in waits:
            unseen.pop()
        return unseen[-1]

    def _drop(self, first: int) -> None:
        """Drop an edge of the cycle at the path's end: of `least` strength, into the smallest operation near the end.
        What the path went along behind it is walked anew."""
        path, start = self.path, self.places[first]
        weakest: tuple[int, int] | None = None
        for place in range(len(path) - 1, start - 1, -1):
            then = path[place]
            if self.waits[then][first] == self.least and (weakest is None or then < weakest[0]):
                weakest = then, first
            if weakest and len(path) - place >= _REACH:
                break
            first = then
        if weakest:
            then, first = weakest
        else:
            then, first = path[-1], path[start]
            self.cycles.append(_from_smallest(path[start:]))
        self.dropped.append((first, then))
        del self.waits[then][first]
        while path[-1] != then:
            del self.places[path.pop()]
        self.release(then)


def _from_smallest(cycle: list[int]) -> tuple[int, ...]:
    """A cycle in the order of doing, where the path went back."""
    start = cycle.index(min(cycle))
    return (*reversed(cycle[: start + 1]), *reversed(cycle[start + 1 :]))
