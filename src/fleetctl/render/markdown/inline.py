"""Text on one line of markdown. What files and servers had a part in stands in code, where nothing acts: no mention,
no link, no image, no HTML."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from fleetctl.outline.shape import Sentence, Words

_RUN = re.compile("`+")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_LONGEST = 100
_LONGEST_MARK = 120
_EMPHASIS: Final = {"bad", "notice", "strong"}


def fence(texts: list[str]) -> str:
    """A fence that none of the texts closes."""
    return "`" * max(3, 1 + max((_longest_run(text) for text in texts), default=0))


def code(text: str) -> str:
    """A code span, whatever the text holds."""
    if not text:
        return "(empty)"
    ticks = "`" * (1 + _longest_run(text))
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def cell(text: str) -> str:
    """A code span in a table: cells end at every `|`, also in code."""
    return code(text.replace("|", "\\x7c"))


def own(text: str) -> str:
    """The tool's own words."""
    return _MARKUP.sub(r"\\\1", text)


def cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def sentence(parts: Sentence) -> str:
    """A sentence of the head: bounded, and bold where it is alarming."""
    return "".join(map(_words, parts))


def marker(kind: str, fleet: str | None) -> str:
    """The line by which a later comment finds this one: a comment of HTML that no name ends, and that differs where
    names do."""
    name = quote(fleet or "", safe="", errors="backslashreplace")
    if len(name) > _LONGEST_MARK:
        name = f"{name[:_LONGEST_MARK]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return f"<!-- fleetctl:{kind}{f' {name}' if name else ''} -->"


def _words(words: Words) -> str:
    if words.foreign:
        return code(cut(words.text))
    text = own(words.text)
    body = text.strip()
    if words.tone not in _EMPHASIS or not body[:1].isalnum():
        return text
    return text.replace(body, f"**{body}**", 1)


def _longest_run(text: str) -> int:
    return max(map(len, _RUN.findall(text)), default=0) if "`" in text else 0
