"""What the parts of the reader share while one file is read: its text, the problems found, the place in the tree."""

from __future__ import annotations

from collections.abc import Sequence

from better_compute.domain.problems import INVALID_INPUT, Problem, Source
from fleetctl.files.document import Lines, Map, Seq
from fleetctl.files.scalars import Scalars, clip

MAX_DEPTH = 64
"""Maps and lists inside one another."""
MAX_PROBLEMS = 100
"""After so many the rest of a file is not read."""


class UnreadableError(Exception):
    """The rest of the file cannot be read; the problems of the reading say why."""


class Reading:
    """One file while it is read.

    `trail` has one step for each open map and list: the key or index that is being read. `known` holds the plain keys
    met so far that are strings.
    """

    def __init__(self, text: str, file: str, scalars: Scalars) -> None:
        self.text = text
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
        source = Source(self.file, *self.lines.place(min(offset, max(len(self.text) - 1, 0))))
        self._problems.setdefault(offset, Problem(INVALID_INPUT, rule, message, spell(self.trail), hint, source=source))
        if len(self._problems) >= MAX_PROBLEMS:
            raise UnreadableError

    def failure(self, offset: int, rule: str, message: str, hint: str) -> UnreadableError:
        """Note a problem behind which nothing in this file can be trusted; the caller raises what it gets."""
        self.report(offset, rule, message, hint)
        return UnreadableError()

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


def spell(path: Sequence[str | int | None]) -> str:
    """A path as problems name it: `pools[0].offers[2].quota.gpu`."""
    words = (f"[{step}]" if isinstance(step, int) else f".{clip(step)}" for step in path if step is not None)
    return "".join(words).removeprefix(".")
