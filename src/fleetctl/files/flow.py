"""Flow context: `{a: 1}` and `[a, b]`, over one line or several."""

from __future__ import annotations

import re
from typing import Any

from fleetctl.files.document import Map, Seq
from fleetctl.files.nodes import Nodes
from fleetctl.files.plain import plain
from fleetctl.files.quoted import quoted
from fleetctl.files.scalars import clip

# Blanks, line ends and comments between the parts of a flow collection; a document marker ends it.
_GAP = re.compile(r"(?:[ ]|\n(?!(?:---|\.\.\.)[ \t\n])|(?<=[ \n])#[^\n]*+)*+")
_AFTER_COLON = frozenset((*" \t\n,[]{}", ""))
_NO_NODE = frozenset((",", "]", "}", "\n", ""))
_QUOTED = frozenset("\"'[{")
# The usual entry, in one step: a plain key and a plain or simply quoted value, then a comma or the end.
_WORD = r"[A-Za-z0-9_][^ \t\n,\[\]{}:#]*+(?::(?=[^ \t\n,\[\]{}])[^ \t\n,\[\]{}:#]*+)*+"
_SIMPLE = rf"""-?{_WORD}|"[^"\\\n\t]*+"|'[^'\n\t]*+'"""
_PAIR = re.compile(rf"[ ]*+({_WORD}):[ ]++({_SIMPLE})[ ]*+([,}}])")
_ITEM = re.compile(rf"[ ]*+({_SIMPLE})[ ]*+([,\]])")


class Flow:
    """Reads nodes that are neither block collections nor block scalars."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._r = nodes.r

    def inline(self, pos: int, indent: int, *, flow: bool = False) -> tuple[Any, int]:
        """The alias, scalar or flow collection at `pos` and where it ends; `indent` is the column it stands in."""
        character = self._r.at(pos)
        if character == "*":
            return self._nodes.anchors.use(pos)
        if character in ('"', "'"):
            return quoted(self._r, pos, indent)
        if character == "{":
            return self._map(pos)
        if character == "[":
            return self._seq(pos)
        text, end = plain(self._r, pos, indent, flow=flow)
        return self._nodes.value(text, pos), end

    def _map(self, start: int) -> tuple[Map, int]:
        r, pos, separator = self._r, start + 1, ","
        out = r.open_map(start)
        while separator == ",":
            if (pair := _PAIR.match(r.text, pos)) and (key := r.known.get(pair[1])) is not None and key not in out:
                r.trail[-1] = key
                out[key] = self._nodes.value(pair[2], pair.start(2))
                out.at += (pair.start(1), pair.start(2))
                pos, separator = pair.end(), pair[3]
            else:
                pos, separator = self._separator(self._entry(out, self._gap(pos)), start, "}")
        r.trail.pop()
        return out, pos

    def _seq(self, start: int) -> tuple[Seq, int]:
        r, pos, separator = self._r, start + 1, ","
        out = r.open_seq(start)
        while separator == ",":
            r.trail[-1] = len(out)
            if item := _ITEM.match(r.text, pos):
                out.append(self._nodes.value(item[1], item.start(1)))
                out.at.append(item.start(1))
                pos, separator = item.end(), item[2]
            else:
                pos, separator = self._separator(self._item(out, self._gap(pos)), start, "]")
        r.trail.pop()
        return out, pos

    def _gap(self, pos: int) -> int:
        end = self._r.match(_GAP, pos).end()
        if self._r.at(end) == "\t":
            raise self._r.tab(end)
        return end

    def _separator(self, pos: int, start: int, close: str) -> tuple[int, str]:
        """The comma or closing bracket behind an entry, and where the next entry may begin."""
        pos = self._gap(pos)
        character = self._r.at(pos)
        if character in (",", close):
            return pos + 1, character
        if character in ("", "\n"):
            message = f"the bracket {self._r.text[start]} opened here is never closed"
            raise self._r.failure(start, "yaml.syntax", message, f"close it with {close}")
        hint = f"put a comma between entries, close with {close}, or quote the value"
        raise self._r.failure(pos, "yaml.syntax", f"{character} where a comma or {close} should follow", hint)

    def _entry(self, out: Map, pos: int) -> int:
        """One entry of a map, if the map does not end at `pos`; returns where the entry ends."""
        if self._r.at(pos) in ("", "\n", "}"):
            return pos
        key, key_at, end = self._node(self._begin(pos))
        return self._complete(out, key, key_at, end)

    def _item(self, out: Seq, pos: int) -> int:
        """One item of a list, if the list does not end at `pos`; returns where it ends. `[a: 1]` holds a map."""
        r = self._r
        if r.at(pos) in ("", "\n", "]"):
            return pos
        begin = self._begin(pos)
        value, at, end = self._node(begin)
        if begin > pos or self._colon(self._gap(end), at):
            single = r.open_map(at)
            end = self._complete(single, value, at, end)
            r.trail.pop()
            value = single
        out.append(value)
        out.at.append(at)
        return end

    def _begin(self, pos: int) -> int:
        """Where an entry begins: at `pos`, or behind a `?` that announces a key there. It begins with no comma."""
        if self._r.at(pos) == "?" and self._r.at(pos + 1) in _AFTER_COLON:
            return self._gap(pos + 1)
        if self._r.at(pos) == ",":
            raise self._r.unexpected(pos)
        return pos

    def _colon(self, pos: int, key_at: int) -> bool:
        """Whether the colon of a key stands at `pos`: before a blank, or close behind a quote or bracket."""
        if self._r.at(pos) != ":":
            return False
        return self._r.at(pos + 1) in _AFTER_COLON or self._r.at(key_at) in _QUOTED

    def _node(self, pos: int) -> tuple[Any, int, int]:
        """A node, where it stands and where it ends; null where the entry holds none."""
        anchor, pos = self._nodes.properties(pos)
        pos = self._gap(pos)
        value, end = None, pos
        if self._r.at(pos) not in _NO_NODE and not self._colon(pos, pos):
            value, end = self.inline(pos, -1, flow=True)
        if anchor is not None:
            self._nodes.anchors.define(anchor, value)
        return value, pos, end

    def _complete(self, out: Map, key: Any, key_at: int, key_end: int) -> int:
        """Read what follows a key and add both to `out`; returns where the value ends."""
        r = self._r
        written = r.text[key_at:key_end]
        name = self._nodes.string_key(key, written, key_at)
        r.trail[-1] = name
        value, value_at, end = None, key_end, key_end
        after = self._gap(key_end)
        if self._colon(after, key_at):
            value, value_at, end = self._node(self._gap(after + 1))
        elif ":" in written and written[0] not in _QUOTED:
            message = f"{clip(written)} has no space after its colon, so it is one word"
            r.report(key_at, "yaml.syntax", message, "put a space after the colon")
        self._nodes.add(out, name, written, key_at, value, value_at)
        return end
