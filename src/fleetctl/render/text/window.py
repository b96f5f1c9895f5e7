"""Lines in a window: what does not fit goes on below, and nothing is cut."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_SEQUENCE = re.compile("\x1b\\[\\d+m")
_HANGING = 4
_NARROWEST = 20
"""Below so many columns nothing could be read: the terminal breaks lines by itself."""


def wrapped(line: str, width: int) -> Iterator[str]:
    """The line in parts of `width` columns, broken at blanks; what follows is indented. Colours cost no column. A word
    that is longer than a line stands whole."""
    if width < _NARROWEST or _columns(line) <= width:
        yield line
        return
    text = line.lstrip(" ")
    indent = " " * min(len(line) - len(text), width // 2)
    part, hanging = indent, indent + " " * min(_HANGING, width // 4)
    for word in re.findall(r" *[^ ]+", text):
        if part.strip() and _columns(part) + _columns(word) > width:
            yield part
            part = hanging + word.lstrip(" ")
        else:
            part += word
    yield part


def _columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    text = _SEQUENCE.sub("", text) if "\x1b" in text else text
    return len(text) if text.isascii() else sum(map(_of_character, text))


def _of_character(character: str) -> int:
    """Wide letters take two, marks on a letter none."""
    return 2 if unicodedata.east_asian_width(character) in "WF" else 0 if unicodedata.combining(character) else 1
