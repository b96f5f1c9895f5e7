"""What the parts of the reader share while one file is read: its text, the problems found, the place in the tree."""

from __future__ import annotations

from typing import TypeVar

from better_compute.domain.policy import SENSITIVE, is_sensitive_name
from better_compute.domain.problems import INVALID_INPUT, Problem, Source
from fleetctl.files.document import Lines, Map, Seq, offsets
from fleetctl.files.scalars import Scalars, clip

MAX_DEPTH = 64
"""Maps and lists inside one another."""
TOO_DEEP = ("yaml.nesting", f"maps and lists are nested more than {MAX_DEPTH} deep", "flatten it")
MAX_PROBLEMS = 100
"""After so many the rest of a file is not read."""

Nest = TypeVar("Nest", Map, Seq)


class UnreadableError(Exception):
    """The rest of the file cannot be read; the problems of the reading say why."""


class Reading:
    """One file while it is read; `trail` has a step for each open map and list, the key or index that is being read.
    `empty` is the line of the first document that holds nothing, 0 where there is none."""

    def __init__(self, text: str, file: str, scalars: Scalars) -> None:
        self.text, self.file, self.scalars = text, file, scalars
        self.lines = Lines(self.text, file)
        self.trail: list[str | int | None] = []
        self.empty = 0
        self._problems: dict[int, Problem] = {}

    @property
    def problems(self) -> list[Problem]:
        """Those found so far, in the order of the file."""
        return [self._problems[offset] for offset in sorted(self._problems)]

    @property
    def in_secret(self) -> bool:
        """Whether what is read stands below a sensitive name: no message may show anything of it."""
        return any(map(_is_sensitive, self.trail))

    def quote(self, text: str, *, key: bool = False) -> str:
        """A text that is read just now, for a message; a `key` is a secret where it stands below a sensitive name, not
        where it is one."""
        return SENSITIVE if any(map(_is_sensitive, self.trail[:-1] if key else self.trail)) else clip(text)

    def report(self, offset: int, rule: str, message: str, hint: str) -> None:
        """Note a problem at `offset`, unless there is one already; reading goes on until there are too many."""
        source = Source(self.file, *self.lines.place(min(offset, max(len(self.text) - 1, 0))))
        problem = Problem(INVALID_INPUT, rule, message, self._path(), hint, source=source)
        self._problems.setdefault(offset, problem)
        if len(self._problems) >= MAX_PROBLEMS:
            raise UnreadableError

    def _path(self) -> str:
        """The trail in one text, as far as its first sensitive name: what stands below that is a secret, names too."""
        path = ""
        for step in self.trail:
            if isinstance(step, str):
                path += f".{clip(step)}"
                if _is_sensitive(step):
                    break
            elif step is not None:
                path += f"[{step}]"
        return path.removeprefix(".")

    def enter(self, new: Nest, start: int) -> Nest:
        """A new map or list that begins at this offset, inside what is open; whoever reads it takes its step off the
        trail at its end. Raises UnreadableError, after a report, when it is nested too deep."""
        new.at, new.lines, new.start = offsets(), self.lines, start
        if len(self.trail) >= MAX_DEPTH:
            self.report(start, *TOO_DEEP)
            raise UnreadableError
        self.trail.append(None)
        return new


def _is_sensitive(step: str | int | None) -> bool:
    return isinstance(step, str) and is_sensitive_name(step)
