"""The one spelling of what is kept as JSON, so that a file that was altered shows."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_NOT_ASCII = re.compile("[^\n -~]")


def canonical_text(value: Any) -> str:
    """JSON in ASCII, keys sorted, two blanks a level, a final newline."""
    return in_ascii(msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()) + "\n"


def in_ascii(text: str) -> str:
    """JSON with every character that is not of ASCII as its escape."""
    return _NOT_ASCII.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    """JSON's escape of one character, in two halves beyond the first plane."""
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
