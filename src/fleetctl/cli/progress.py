"""How far an apply is, told on stderr: one line that is written again and again on a terminal, else a line each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from fleetctl.cli import streams

if TYPE_CHECKING:
    from fleetctl.apply.journal import Outcome

_CLEAR = "\r\x1b[K"
_USUAL = 80
"""Columns of a terminal that does not say how wide it is."""


class Progress:
    """`total` operations, each told when it ends. On a terminal what is done passes by in one line, as wide as the
    window is at that moment; what is not done stays. `verbose`: everything stays, and says all. `is_told`: the result
    is for people too, and says why something failed."""

    def __init__(self, *, verbose: bool = False, is_told: bool = False) -> None:
        self.total = 0
        self._ended = 0
        self._passes_by = sys.stderr.isatty() and not verbose
        self._is_shown, self._is_whole = False, verbose or not is_told

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """What comes next, the result or an error, begins on a line of its own."""
        if self._is_shown:
            streams.say(_CLEAR)

    def tell(self, outcome: Outcome) -> None:
        from fleetctl.render import text  # not at the top: most applies are not there yet
        from fleetctl.report.of_apply import of_outcome

        self._ended += 1
        passes = self._passes_by and outcome.status == "done"
        colour = streams.colours(sys.stderr) and not passes  # a line that is cut must not end inside a sequence
        told = of_outcome(outcome)
        line = text.progress_line(told, self._ended, self.total, whole=self._is_whole, colour=colour)
        if not self._passes_by:
            streams.say(f"{line}\n")
        elif passes:
            streams.say(_CLEAR + line[: (streams.window(sys.stderr) or _USUAL) - 1])
        else:
            streams.say(f"{_CLEAR}{line}\n")
        self._is_shown = passes
