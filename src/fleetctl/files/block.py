"""Block context: maps and lists by indentation.

Nearly every line of a fleet is `key: value`, `- key: value` or `key:`. `_LINE` recognises these whole, in one match;
what it does not, is read node by node. Both ways lead to the same value (a test holds them together).

A method that reads a node returns its value, the offset where it stands and the match of the first line behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fleetctl.files.document import Map
from fleetctl.files.flow import Flow
from fleetctl.files.literal import block_scalar
from fleetctl.files.nodes import Nodes
from fleetctl.files.plain import PLAIN_LINE, plain
from fleetctl.files.reading import UnreadableError
from fleetctl.files.scalars import ScalarError, clip

_Line = re.Match[str]
_Node = tuple[Any, int, _Line]

# Blank and comment lines, then: 1 indentation, 2 dash with the spaces behind it, 3 key, 4 value (plain, or in quotes
# without escapes), 5 the line's end. Without 5 the line was not read whole, and 4 is empty.
_WORDS = r"[^\n\t: ]*+(?:(?::(?![ \n\t])|[ ]++(?![#\n:\t]))[^\n\t: ]*+)*+"
_PLAIN = rf"""(?:[^\s\-?:,\[\]{{}}#&*!|>'"%@`]|-(?=[^\s\-])){_WORDS}"""
_QUOTED = r""""[^"\\\n\t]*+"|'[^'\n\t]*+'"""
_LINE = re.compile(
    r"(?:[ ]*+(?:#[^\n]*+)?\n)*+([ ]*+)(-(?=[ \n])[ ]*+)?(?:([A-Za-z0-9_][A-Za-z0-9_./$-]*+):(?=[ \n]))?"
    rf"(?:[ ]*+({_PLAIN}|{_QUOTED})?[ ]*+(?:(?<=[ ])#[^\n]*+)?(\n))?"
)
_line_at: Callable[[str, int], _Line] = _LINE.match  # type: ignore[assignment]  # it matches everywhere
_KEY = re.compile(
    r"(?:[&!][^ \t\n]*+[ ]++)*+"
    rf"""(?:"(?:[^"\\\n]|\\[^\n])*+"|'(?:[^'\n]|'')*+'|\*[A-Za-z0-9_-]++|{PLAIN_LINE})[ ]*+:(?=[ \n])"""
    r"|\?(?=[ \n])"
)
_TAB_FIRST = re.compile(r"(?:[^\n\t:]*+:)?[ ]*+(?=\t)")
_CLOSE_COLON = re.compile(r"[^ \t\n:]++:(?=[^ \t\n])")


class Block:
    """Reads nodes in block context."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._flow = Flow(nodes)
        self._r = nodes.r

    def at_line(self, pos: int) -> _Node:
        """The root node of a document that begins with the line at `pos`."""
        return self._below(_line_at(self._r.text, pos), -1, pos, in_map=False)

    def behind(self, pos: int) -> _Node:
        """The root node of a document that begins behind its marker, which ends at `pos`."""
        return self._node(pos, -1, in_map=False)

    def _map(self, line: _Line, indent: int, start: int) -> _Node:
        """The map whose first key stands on `line`, in column `indent` (from 0)."""
        r = self._r
        text, known, scalars = r.text, r.known, r.scalars
        out = r.open_map(start)
        at = out.at
        while True:
            _, _, key, value, whole = line.groups()
            if key is None:
                if (odd := self._odd_entry(line, indent, out)) is None:
                    break
                line = odd
            elif (
                value is None
                or whole is None
                or (name := known.get(key)) is None
                or name in out
                or len((following := _line_at(text, line.end()))[1]) > indent
            ):
                line = self._entry(line, indent, out)
            else:
                value_at = line.start(4)
                try:
                    out[name] = scalars[value]
                except ScalarError:
                    r.trail[-1] = name
                    out[name] = self._nodes.value(value, value_at)
                at += (line.start(3), value_at)
                line = following
            if line[2] is not None or len(line[1]) != indent:
                break
        r.trail.pop()
        return out, start, line

    def _seq(self, line: _Line, indent: int, start: int) -> _Node:
        """The list whose first dash stands on `line`, in column `indent` (from 0)."""
        r = self._r
        out = r.open_seq(start)
        while True:
            r.trail[-1] = len(out)
            _, dash, key, value, whole = line.groups()
            if key is not None:
                item, at, line = self._map(line, indent + len(dash), line.start(3))
            elif whole is None or value is None or len((following := _line_at(r.text, line.end()))[1]) > indent:
                item, at, line = self._indented(line.end(1), indent, in_map=False)
            else:
                at = line.start(4)
                item = self._nodes.value(value, at)
                line = following
            out.append(item)
            out.at.append(at)
            if line[2] is None or len(line[1]) != indent:
                break
        r.trail.pop()
        return out, start, line

    def _entry(self, line: _Line, indent: int, out: Map) -> _Line:
        """The entry of a line with a usual key, when the value is not usual or may go on below, or the key is new."""
        key_at = line.start(3)
        self._r.trail[-1] = key = self._nodes.plain_key(line[3], key_at)
        if line[4] is None and line[5] is not None:
            after = _line_at(self._r.text, line.end())
            value, value_at, after = self._below(after, indent, line.end(3) + 1, in_map=True)
        else:
            value, value_at, after = self._node(line.end(3) + 1, indent, in_map=True)
        self._nodes.put(out, key, key_at, value, value_at)
        return after

    def _odd_entry(self, line: _Line, indent: int, out: Map) -> _Line | None:
        """The entry of a line with an unusual key: in quotes, with blanks, by alias, after `?`, or `<<`.

        None when the document ends at this line.
        """
        r, pos = self._r, line.end(1)
        if r.ends(pos):
            return None
        if _KEY.match(r.text, pos) is None:
            raise self._no_entry(pos)
        if r.text[pos] == "?" and r.text[pos + 1] in " \n":
            return self._explicit_entry(pos, indent, out)
        anchor, pos = self._nodes.properties(pos)
        if r.text[pos] in "\"'*":
            value, end = self._flow.inline(pos, indent)
            key = self._nodes.string_key(value, r.text[pos:end], pos)
        else:
            text, end = plain(r, pos, indent)
            key = self._nodes.plain_key(text, pos)
        if anchor is not None:
            self._nodes.anchors.define(anchor, key)
        colon = r.text.index(":", end)
        if "\t" in r.text[end:colon]:
            raise r.tab(r.text.index("\t", end))
        r.trail[-1] = key
        value, value_at, after = self._node(colon + 1, indent, in_map=True)
        self._nodes.add(out, key, r.text[pos:end], pos, value, value_at)
        return after

    def _explicit_entry(self, pos: int, indent: int, out: Map) -> _Line:
        """The entry `? key` with `: value` on a line below it."""
        r = self._r
        key, key_at, line = self._indented(pos, indent, in_map=True)
        name = self._nodes.string_key(key, "", key_at)
        r.trail[-1] = name
        value, value_at, colon = None, key_at, line.end(1)
        if len(line[1]) == indent and r.at(colon) == ":" and r.at(colon + 1) in (" ", "\n"):
            value, value_at, line = self._indented(colon, indent, in_map=True)
        written = r.text[key_at : key_at + len(key)] if isinstance(key, str) else ""
        self._nodes.add(out, name, written, key_at, value, value_at)
        return line

    def _no_entry(self, pos: int) -> UnreadableError:
        """Refuse a line of a map that is no entry."""
        r = self._r
        if tab := _TAB_FIRST.match(r.text, pos):
            return r.tab(tab.end())
        if found := _CLOSE_COLON.match(r.text, pos):
            message = f"{clip(found[0])} has no space after its colon, so it is no key"
            return r.failure(pos, "yaml.syntax", message, "put a space after the colon")
        hint = "write a key, a colon and a space; indent the further lines of a value deeper than its key"
        return r.failure(pos, "yaml.syntax", "a key and a colon are expected here", hint)

    def _indented(self, sign: int, indent: int, *, in_map: bool) -> _Node:
        """The node behind the sign (dash, `?` or `:`) in column `indent`; a map or list may begin on the same line."""
        r, pos = self._r, sign + 1
        if (following := r.rest_is_blank(pos)) is not None:
            return self._below(_line_at(r.text, following), indent, pos, in_map=in_map)
        while r.at(pos) == " ":
            pos += 1
        inner, column = _line_at(r.text, pos), indent + pos - sign
        if inner[2] is not None:
            return self._seq(inner, column, pos)
        if _KEY.match(r.text, pos):
            return self._map(inner, column, pos)
        return self._node(pos, indent, in_map=False)

    def _below(self, line: _Line, indent: int, null_at: int, *, in_map: bool) -> _Node:
        """The node on the lines below a key or dash in column `indent`: deeper, or null where they are not.

        The dashes of a list may stand in the column of its key.
        """
        column = len(line[1])
        if column < indent or (column == indent and not (in_map and line[2])):
            return None, null_at, line
        pos = line.end(1)
        if line[2] is not None:
            return self._seq(line, column, pos)
        if line[3] is None and self._r.ends(pos):
            return None, null_at, line
        if line[3] is not None or _KEY.match(self._r.text, pos):
            return self._map(line, column, pos)
        return self._node(pos, indent, in_map=in_map)

    def _node(self, pos: int, indent: int, *, in_map: bool) -> _Node:
        """The node that begins on this line, at or after `pos`, or else below it."""
        r = self._r
        if (following := r.rest_is_blank(pos)) is not None:
            return self._below(_line_at(r.text, following), indent, pos, in_map=in_map)
        while r.text[pos] == " ":
            pos += 1
        character = r.text[pos]
        if character in "&!":
            anchor, pos = self._nodes.properties(pos)
            value, pos, line = self._node(pos, indent, in_map=in_map)
            if anchor is not None:
                self._nodes.anchors.define(anchor, value)
            return value, pos, line
        if character in "|>":
            value, end = block_scalar(r, pos, indent)
            return value, pos, _line_at(self._r.text, end)
        value, end = self._flow.inline(pos, indent)
        return value, pos, _line_at(self._r.text, r.end_of_line(end, pos))
