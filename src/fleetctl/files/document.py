"""Documents and their values: plain dicts and lists that know where each part was written."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

from better_compute.domain.problems import Source

Position = tuple[int, int]
"""Line and column, both from 1."""

Offsets: TypeAlias = "array[int]"
"""Offsets into a text, as numbers of four bytes: there is more of them than of anything else."""


def offsets(*known: int) -> Offsets:
    return array("I", known)


class Lines:
    """Turns offsets into the text of one file into lines and columns; the table is made when first asked."""

    __slots__ = ("_starts", "file", "text")

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self._starts: list[int] = []

    def place(self, offset: int) -> Position:
        if not self._starts:
            self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


class Map(dict[str, Any]):
    """A map of a document.

    `at` holds two offsets for each key, in the order of the keys: where the key stands and where its value does.
    What came by alias or merge stands where its anchor does. One object may stand at several paths: do not change it.
    """

    __slots__ = ("_order", "at", "lines", "start")

    at: Offsets
    lines: Lines
    start: int
    _order: dict[str, int]

    def offset(self, key: str, *, of_key: bool = False) -> int:
        """Where the value of `key` stands, or the key itself; KeyError when there is no such key."""
        try:
            order = self._order
        except AttributeError:
            order = self._order = {k: i for i, k in enumerate(self)}
        return self.at[2 * order[key] + (not of_key)]

    def having(self, key: str, value: Any, near: str = "") -> Map:
        """The same map with another value at `key`; one that is new stands where `near` does."""
        at = self.at if key in self else self.at + offsets(self.offset(near, of_key=True), self.offset(near))
        made = copy(self)
        made[key], made.at = value, at
        if key not in self:
            del made._order
        return made


class Merged(Map):
    """A map of two that may stand in two files: `homes` holds the text of each key."""

    __slots__ = ("homes",)

    homes: dict[str, Lines]


class Seq(list[Any]):
    """A list of a document; `at` holds the offset of each item. Like a `Map`, it is not to be changed."""

    __slots__ = ("at", "lines", "start")

    at: Offsets
    lines: Lines
    start: int


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: the file (relative to the fleet, forward slashes), its root map and the line it begins on."""

    file: str
    root: Map
    line: int

    @property
    def is_cut(self) -> bool:
        """Whether its file ends inside a line, as one that was cut short does. What is written in flow style has an end
        of its own."""
        text = self.root.lines.text
        return not text.endswith(("\n", "\n...")) and text[self.root.start] != "{"

    def source(self, path: Sequence[str | int], *, key: bool = False) -> Source:
        """Where the value at `path` stands, or its key; of a path that does not exist, its nearest parent that does."""
        node: Any = self.root
        lines, offset = self.root.lines, self.root.start
        for depth, step in enumerate(path, 1):
            if isinstance(node, Map) and step in node:
                name = str(step)
                lines = node.homes[name] if isinstance(node, Merged) else node.lines
                offset = node.offset(name, of_key=key and depth == len(path))
            elif isinstance(node, Seq) and isinstance(step, int) and 0 <= step < len(node):
                lines, offset = node.lines, node.at[step]
            else:
                break
            node = node[step]
        return Source(lines.file, *lines.place(offset))


class Documents(list[Document]):
    """Documents, in the order of file names. `blank`: the files that hold none, or an empty one, with its line."""

    blank: Mapping[str, int] = {}
