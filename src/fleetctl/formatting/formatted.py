"""A formatted text, and the proof that it says what it said before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from typing import Any

import yaml
from yaml.cyaml import CBaseLoader
from yaml.events import ScalarEvent

from fleetctl.files.scalars import ScalarError, resolve
from fleetctl.files.text import to_text
from fleetctl.formatting import scalars
from fleetctl.formatting.layout import lay_out


class UnsafeError(Exception):
    """A text that would not say the same once it is formatted: `what` would differ, first in this `line` of it."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what} would differ")
        self.line, self.what = line, what


def format_bytes(data: bytes, file: str) -> bytes:
    """A file as it is to be: UTF-8 without a byte order mark, lines that end with a line feed, canonical layout. JSON,
    which has formatters of its own, stays as it is. Raises FilesError for bytes that are no text, UnsafeError, and
    YAMLError where the text is no YAML."""
    text = to_text(data, file)
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return data
    return format_text(text).encode()


def format_text(text: str) -> str:
    """The text in canonical form. Raises UnsafeError, and YAMLError where it is no YAML."""
    made = lay_out(text)
    if made == text:
        return text
    for said, what in ((_events, "a value"), (_comments, "a comment")):
        if line := _differing(said(text), said(made)):
            raise UnsafeError(line, what)
    return made


_Said = Iterator[tuple[int, Any]]
"""What a text says, each with the line that says it."""


def _differing(before: _Said, after: _Said) -> int:
    """The first line of a text that says something else than its formatted form; 0 where none does."""
    line = 1
    for was, now in zip_longest(before, _until_broken(after)):
        line = was[0] if was else line
        if was is None or now is None or was[1] != now[1]:
            return line
    return 0


def _until_broken(said: _Said) -> _Said:
    with suppress(yaml.YAMLError):
        yield from said


def _events(text: str) -> _Said:
    """Documents, maps, lists, values, anchors and aliases; not where, nor in which quotes."""
    event: Any
    for event in yaml.parse(text, CBaseLoader):
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        said = type(event), anchor, tag, getattr(event, "version", None), _value(event)
        yield event.start_mark.line + 1, said


def _value(event: Any) -> tuple[str, Any]:
    """The type of a scalar is part of its value: 1, 1.0 and true are equal in Python."""
    if not isinstance(event, ScalarEvent):
        return "", None
    if event.style:
        return "str", event.value
    try:
        return type(resolve(event.value)).__name__, event.value
    except ScalarError:
        return "refused", event.value


def _comments(text: str) -> _Said:
    """Every comment, in order, and nothing else."""
    end, line = 0, 1
    token: Any
    for token in yaml.scan(text, CBaseLoader):
        yield from _between(text, end, token.start_mark.index, line)
        if token.end_mark.index > end:
            end, line = token.end_mark.index, token.end_mark.line + 1
        if comment := scalars.header_comment(token, text):
            yield token.start_mark.line + 1, comment
    yield from _between(text, end, len(text), line)


def _between(text: str, start: int, end: int, first: int) -> _Said:
    for number, line in enumerate(text[start:end].split("\n") if start < end else (), first):
        if comment := line.strip():
            yield number, comment
