"""What a catalogue holds of one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """`says`: what is wrong when the name is told; `why` it is a rule at all; `act`: what to do about it."""

    says: str
    why: str
    act: str


Entries = Mapping[str, Entry]
