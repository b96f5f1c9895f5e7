"""Colours and columns of terminal output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_RESET = "\x1b[0m"
_WIDEST = 48


@dataclass(frozen=True, slots=True)
class Style:
    """How much is shown, and whether in colour. Text is escaped before it is coloured."""

    colour: bool = False
    verbose: bool = False

    def red(self, text: str) -> str:
        return self._sgr("31", text)

    def green(self, text: str) -> str:
        return self._sgr("32", text)

    def yellow(self, text: str) -> str:
        return self._sgr("33", text)

    def bold(self, text: str) -> str:
        return self._sgr("1", text)

    def dim(self, text: str) -> str:
        return self._sgr("2", text)

    def _sgr(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}{_RESET}" if self.colour and text else text


def width(texts: Sequence[str]) -> int:
    """The width of a column; one long name does not push everything off the screen."""
    return max((len(text) for text in texts if len(text) <= _WIDEST), default=0)
