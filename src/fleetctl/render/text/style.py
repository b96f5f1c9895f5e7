"""Colours and columns of terminal output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fleetctl.outline.shape import Sentence, Tone

_RESET = "\x1b[0m"
_CODES: Final = {"strong": "1", "quiet": "2", "bad": "31", "good": "32", "notice": "33"}


@dataclass(frozen=True, slots=True)
class Style:
    """Whether in colour, and how wide the window is. Text is escaped before it is coloured."""

    colour: bool = False
    window: int | None = None

    def toned(self, tone: Tone, text: str) -> str:
        return f"\x1b[{_CODES[tone]}m{text}{_RESET}" if self.colour and text and tone != "plain" else text

    def sentence(self, sentence: Sentence) -> str:
        return "".join(self.toned(words.tone, words.text) for words in sentence)
