"""Between places of documents and the paths that problems carry, in both directions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from better_compute.domain.ids import is_key
from better_compute.domain.policy import is_sensitive_name
from better_compute.domain.policy.urls import mask_cut
from better_compute.domain.problems import Source
from fleetctl.desired.place import Place

_LONGEST_NAME = 64
_INDEX = re.compile(r"\[([0-9]{1,9})\]")
_QUOTED = re.compile(r'\["(?:[^"\\]|\\.)*"\]')
_END = re.compile(r"[.\[]")

Step = str | int


def locate(place: Place, path: str) -> Source:
    """Where the value stands that a rule names as `path` (`quota.gpu.mig`, `policy.acceptance[0].kind`), seen from
    `place`; the nearest parent that is written when it is not. A place that is a field of an entry (`policy`) also
    takes paths that begin at the entry."""
    outer = Place(place.document, place.path[:-1]) if place.path and isinstance(place.path[-1], str) else place
    for start in (place, outer):
        if steps := _steps(start, path):
            return start.source(*steps)
    return place.source()


def spell(root: Mapping[str, Any], path: Sequence[Step]) -> str:
    """A way into a document in words: `pools[fra1-h100].offers[acme].quota.gpu`. Pools go by key or id, their offers
    by tenant, other items by number. What stands below a sensitive name is a secret, names too."""
    spelt, value = "", root
    for depth, step in enumerate(path):
        if isinstance(step, int):
            spelt += f"[{_item_name(value, step, tuple(path[:depth]))}]"
        else:
            name = mask_cut(step, _LONGEST_NAME) + ("…" if len(step) > _LONGEST_NAME else "")
            spelt += f".{name}" if spelt else name
            if is_sensitive_name(step):
                break
        value = _child(value, step)
    return spelt


def pool_name(item: object) -> str | None:
    """What a pool's entry is called: its key, else its id; None where neither is fit to be shown."""
    return _name(item, "idempotencyKey") or _name(item, "id")


def _steps(place: Place, path: str) -> list[Step]:
    value: Any = place.document.root
    for step in place.path:
        value = _child(value, step)
    steps: list[Step] = []
    while path and (found := _step(value, path)):
        step, path = found
        steps.append(step)
        value = value[step]
    return steps


def _item_name(items: object, index: int, path: tuple[Step, ...]) -> str | int:
    item = _child(items, index)
    if path == ("pools",):
        return pool_name(item) or index
    if path == ("checks",):
        return _name(item, "name") or index
    if len(path) == 3 and path[0] == "pools" and path[2] == "offers":
        return _name(item, "toTenantId") or index
    return index


def _name(item: object, field: str) -> str | None:
    name = item.get(field) if isinstance(item, dict) else None
    return name if type(name) is str and is_key(name) else None


def _child(value: object, step: Step) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None


def _step(value: object, path: str) -> tuple[Step, str] | None:
    """The first step of `path` into `value` and the rest. Names may hold dots, so the longest that exists is meant."""
    if isinstance(value, list):
        index = _INDEX.match(path)
        if index and int(index[1]) < len(value):
            return int(index[1]), path[index.end() :].removeprefix(".")
        return None
    if not isinstance(value, dict):
        return None
    if quoted := _QUOTED.match(path):
        name = json.loads(quoted[0])[0]
        return (name, path[quoted.end() :].removeprefix(".")) if name in value else None
    for end in (len(path), *(m.start() for m in reversed([*_END.finditer(path)]))):
        if path[:end] in value:
            return path[:end], path[end:].removeprefix(".")
    return None
