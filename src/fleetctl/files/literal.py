"""Block scalars: literal (`|`) keeps lines, folded (`>`) joins them."""

from __future__ import annotations

import re

from fleetctl.files.reading import Reading

_HEADER = re.compile(r"[|>](?:(?P<first>[1-9])(?P<chomp>[-+]?)|(?P<chomp2>[-+]?)(?P<second>[1-9]?))")
_LEAD = re.compile(r"((?:[ ]*+\n)*+)([ ]*+)")


def block_scalar(r: Reading, pos: int, indent: int) -> tuple[str, int]:
    """The value of the block scalar at `pos`, with lines deeper than `indent`, and the start of the line behind it."""
    header = r.match(_HEADER, pos)
    begin = r.end_of_line(header.end(), pos)
    digit = header["first"] or header["second"]
    width = max(indent, 0) + int(digit) if digit else _detect(r, begin, indent)
    lines, end = _take(r, begin, width)
    text, newlines = _split_end(lines)
    if r.unended and end == len(r.text) and lines:
        newlines -= 1
    joined = "\n".join(text) if r.text[pos] == "|" else _fold(text)
    return joined + _ending(header["chomp"] or header["chomp2"], bool(text), newlines), end


def _detect(r: Reading, begin: int, indent: int) -> int:
    """The indentation of the first line that is not blank; blank lines before it may not be deeper."""
    lead = r.match(_LEAD, begin)
    width = len(lead[2])
    if r.at(lead.end()) == "\t":
        raise r.tab(lead.end())
    deepest = max(len(line) for line in lead[1].split("\n"))
    if width <= indent:
        return max(deepest, indent + 1, 1)
    if deepest > width:
        hint = "indent all lines alike, or say the indentation (|2)"
        raise r.failure(begin, "yaml.syntax", "a blank line here is deeper than the first line of the text", hint)
    return max(width, 1)


def _take(r: Reading, begin: int, width: int) -> tuple[list[str], int]:
    """The lines of the scalar without their indentation, and where the first line after them begins."""
    margin, text, lines = " " * width, r.text, []
    while begin < len(text):
        end = text.index("\n", begin)
        if text.startswith(margin, begin, end):
            lines.append(text[begin + width : end])
        elif text[begin:end].strip(" "):
            break
        else:
            lines.append("")
        begin = end + 1
    return lines, begin


def _split_end(lines: list[str]) -> tuple[list[str], int]:
    """The lines up to the last that is not empty, and how many line ends follow it."""
    count = len(lines)
    while count and not lines[count - 1]:
        count -= 1
    return lines[:count], len(lines) - count + bool(count)


def _ending(chomp: str, text: bool, newlines: int) -> str:
    if chomp == "-":
        return ""
    return "\n" * newlines if chomp == "+" else "\n" * min(newlines, 1) * text


def _fold(lines: list[str]) -> str:
    """Join lines by a space; empty lines are line feeds, and so is what stands around deeper lines."""
    parts: list[str] = []
    breaks, deep = 0, True
    for line in lines:
        if not line:
            breaks += 1
            continue
        deeper = line[0] in " \t"
        if not parts:
            parts.append("\n" * breaks)
        elif deep or deeper:
            parts.append("\n" * (breaks + 1))
        else:
            parts.append("\n" * breaks or " ")
        parts.append(line)
        breaks, deep = 0, deeper
    return "".join(parts)
