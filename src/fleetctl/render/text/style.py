"""Colours and columns of terminal output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fleetctl.outline.shape import Sentence, Tone

_RESET = "\x1b[0m"
_CODES: Final = {"strong": "1", "quiet": "2", "bad": "31", "good": "32", "notice": "33"}
_COMMAND = re.compile(r"^(?P<lead>\s*(?:\x1b\[\d+m)?\s*):(?=:)|#(?=#\w*\[)")


@dataclass(frozen=True, slots=True)
class Style:
    """Whether in colour, and how wide the window is. Text is escaped before it is coloured."""

    colour: bool = False
    window: int | None = None

    def toned(self, tone: Tone, text: str) -> str:
        return f"\x1b[{_CODES[tone]}m{text}{_RESET}" if self.colour and text and tone != "plain" else text

    def sentence(self, sentence: Sentence) -> str:
        return "".join(self.toned(words.tone, words.text) for words in sentence)


def inert(line: str) -> str:
    """The line with nothing in it that a build's log takes for a command: `::error::` at its beginning, `##[error]`."""
    if "::" not in line and "##" not in line:
        return line
    return _COMMAND.sub(lambda m: f"{m['lead']}\\x3a" if m["lead"] is not None else "\\x23", line)
