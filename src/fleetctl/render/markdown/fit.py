"""Blocks within a number of bytes: what matters most is kept first, and what is left out is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_NOTE = 80
"""Bytes that are kept free in a block for the line that says how much of it was left out."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Lines that belong together, each ended. `short` says the least of them."""

    text: str
    short: str = ""

    @property
    def lines(self) -> int:
        return self.text.count("\n")


@dataclass(slots=True, kw_only=True)
class Block:
    """Units between a beginning and an end that belong to each other: a fence, a table. The lower its `rank`, the
    sooner it is kept; of one that `must` be kept the short forms are, where there is no room for all of it."""

    start: str
    end: str
    units: Sequence[Unit]
    rank: int
    must: bool = False
    kept: list[str] = field(default_factory=list)
    left: int = 0
    """Lines that were left out."""
    missing: int = 0
    """Units of which nothing was kept."""

    def fill(self, room: int) -> int:
        """Keep as many units as fit into `room` bytes; the bytes that are used."""
        frame = size(self.start) + size(self.end)
        texts = [unit.text for unit in self.units]
        if self.must and frame + sum(map(size, texts)) > room:
            texts = [unit.short or unit.text for unit in self.units]
        used, count = frame, 0
        for index, text in enumerate(texts):
            note = _NOTE if index + 1 < len(texts) else 0
            if used + size(text) + note > room:
                break
            used, count = used + size(text), count + 1
        self.kept = texts[:count]
        self.left = sum(unit.lines for unit in self.units) - sum(text.count("\n") for text in self.kept)
        self.missing = len(texts) - count
        return used + (_NOTE if self.left and count else 0) if count else 0

    def shown(self) -> str:
        """The block as it stands; nothing where nothing of it was kept."""
        if not self.kept:
            return ""
        note = f"\n{self.left:,} more lines of these are left out.\n" if self.left else ""
        return self.start + "".join(self.kept) + self.end + note


def fit(head: str, blocks: Sequence[Block], room: int) -> Iterator[str]:
    """The head and the blocks in their order, in `room` bytes."""
    rest = room - size(head)
    for block in sorted(blocks, key=lambda one: one.rank):
        rest -= block.fill(max(rest, 0))
    yield head
    yield from (block.shown() for block in blocks)


def size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())
