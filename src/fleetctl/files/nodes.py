"""What block and flow context share: values and keys of scalars, entries of maps, anchors and tags before a node."""

from __future__ import annotations

import re
from typing import Any

from fleetctl.files.anchors import Anchors
from fleetctl.files.document import Map
from fleetctl.files.reading import Reading
from fleetctl.files.scalars import ScalarError, clip

_MERGE = "<<"
_TAG = re.compile(r"![^ \t\n,\[\]{}]*+")
_QUOTED = frozenset("\"'[{*")


class Nodes:
    """The parts of nodes in one document; its anchors are here."""

    def __init__(self, r: Reading) -> None:
        self.r = r
        self.anchors = Anchors(r)

    def value(self, text: str, at: int) -> Any:
        """What a plain scalar (or one in simple quotes) means; a refused one is reported and reads as null."""
        try:
            return self.r.scalars[text]
        except ScalarError as error:
            self.r.report(at, "yaml.number", error.message, error.hint)
            return None

    def plain_key(self, text: str, at: int) -> str | None:
        """A plain key, or None after a report when it means something else than a string."""
        if (known := self.r.known.get(text)) is not None:
            return known
        try:
            value = self.r.scalars[text]
        except ScalarError:
            value = None
        if isinstance(value, str):
            self.r.known[text] = value
        return self.string_key(value, text, at)

    def string_key(self, value: Any, written: str, at: int) -> str | None:
        """A key from its value, or None after a report when it is not a string."""
        if isinstance(value, str):
            return value
        if written and written[0] not in _QUOTED:
            self.r.report(at, "yaml.key", f"the key {clip(written)} is not a string", f'quote it: "{clip(written)}"')
        else:
            self.r.report(at, "yaml.key", "a key must be a string", "quote it, or quote the value that begins here")
        return None

    def add(self, out: Map, key: str | None, written: str, key_at: int, value: Any, value_at: int) -> None:
        """Add an entry whose key was `written` so, or note what it merges: only a plain `<<` is the merge key."""
        if written == _MERGE:
            self.anchors.merge(out, value, key_at)
            return
        if key == written:
            self.r.known[written] = key
        self.put(out, key, key_at, value, value_at)

    def put(self, out: Map, key: str | None, key_at: int, value: Any, value_at: int) -> None:
        """Add an entry; a key that was refused (None) is left out, one that is there already is reported."""
        if key is None:
            return
        if key in out:
            first = self.r.line_of(out.at[2 * list(out).index(key)])
            message = f'the key "{clip(key)}" stands twice in one map: first on line {first}'
            self.r.report(key_at, "yaml.duplicateKey", message, "keep one of them")
            return
        out[key] = value
        out.at += (key_at, value_at)

    def properties(self, pos: int) -> tuple[str | None, int]:
        """The anchor before a node, if there is one, and where the node (or the line's end) follows.

        A tag is reported and passed over.
        """
        anchor: str | None = None
        while (sign := self.r.at(pos)) in ("&", "!"):
            if sign == "!":
                pos = self._tag(pos)
            elif anchor is None:
                anchor, pos = self.anchors.name(pos)
            else:
                raise self.r.failure(pos, "yaml.alias", "a second anchor on one value", "keep one of them")
            while self.r.at(pos) == " ":
                pos += 1
        if anchor is not None:
            self.anchors.begin(anchor)
            if self.r.at(pos) == "*":
                raise self.r.failure(pos, "yaml.alias", "an alias cannot have an anchor", "use the anchor it names")
        return anchor, pos

    def _tag(self, pos: int) -> int:
        found = self.r.match(_TAG, pos)
        message = f"tags are not read, this is {clip(found[0])}"
        self.r.report(pos, "yaml.tag", message, "remove it; quote a value that is to be a string")
        return found.end()
