"""Documents written as YAML: what is read back is to the type what was written, by this reader and by others'."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from better_compute.domain.escape import LOG_COMMAND, is_seen
from fleetctl.files.scalars import is_plain

_WIDTH = 100
_BLOCKS = 3
"""Levels that are always written line by line: a document, its lists, and their entries."""
_LONGEST_KEY = 800
"""libyaml looks for the colon of a plain `key: value` within 1024 characters."""


def to_yaml(document: Mapping[str, Any]) -> str:
    """One document, a map with something in it. Maps keep their order; what is deep and short stands on one line."""
    return "".join(f"{line}\n" for line in _block(document, "", 0))


def _block(value: Any, indent: str, depth: int) -> Iterator[str]:
    """The lines of a map or list that is not empty."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            key = scalar(name)
            if len(key) > _LONGEST_KEY:
                yield f"{indent}? {key}"
                key = ""
            yield from _below(f"{indent}{key}:", inner, indent, depth)
        return
    for item in value:
        head = f"{indent}-"
        if _is_leaf(item) or (text := _fitting(item, head, depth)):
            yield f"{head} {scalar(item) if _is_leaf(item) else text}"
            continue
        lines = _block(item, f"{indent}  ", depth + 1)
        yield f"{head} {next(lines)[len(head) + 1 :]}"
        yield from lines


def _below(head: str, value: Any, indent: str, depth: int) -> Iterator[str]:
    """What stands behind and below a key."""
    if _is_leaf(value):
        yield f"{head} {scalar(value)}"
    elif text := _fitting(value, head, depth):
        yield f"{head} {text}"
    else:
        yield head
        yield from _block(value, f"{indent}  ", depth + 1)


def _is_leaf(value: Any) -> bool:
    return not (isinstance(value, dict | list | tuple | Mapping) and value)


def _fitting(value: Any, head: str, depth: int) -> str | None:
    """A map or list on the line of `head`, where it may stand there and has room. Of a list like that of offers, whose
    items hold more than scalars, each has a line."""
    if depth + 1 < _BLOCKS or (isinstance(value, list) and any(map(_holds_more, value))):
        return None
    return _flow(value, _WIDTH - len(head) - 1)


def _holds_more(item: Any) -> bool:
    return isinstance(item, Mapping) and not all(map(_is_leaf, item.values()))


def _flow(value: Any, room: int) -> str | None:
    """A value within `room` characters; what has no room is not looked at any further."""
    if _is_leaf(value):
        leaf = scalar(value)
        return leaf if len(leaf) <= room else None
    parts, left = [], room - 2
    pairs = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
    for name, inner in pairs:
        key = "" if name is None else f"{scalar(name)}: "
        text = _flow(inner, left - len(key))
        if text is None:
            return None
        parts.append(key + text)
        left -= len(key) + len(text) + 2
    joined = ", ".join(parts)
    return f"{{{joined}}}" if isinstance(value, Mapping) else f"[{joined}]"


def scalar(value: Any) -> str:
    """A value that holds no others, wherever it may stand. Raises TypeError for one that no YAML spells."""
    match value:
        case str():
            return _text(value)
        case None | bool() | int():
            return json.dumps(value)
        case float():
            text = json.dumps(value, allow_nan=False)
            return text if "." in text else text.replace("e", ".0e")  # without a dot, it is text in YAML 1.1
        case Mapping():
            return "{}"
        case Sequence():
            return "[]"
    raise TypeError(f"no YAML spells {type(value).__name__}")


@lru_cache(maxsize=4096)
def _text(text: str) -> str:
    """As it is, where every reader takes that for the same text; else in quotes, with an escape for each character that
    is not seen as itself, and where a build's log would take it for a command."""
    if is_plain(text):
        return text
    quoted = LOG_COMMAND.sub(r"\\u0023", json.dumps(text, ensure_ascii=False))
    if quoted.isascii() and quoted.isprintable():
        return quoted
    return "".join(c if is_seen(c) else _escape(c) for c in quoted)


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
