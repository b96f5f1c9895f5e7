"""A formatted text, and the proof that it says what it said before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml
from yaml.cyaml import CBaseLoader
from yaml.events import ScalarEvent
from yaml.tokens import ScalarToken

from fleetctl.files.scalars import ScalarError, resolve
from fleetctl.files.text import to_text
from fleetctl.formatting import scalars
from fleetctl.formatting.layout import lay_out


class UnsafeError(Exception):
    """A text that would not say the same once it is formatted; the message says what would differ."""


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
    try:
        if [*_events(made)] != [*_events(text)]:
            raise UnsafeError("its values")
    except yaml.YAMLError as error:
        raise UnsafeError("its values") from error
    if [*_comments(made)] != [*_comments(text)]:
        raise UnsafeError("its comments")
    return made


def _events(text: str) -> Iterator[tuple[Any, ...]]:
    """What a text says: documents, maps, lists, values, anchors and aliases; not where, nor in which quotes."""
    for event in yaml.parse(text, CBaseLoader):
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        yield type(event), anchor, tag, getattr(event, "version", None), _value(event)


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


def _comments(text: str) -> Iterator[str]:
    """Every comment, in order, and nothing else."""
    end = 0
    token: Any
    for token in yaml.scan(text, CBaseLoader):
        yield from _between(text, end, token.start_mark.index)
        end = max(end, token.end_mark.index)
        if isinstance(token, ScalarToken) and (comment := scalars.header_comment(token, text)):
            yield comment
    yield from _between(text, end, len(text))


def _between(text: str, start: int, end: int) -> Iterator[str]:
    for line in text[start:end].split("\n") if start < end else ():
        if comment := line.strip():
            yield comment
