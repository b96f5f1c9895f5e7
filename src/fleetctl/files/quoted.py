"""Scalars in quotes: single, where only the quote is doubled, and double, with escapes."""

from __future__ import annotations

import re

from fleetctl.files.reading import Reading
from fleetctl.files.scalars import clip
from fleetctl.files.text import CONTROL

_BODY = {
    '"': re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL),
    "'": re.compile(r"'([^']*+(?:''[^']*+)*+)'"),
}
_LINE_START = re.compile(r"\n([ ]*+)(?=[^ \n])")
# Blanks around a line end are not part of the value; one line end is a space, each further one a line feed. Other
# blanks are taken in one piece, so that a long run of them is not searched again from each of its characters.
_FOLD = r"[ \t]*+\n(?P<empty>(?:[ \t]*+\n)*+)[ \t]*+|[ \t]++"
_FOLDED = re.compile(_FOLD)
_SPECIAL = re.compile(
    r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8}))"
    r"|\\\n(?P<kept>(?:[ \t]*+\n)*+)[ \t]*+"
    r"|\\(?P<letter>.)"
    r"|" + _FOLD
)
_LETTERS = dict(zip('0abt\tnvfre "/\\N_LP', '\0\a\b\t\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True))


def quoted(r: Reading, pos: int, indent: int) -> tuple[str, int]:
    """The value of the quoted scalar at `pos`, and where it ends; its further lines are deeper than `indent`."""
    quote = r.text[pos]
    found = _BODY[quote].match(r.text, pos)
    if found is None:
        raise r.failure(pos, "yaml.syntax", f"the quote {quote} opened here is never closed", "close it")
    body = found[1]
    if "\n" in body:
        _check_lines(r, pos, found.end(), indent)
    if quote == "'":
        value = body.replace("''", "'") if "\n" not in body else _single(r, body, pos + 1)
    else:
        value = body if "\\" not in body and "\n" not in body else _double(r, body, pos + 1)
    return value, found.end()


def _check_lines(r: Reading, pos: int, end: int, indent: int) -> None:
    for line in _LINE_START.finditer(r.text, pos, end):
        if r.text[line.end()] == "\t":
            raise r.tab(line.end())
        if len(line[1]) <= indent or r.marker(line.end()):
            message = f"the quote {r.text[pos]} opened here is not closed before line {r.line_of(line.end())}"
            raise r.failure(
                pos, "yaml.syntax", f"{message}, which is not indented", "close it, or indent the lines it goes on"
            )


def _single(r: Reading, body: str, base: int) -> str:
    return _FOLDED.sub(lambda fold: _fold(r, fold, base), body).replace("''", "'")


def _fold(r: Reading, fold: re.Match[str], base: int) -> str:
    if fold["empty"] is None:
        return fold[0]
    if (tab := fold[0].find("\t")) >= 0:
        raise r.tab(base + fold.start() + tab)
    return "\n" * fold["empty"].count("\n") or " "


def _double(r: Reading, body: str, base: int) -> str:
    def written(found: re.Match[str]) -> str:
        if found[0][0] != "\\":
            return _fold(r, found, base)
        if found["kept"] is not None:
            if (tab := found[0].find("\t")) >= 0:
                raise r.tab(base + found.start() + tab)
            return "\n" * found["kept"].count("\n")
        return _escaped(r, found, base + found.start())

    return _SPECIAL.sub(written, body)


def _escaped(r: Reading, found: re.Match[str], at: int) -> str:
    letter = found["letter"]
    if letter is not None and letter not in _LETTERS:
        hint = "write single quotes, where a backslash is itself, or double the backslash"
        r.report(at, "yaml.syntax", f"{clip(found[0])} is not an escape", hint)
        return ""
    value = _LETTERS[letter] if letter is not None else _coded(found)
    if value is None or CONTROL.search(value):
        what = "no character" if value is None or "\ud800" <= value <= "\udfff" else "a control character"
        hint = "only tab and line ends are allowed as controls"
        r.report(at, "yaml.control", f"the escape {found[0]} writes {what}", hint)
        return ""
    return value


def _coded(found: re.Match[str]) -> str | None:
    """The character of a numeric escape; JSON writes those beyond U+FFFF as a pair. None beyond U+10FFFF."""
    if found["high"]:
        return chr(0x10000 + ((int(found["high"], 16) & 0x3FF) << 10) + (int(found["low"], 16) & 0x3FF))
    code = int(found["x"] or found["u"] or found["U"], 16)
    return chr(code) if code <= 0x10FFFF else None
