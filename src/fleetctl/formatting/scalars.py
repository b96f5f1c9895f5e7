"""How a scalar is written: with the quotes that it needs, and its further lines at a new indentation."""

from __future__ import annotations

import re
from typing import Any

from yaml.tokens import ScalarToken

from fleetctl.files.scalars import is_plain

_HEADER = re.compile(r"([|>])([+-]?)([1-9]?)([+-]?)")
_BLOCK = ("|", ">")


def written(token: Any, text: str, indent: int, base: int) -> tuple[str, int]:
    """The scalar as it is to be written, its lines behind the first indented by `indent`, and how far of `text` that
    is. `base` is the column in `text` of the block around it."""
    start, end = token.start_mark.index, token.end_mark.index
    if is_block(token):
        return _block(token, text, indent, base)
    first, *rest = text[start:end].split("\n")
    if rest:
        lines = [line.lstrip(" ") for line in rest]
        below = ((" " * indent + line) if line else "" for line in (*map(_trimmed, lines[:-1]), lines[-1]))
        return "\n".join((_trimmed(first), *below)), end
    return (_quoted(token.value, first) if token.style else first), end


def is_block(token: Any) -> bool:
    """Whether a token is a scalar below a line of its own, with `|` or `>` on it."""
    return isinstance(token, ScalarToken) and token.style in _BLOCK


def header_comment(token: Any, text: str) -> str:
    """The comment on the line that a block scalar begins with; empty where there is none."""
    header = text[token.start_mark.index : token.end_mark.index].partition("\n")[0] if is_block(token) else ""
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


def _block(token: Any, text: str, indent: int, base: int) -> tuple[str, int]:
    """A block scalar, and where it ends: before the line end that closes it, or behind, where its value holds that."""
    start: int = token.start_mark.index
    header, *lines = text[start : token.end_mark.index].split("\n")
    found = _HEADER.match(header)
    assert found is not None
    style, sign, digit, late = found.groups()
    sign = sign or late
    had = base + int(digit) if digit else _indentation(lines)
    if token.value and not token.value.endswith("\n"):
        sign = "-"  # the text ends here without a line end; the one that it gets must not become part of the value
    while sign != "+" and lines and not lines[-1][had:] and not lines[-1].strip(" "):
        lines.pop()
    comment = header[found.end() :].strip()
    head = style + (str(2) if digit else "") + sign + (f"  {comment}" if comment else "")
    below = (" " * indent + line[had:] if line[had:] else "" for line in lines)
    return "\n".join((head, *below)), start + len("\n".join((header, *lines)))


def _indentation(lines: list[str]) -> int:
    """That of the first line with text; of blanks alone, none is part of the value."""
    with_text = (len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" "))
    return next(with_text, max(map(len, lines), default=0))
