"""The name that was meant, among all keys of a fleet or all names of a control plane, in a time that stays small."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from better_compute.domain.problems import ask, did_you_mean
from better_compute.domain.words import slip_of

_FEW = 200
"""So many names are looked at for likeness as well, which takes three times as long in all."""
_LETTERS = 500_000
"""So many may be compared in one run: a mistake that stands in every entry is not worth one look at every other."""


@dataclass(slots=True)
class Nearest:
    """The hints of one run; when many names were looked at for them, there are no more."""

    left: int = _LETTERS

    def hint(self, name: str, known: Collection[str]) -> str:
        """`did you mean "x"?` for the name that `name` may be a slip of, or among few for one that is like it; else an
        empty text."""
        if self.left <= 0:
            return ""
        few = len(known) <= _FEW
        self.left -= len(known) * len(name) * (3 if few else 1)
        if slip := slip_of(name, known):
            return ask(slip)
        return did_you_mean(name, known) if few else ""
