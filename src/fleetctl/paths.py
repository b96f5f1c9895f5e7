"""The way to a field of a pool. In steps it has one meaning; as text it is what people read and write, where a name
that holds dots (`gpu.mig`, `1g.10gb`) looks like several. Only this module goes from one to the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

Path = tuple[str, ...]
"""Names as they are: `("quota", "gpu.mig")`. The step behind `offers` is a tenant. Without a step: the whole pool."""

_ROWS = ("quota", "ownerQuota")
"""Below these, all is the name of one row."""
_OFFER = re.compile(r"offers\[([^\]]*)\](?:\.([^.]*)(?:\.(.*))?)?")


@lru_cache(maxsize=4096)
def spelled(path: Path) -> str:
    """In the spelling of fleet files: `offers[acme].quota.gpu.mig`."""
    if path[:1] == ("offers",) and len(path) > 1:
        path = (f"offers[{path[1]}]", *path[2:])
    return ".".join(path)


def written(text: str) -> Path:
    """The steps of a text that somebody wrote, as far as its form tells: in a policy a name ends at each dot. The last
    one is empty where a dot ends the text; what is spelled as an offer of no tenant is one name."""
    if offer := _OFFER.fullmatch(text):
        return ("offers", *(step for step in offer.groups() if step is not None))
    first, dot, rest = text.partition(".")
    if not dot or first == "offers":
        return (text,)
    return (first, rest) if first in _ROWS else tuple(text.split("."))


def read(text: str, within: Any) -> Path:
    """The steps that a text means which leads into a JSON value: of names that hold dots, the ones that are there.
    What leads nowhere is taken for one name, below its first step."""
    first, dot, rest = text.partition(".")
    if first not in _ROWS and (found := _found(text, within)):
        return found
    return (first, rest) if dot else (text,)


def outer(path: Path) -> Iterator[Path]:
    """The paths that a path is below, the whole pool left out."""
    return (path[:end] for end in range(1, len(path)))


def _found(text: str, value: Any) -> Path | None:
    """No part of the value is looked at twice: what is left of the text depends on the part alone."""
    if not isinstance(value, Mapping):
        return None
    if text in value:
        return (text,)
    for end in (place for place, letter in enumerate(text) if letter == "."):
        name = text[:end]
        if name in value and (rest := _found(text[end + 1 :], value[name])):
            return (name, *rest)
    return None
