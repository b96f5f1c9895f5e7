"""Text for a terminal: nothing that a server or a file says may command it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from better_compute.domain.escape import escape, is_seen


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON in which every character that is not seen as itself is escaped, and no other letter."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c == "\n" or is_seen(c) else json.dumps(c)[1:-1] for c in text)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side; the first row is the heading."""
    shown = [[escape(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*shown, strict=True)]
    lines = (_padded(row, widths) for row in shown)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def width(text: str) -> int:
    """Columns of a terminal: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns(c) for c in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell + " " * (column - width(cell)) for cell, column in zip(row, widths, strict=True))
