"""How a scalar is written: with the quotes that it needs, and its further lines at a new indentation."""

from __future__ import annotations

import re
from typing import Any

from fleetctl.files.scalars import is_plain

_HEADER = re.compile(r"([|>])([+-]?)([1-9]?)([+-]?)")
_BLOCK = ("|", ">")


def written(token: Any, text: str, indent: int, base: int) -> tuple[str, int]:
    """The scalar as it is to be written, its lines behind the first indented by `indent`, and how far of `text` that
    is. `base` is the column in `text` of the block around it."""
    start, end = token.start_mark.index, token.end_mark.index
    if token.style in _BLOCK:
        end = _end_of_block(token, text)
        return _block(text[start:end], indent, base), end
    first, *rest = text[start:end].split("\n")
    if rest:
        lines = [line.lstrip(" ") for line in rest]
        below = ((" " * indent + line) if line else "" for line in (*map(_trimmed, lines[:-1]), lines[-1]))
        return "\n".join((_trimmed(first), *below)), end
    return (_quoted(token.value, first) if token.style else first), end


def keeps(token: Any, text: str) -> bool:
    """Whether the empty lines behind a block scalar are part of its value."""
    if token.style not in _BLOCK:
        return False
    header = text[token.start_mark.index : token.end_mark.index].partition("\n")[0]
    return "+" in header.partition("#")[0]


def header_comment(token: Any, text: str) -> str:
    """The comment on the line that a block scalar begins with; empty where there is none."""
    header = text[token.start_mark.index : token.end_mark.index].partition("\n")[0] if token.style in _BLOCK else ""
    return header[header.index("#") :].rstrip() if "#" in header else ""


def _quoted(value: str, source: str) -> str:
    """A value of one line that stands in quotes: without them where every reader takes it for text then, and in double
    ones where it needs no escape."""
    if is_plain(value):
        return value
    return source if source[0] == '"' or '"' in value or "\\" in value else f'"{value}"'


def _trimmed(line: str) -> str:
    """Without blanks at its end, which no value holds: only an escape makes them part of it."""
    short = line.rstrip(" ")
    return line if short.endswith("\\") else short


def _end_of_block(token: Any, text: str) -> int:
    """Where a block scalar ends: before the line end that closes it, or where its value holds that, behind it."""
    start: int = token.start_mark.index
    end: int = token.end_mark.index
    if keeps(token, text):
        return end if text[start:end].rpartition("\n")[2].strip(" ") else text.rfind("\n", start, end) + 1
    lines = text[start:end].split("\n")
    while len(lines) > 1 and not lines[-1].strip(" "):
        lines.pop()
    return start + len("\n".join(lines))


def _block(source: str, indent: int, base: int) -> str:
    header, *lines = source.split("\n")
    found = _HEADER.match(header)
    assert found is not None
    style, sign, digit, late = found.groups()
    comment = header[found.end() :].strip()
    if digit:
        had = base + int(digit)
    else:
        had = next((len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")), 0)
    head = style + (str(2) if digit else "") + sign + late + (f"  {comment}" if comment else "")
    return "\n".join((head, *(" " * indent + line[had:] if line[had:] else "" for line in lines)))
