"""How many calls may be under way: half as many whenever the control plane has too much to do, then one more at a
time."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf


@dataclass(slots=True)
class Pace:
    """At first `most` calls at a time, and never more. Moments are seconds of one clock, which the caller reads.

    A call is told of with the `burst` that it began in. A refusal tells of the pace at that time: of all that began
    before the last halving, none halves again, and no answer makes up for it.
    """

    most: int
    limit: int = field(init=False)
    burst: int = 0
    not_before: float = -inf
    """No call begins before this moment."""
    _answered: int = 0

    def __post_init__(self) -> None:
        self.limit = self.most

    def answered(self, burst: int) -> None:
        """The control plane did what a call asked for, or said why not: after as many as may be under way, one more
        may."""
        if burst != self.burst:
            return
        self._answered += 1
        if self._answered >= self.limit:
            self.limit, self._answered = min(self.most, self.limit + 1), 0

    def refused(self, burst: int) -> bool:
        """The control plane had too much to do for a call. Whether fewer may be under way from here on."""
        if burst != self.burst:
            return False
        before = self.limit
        self.limit, self._answered = max(1, before // 2), 0
        self.burst += 1
        return self.limit < before

    def hold(self, until: float) -> None:
        """The control plane wants no call before this moment, nor before one that it named earlier and is later."""
        self.not_before = max(self.not_before, until)
