"""Blocks within a number of bytes: what matters most is kept first, and what is left out is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_NOTE = 80
"""Bytes that are kept free in a block for the line that says how much of it was left out."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Lines that belong together, each ended. `short` says the least of them; `wider`, the widest first, say more than
    they must, where there is room in the end."""

    text: str
    short: str = ""
    wider: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Block:
    """Units under a title, between a beginning and an end that belong to each other: a fence, a table. A folded one
    opens when it is asked for. The lower its `rank`, the sooner it is kept; of one that `must` be kept the short forms
    are, where there is no room for all of it."""

    title: str
    start: str = ""
    end: str = ""
    units: Sequence[Unit]
    rank: int
    must: bool = False
    is_folded: bool = False
    kept: list[str] = field(default_factory=list)
    left: int = 0
    """Lines that were left out."""
    missing: int = 0
    """Units of which nothing was kept."""
    brief: int = 0
    """Units that say less than they could."""

    @property
    def _frame(self) -> tuple[str, str]:
        if self.is_folded:
            return f"\n<details><summary>{self.title or 'More'}</summary>\n\n{self.start}", f"{self.end}\n</details>\n"
        return f"\n### {self.title}\n\n{self.start}" if self.title else f"\n{self.start}", self.end

    def fill(self, room: int) -> int:
        """Keep as many units as fit into `room` bytes; the bytes that are used."""
        texts, frame = [unit.text for unit in self.units], sum(map(size, self._frame)) + _NOTE
        if self.must and frame + sum(map(size, texts)) > room:
            texts = [unit.short or unit.text for unit in self.units]
        used = frame
        for text in texts:
            if (grown := used + size(text)) > room:
                break
            used = grown
            self.kept.append(text)
        self.missing = len(texts) - len(self.kept)
        self.left = sum(unit.text.count("\n") for unit in self.units) - sum(text.count("\n") for text in self.kept)
        return used if self.kept else 0

    def widen(self, room: int) -> int:
        """Say of what was kept as much as fits into `room` bytes more; the bytes that are used."""
        used = 0
        for number, unit in enumerate(self.units[: len(self.kept)]):
            fits = (text for text in unit.wider if used + size(text) - size(self.kept[number]) <= room)
            wide = next(fits, "")
            if wide:
                used += size(wide) - size(self.kept[number])
                self.kept[number] = wide
            self.brief += bool(unit.wider) and wide != unit.wider[0]
        return used

    def shown(self) -> str:
        """The block as it stands; nothing where nothing of it was kept."""
        if not self.kept:
            return ""
        start, end = self._frame
        note = f"\n{self.left:,} more lines of these are left out.\n" if self.left else ""
        return f"{start}{''.join(self.kept)}{end}{note}"


def fit(head: str, blocks: Sequence[Block], room: int) -> Iterator[str]:
    """The head and the blocks in their order, in `room` bytes. No block says more at the cost of another."""
    rest = room - size(head)
    for block in sorted(blocks, key=lambda one: one.rank):
        rest -= block.fill(max(rest, 0))
    for block in sorted(blocks, key=lambda one: one.rank):
        rest -= block.widen(max(rest, 0))
    yield head
    yield from (block.shown() for block in blocks)


def size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())
