"""JSON with one place altered: every leaf of it, once each."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each text, number, truth, null, empty list and empty map, and the way to it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not inner or not value:
        yield path, value
    for name, one in inner:
        yield from leaves(one, (*path, name))


def parts(value: Any, path: Path = ()) -> Iterator[Path]:
    """The way to everything in it, to what is no leaf too."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from parts(one, (*path, name))


def with_value(document: Any, path: Path, value: Any) -> Any:
    """A copy with `value` at the end of the way."""
    copy = deepcopy(document)
    holder = copy
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return copy


def without(document: Any, path: Path) -> Any:
    """A copy that ends where the way does."""
    copy = deepcopy(document)
    holder = copy
    for name in path[:-1]:
        holder = holder[name]
    del holder[path[-1]]
    return copy
