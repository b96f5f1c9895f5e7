"""From a place in an expression to its place in the file."""

from __future__ import annotations

from better_compute.domain.problems import Source
from fleetctl.desired import Check
from fleetctl.files import Map


def within(check: Check, line: int, column: int) -> Source:
    """Where this character of the expression stands; the expression itself where escapes or an alias hide it. Line and
    column count from 1."""
    written = check.place.value()
    if isinstance(written, Map) and "expr" in written:
        before = check.expr.split("\n")[: line - 1]
        index = min(sum(len(each) + 1 for each in before) + column - 1, len(check.expr) - 1)
        offset = _offset(written.lines.text, written.offset("expr"), check.expr[: index + 1])
        if offset is not None:
            return Source(check.place.document.file, *written.lines.place(offset))
    return check.place.source("expr")


def _offset(text: str, start: int, expr: str) -> int | None:
    """Where the last character of `expr` stands in a scalar that begins with it. However YAML breaks a scalar into
    lines, its characters stand in the file in their order, with other blanks between them. None where they do not."""
    style = text[start]
    escape = {"'": "'", '"': "\\"}.get(style)
    at = text.find("\n", start) if style in "|>" else start + (escape is not None)
    found = None
    for character in "".join(expr.split()):
        while text[at : at + 1].isspace():
            at += 1
        if escape is not None and text[at : at + 2] == escape + character and (escape != "'" or character == "'"):
            at += 1
        if text[at : at + 1] != character:
            return None
        found, at = at, at + 1
    return found
