"""What views are made of."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class View(Struct, rename="camel", gc=False): ...


class Page(View, Generic[T]):
    """A page of a list. `sequence` is the acting tenant's last event when the page was read."""

    items: list[T]
    next_cursor: str | None
    sequence: int
