"""What holds for every policy, whatever its fields: JSON that both databases and every reader keep as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from better_compute.domain.escape import CONTROL
from better_compute.domain.policy.paths import below, element
from better_compute.domain.problems import INVALID_INPUT, Problem

LARGEST = 64 * 1024  # bytes of compact JSON
DEEPEST = 32  # levels of objects and lists, the policy itself being the first
INTEGER = 2**53 - 1
# A value takes two bytes at least, so more values than this are more bytes than LARGEST.
_MOST_VALUES = LARGEST // 2
_ENOUGH = 100  # problems; the rest tell nothing new
_BAD_TEXT = re.compile(rf"[{CONTROL}\ud800-\udfff]")
_BAD_COMPACT = re.compile("\\\\[ubf]|[\x7f-\x9f\ud800-\udfff]")  # what bad text may look like in compact JSON
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def check_json(policy: object) -> tuple[list[Problem], str]:
    """The rules `policy.type`, `.depth`, `.size`, `.number` and `.string`, whose problems show no value.

    With them the policy as compact JSON, where it is JSON of the right size and depth; else an empty text.
    """
    if not isinstance(policy, dict):
        return [_problem("type", "policy", "a policy must be a JSON object", "write {} for an empty one")], ""
    if _values_left(policy, 1, _MOST_VALUES) >= 0 and not _BAD_COMPACT.search(text := _compact(policy)):
        return _check_size(text), text
    walk = _Walk()
    walk.value(policy, "policy", 1)
    if any(found.rule != "policy.string" for found in walk.problems):
        return walk.problems, ""
    text = _compact(policy)
    return walk.problems + _check_size(text), text


def _check_size(text: str) -> list[Problem]:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return [_too_large(f"{size}")] if size > LARGEST else []


def _values_left(container: dict[Any, Any] | list[Any], depth: int, left: int) -> int:
    """How many values more may follow; negative where `_Walk` may have something to say, which is rare and slower."""
    left -= len(container)
    if depth > DEEPEST or left < 0:
        return -1
    inner: Iterable[Any] = container
    if isinstance(container, dict):
        if not all(type(key) is str for key in container):
            return -1
        inner = container.values()
    for value in inner:
        kind = type(value)
        if kind is dict or kind is list:
            left = _values_left(value, depth + 1, left)
            if left < 0:
                return -1
        elif kind is int or kind is float:
            if not -INTEGER <= value <= INTEGER:
                return -1
        elif kind is not str and kind is not bool and value is not None:
            return -1
    return left


def _problem(rule: str, path: str, message: str, hint: str = "") -> Problem:
    return Problem(INVALID_INPUT, f"policy.{rule}", message, path, hint)


def _too_large(size: str) -> Problem:
    return _problem("size", "policy", f"a policy is at most {LARGEST} bytes of compact JSON; this one has {size}")


class _Walk:
    """One pass over a value that may be hostile: it stops at the depth, and at the number of values, of a policy."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.left = _MOST_VALUES

    def value(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, str):
            if _BAD_TEXT.search(value):
                self.text(path, "a text")
        elif isinstance(value, dict | list):
            self.container(value, path, depth)
        elif value is None or isinstance(value, bool):
            return
        elif isinstance(value, int | float):
            self.number(value, path)
        else:
            self.problems.append(_problem("type", path, "a policy holds JSON values only", "write a text in quotes"))

    def container(self, value: dict[Any, Any] | list[Any], path: str, depth: int) -> None:
        self.left -= len(value)
        if depth > DEEPEST:
            said = f"a policy is at most {DEEPEST} objects and lists deep"
            self.problems.append(_problem("depth", path, said))
        elif self.left < 0:
            self.problems.append(_too_large("more"))
        elif isinstance(value, dict):
            for key, inner in value.items():
                if self.key(key, path):
                    self.value(inner, below(path, key), depth + 1)
                if len(self.problems) >= _ENOUGH or self.left < 0:
                    return
        else:
            for index, inner in enumerate(value):
                self.value(inner, element(path, index), depth + 1)
                if len(self.problems) >= _ENOUGH or self.left < 0:
                    return

    def key(self, key: object, path: str) -> bool:
        if not isinstance(key, str):
            self.problems.append(_problem("type", path, "the name of a field must be a text", "put it in quotes"))
            return False
        if _BAD_TEXT.search(key):
            self.text(below(path, key), "the name of a field")
        return True

    def text(self, path: str, what: str) -> None:
        said = f"{what} must not hold control characters other than tab and line ends, nor half of a surrogate pair"
        self.problems.append(_problem("string", path, said))

    def number(self, value: int | float, path: str) -> None:
        if -INTEGER <= value <= INTEGER:
            return
        if value != value or value in (float("inf"), float("-inf")):
            self.problems.append(_problem("number", path, "a number must be finite"))
        else:
            said = f"an integer must be from -{INTEGER} to {INTEGER}: beyond, JSON readers disagree about its value"
            self.problems.append(_problem("number", path, said, f"use {INTEGER if value > 0 else -INTEGER}"))
