"""JSON values and when two of them are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any
"""None, bool, int, float, str, a list of Json or a mapping of str to Json."""


def same_value(a: Json, b: Json) -> bool:
    """Equality of JSON: numbers by value (1 is 1.0), true and false are no numbers, maps without order."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_value(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
