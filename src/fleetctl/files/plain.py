"""Plain scalars: where they end, and how their lines fold."""

from __future__ import annotations

import re

from fleetctl.files.reading import Reading

# A plain scalar is words with blanks between them. A word may hold a colon that no blank follows and, except as its
# first character, a hash. In flow context brackets and commas end it too.
_BLOCK_WORDS = r"[^ \t\n:]*+(?:(?::(?=[^ \t\n])|[ \t]++(?=[^#\n]))[^ \t\n:]*+)*+"
_FLOW_WORDS = r"[^ \t\n:,\[\]{}]*+(?:(?::(?=[^ \t\n,\[\]{}])|[ \t]++(?=[^#\n,\[\]{}]))[^ \t\n:,\[\]{}]*+)*+"
_BLOCK_START = r"""(?:[^ \t\n\-?:,\[\]{}#&*!|>'"%@`]|[-?:](?=[^ \t\n]))"""
_FLOW_START = r"""(?:[^ \t\n\-?:,\[\]{}#&*!|>'"%@`]|[-?:](?=[^ \t\n,\[\]{}]))"""

PLAIN_LINE = _BLOCK_START + _BLOCK_WORDS
"""The first (or only) line of a plain scalar in block context; blanks before a colon are its last characters."""

_FIRST = {False: re.compile(PLAIN_LINE), True: re.compile(_FLOW_START + _FLOW_WORDS)}
_MORE = {False: re.compile(_BLOCK_WORDS), True: re.compile(_FLOW_WORDS)}
_NEXT_LINE = re.compile(r"[ ]*+\n((?:[ ]*+\n)*+)([ ]*+)(?=[^ \n#])")


def plain(r: Reading, pos: int, indent: int, *, flow: bool = False) -> tuple[str, int]:
    """The text of the plain scalar at `pos`, folded, and where it ends.

    Its further lines are those indented deeper than `indent`, the column of the map or list it stands in.
    """
    first = _FIRST[flow].match(r.text, pos)
    if first is None:
        raise r.unexpected(pos)
    words = first[0].rstrip(" \t")
    parts, end = [words], pos + len(words)
    while following := _NEXT_LINE.match(r.text, end):
        begin = following.end()
        if len(following[2]) <= indent or r.marker(begin):
            break
        if r.text[begin] == "\t":
            raise r.tab(begin)
        more = _MORE[flow].match(r.text, begin)
        if more is None or not (words := more[0].rstrip(" \t")):
            break
        parts += ("\n" * following[1].count("\n") or " ", words)
        end = begin + len(words)
    return "".join(parts), end
