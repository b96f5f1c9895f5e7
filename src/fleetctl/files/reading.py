"""What the parts of the reader share while one file is read: its text, the problems found, the place in the tree."""

from __future__ import annotations

import re
from collections.abc import Sequence

from better_compute.domain.problems import INVALID_INPUT, Problem, Source
from fleetctl.files.document import Lines, Map, Seq
from fleetctl.files.scalars import Scalars, clip

MAX_DEPTH = 64
"""Maps and lists inside one another."""
MAX_PROBLEMS = 100
"""After so many the rest of a file is not read."""

_NO_MORE = re.compile(r"[ ]*+(?:(?<=[ ])#[^\n]*+)?\n")
_MARKER = re.compile(r"(?:---|\.\.\.)(?=[ \t\n])")


class UnreadableError(Exception):
    """The rest of the file cannot be read; the problems of the reading say why."""


class Reading:
    """One file while it is read.

    `trail` has one step for each open map and list: the key or index that is being read. `known` holds the plain keys
    met so far that are strings.
    """

    def __init__(self, text: str, file: str, scalars: Scalars) -> None:
        # Every line ends with a line feed from here on; a block scalar must know whether the last one was written.
        self.unended = not text.endswith("\n")
        self.text = f"{text}\n" if self.unended else text
        self.file = file
        self.scalars = scalars
        self.lines = Lines(self.text)
        self.known: dict[str, str] = {}
        self.trail: list[str | int | None] = []
        self._problems: dict[int, Problem] = {}

    @property
    def problems(self) -> list[Problem]:
        """Those found so far, in the order of the file."""
        return [self._problems[offset] for offset in sorted(self._problems)]

    def report(self, offset: int, rule: str, message: str, hint: str) -> None:
        """Note a problem at `offset`, unless there is one already; reading goes on until there are too many."""
        source = Source(self.file, *self.lines.place(min(offset, len(self.text) - 1)))
        self._problems.setdefault(offset, Problem(INVALID_INPUT, rule, message, spell(self.trail), hint, source=source))
        if len(self._problems) >= MAX_PROBLEMS:
            raise UnreadableError

    def failure(self, offset: int, rule: str, message: str, hint: str) -> UnreadableError:
        """Note a problem behind which nothing in this file can be trusted; the caller raises what it gets."""
        self.report(offset, rule, message, hint)
        return UnreadableError()

    def tab(self, offset: int) -> UnreadableError:
        """Refuse the tab at `offset`, which is in no value and no comment."""
        return self.failure(offset, "yaml.tab", "a tab outside a value: it cannot indent or separate", "use spaces")

    def unexpected(self, offset: int) -> UnreadableError:
        """Refuse what stands at `offset` where a value should begin."""
        character = self.at(offset)
        if character == "\t":
            return self.tab(offset)
        if character in ("", "\n"):
            return self.failure(offset, "yaml.syntax", "a value is missing here", "write it, or remove what expects it")
        hint = "quote the value" if character not in ",]}" else "look for a bracket or comma too many"
        if character in "-?" and self.at(offset + 1) == "\t":
            return self.tab(offset + 1)
        if character in "-?" and self.at(offset + 1) in (" ", "\n"):
            hint = "begin a list on a line of its own, or quote the value"
        return self.failure(offset, "yaml.syntax", f"a value cannot begin with {character}", hint)

    def at(self, offset: int) -> str:
        """The character at `offset`; empty behind the last one."""
        return self.text[offset : offset + 1]

    def match(self, pattern: re.Pattern[str], offset: int) -> re.Match[str]:
        """The match of a pattern that matches at every offset (because it matches nothing, too)."""
        found = pattern.match(self.text, offset)
        assert found is not None
        return found

    def line_of(self, offset: int) -> int:
        return self.lines.place(offset)[0]

    def open_map(self, start: int) -> Map:
        """A new map inside what is open; the caller takes its step off the trail when it is read."""
        new = Map()
        new.at, new.lines, new.start = [], self.lines, start
        self._enter(start)
        return new

    def open_seq(self, start: int) -> Seq:
        """A new list, like `open_map`."""
        new = Seq()
        new.at, new.lines, new.start = [], self.lines, start
        self._enter(start)
        return new

    def _enter(self, start: int) -> None:
        if len(self.trail) >= MAX_DEPTH:
            message = f"maps and lists are nested more than {MAX_DEPTH} deep"
            raise self.failure(start, "yaml.nesting", message, "flatten it")
        self.trail.append(None)

    def ends(self, offset: int) -> bool:
        """Whether a document ends at this start of a line: a marker (`---`, `...`) or the end of the file."""
        return offset >= len(self.text) or self.marker(offset) is not None

    def marker(self, offset: int) -> str | None:
        """The document marker at `offset`, if `offset` begins a line and holds one."""
        if offset and self.text[offset - 1] != "\n":
            return None
        found = _MARKER.match(self.text, offset)
        return found[0] if found else None

    def rest_is_blank(self, offset: int) -> int | None:
        """The start of the next line when nothing but a comment follows on this one, else None."""
        found = _NO_MORE.match(self.text, offset)
        return found.end() if found else None

    def end_of_line(self, offset: int, start: int) -> int:
        """The start of the next line, behind a value from `start` to `offset` that nothing but a comment may follow."""
        if (following := self.rest_is_blank(offset)) is not None:
            return following
        while self.text[offset] == " ":
            offset += 1
        character = self.text[offset]
        if character == "\t":
            raise self.tab(offset)
        if character == ":":
            raise self._second_colon(offset, start)
        if character == "#":
            message, hint = "a comment with no space before its #", "put a space before the #"
        else:
            rest = self.text[offset : self.text.index("\n", offset)]
            message, hint = f"the value is complete before {clip(rest, 20)}", "quote the whole value"
        raise self.failure(offset, "yaml.syntax", message, hint)

    def _second_colon(self, offset: int, start: int) -> UnreadableError:
        if self.at(offset + 1) == "\t":
            return self.tab(offset + 1)
        first, hint = self.line_of(start), "quote the value, or begin the map on the next line"
        if first == self.line_of(offset):
            return self.failure(offset, "yaml.syntax", "a second key and colon on one line", hint)
        message = f"this line is deeper than the key above it and so continues the value of line {first}"
        return self.failure(offset, "yaml.syntax", message, "give the keys of one map the same indentation")


def spell(path: Sequence[str | int | None]) -> str:
    """A path as problems name it: `pools[0].offers[2].quota.gpu`."""
    words = (f"[{step}]" if isinstance(step, int) else f".{clip(step)}" for step in path if step is not None)
    return "".join(words).removeprefix(".")
