"""Text for a terminal: nothing that a server or a file says may command it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories of characters that a terminal obeys, reorders by or does not show: controls, formats (bidi), surrogates,
private and unassigned ones, separators of lines and paragraphs."""


def printable(text: str) -> str:
    """The text with every such character escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) if _hidden(c) else c for c in text)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON in which every such character is escaped, and no other letter."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
    if text.isascii() and text.isprintable():
        return text
    return "".join(json.dumps(c)[1:-1] if c != "\n" and _hidden(c) else c for c in text)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side; the first row is the heading."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*shown, strict=True)]
    lines = (_padded(row, widths) for row in shown)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def width(text: str) -> int:
    """Columns of a terminal: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns(c) for c in text)


def _hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell + " " * (column - width(cell)) for cell, column in zip(row, widths, strict=True))


def _escaped(character: str) -> str:
    return (
        character.encode("ascii", "backslashreplace").decode() if ord(character) > 127 else f"\\x{ord(character):02x}"
    )
