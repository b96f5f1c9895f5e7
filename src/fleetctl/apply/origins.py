"""What operations were planned from and what is live now, in words: told of plans as they are shown to people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import ne
from typing import Any, Final

from better_compute.domain.policy.secrets import SENSITIVE
from fleetctl.history import Subject
from fleetctl.plan.operation import Action
from fleetctl.spelling import canonical_json

Shown = Mapping[str, Any]
Sides = tuple[Any, Any]
"""What is there, and what is wished."""
Origins = Mapping[tuple[Action, Subject], str]
_NOTHING: Final = object()
_SHOWN = 3
_LONGEST = 60


def told(planned: Iterable[Shown], now: Iterable[Shown]) -> Origins:
    """Of each operation that is in both plans and was planned from another state: field by field, or that it is as it
    was again."""
    before = {_key(one): one for one in planned}
    pairs = [(key, before[key], one) for one in now if (key := _key(one)) in before]
    return {key: said for key, was, one in pairs if was["digest"] != one["digest"] and (said := _told(was, one))}


def _key(one: Shown) -> tuple[Action, Subject]:
    return one["action"], (one["poolId"], one["toTenantId"])


def _told(planned: Shown, now: Shown) -> str:
    if planned["action"] in ("create", "archive"):  # another state of what they do not name
        return ""
    if planned["action"] == "offer" and None in (planned["before"], now["before"]):
        return _offered(planned["before"], now["before"])
    was, is_now = _sides(planned), _sides(now)
    paths = [*dict.fromkeys((*was, *is_now))]
    moved = [path for path in paths if ne(*_ends(was.get(path), is_now.get(path)))]
    if not moved:
        is_hidden = any(SENSITIVE in str(sides) for sides in (*was.values(), *is_now.values()))
        return "" if is_hidden else "the same value, changed and changed back"
    parts = [_field(path, was.get(path), is_now.get(path)) for path in moved[:_SHOWN]]
    rest = [f"{len(moved) - _SHOWN:,} more"] if len(moved) > _SHOWN else []
    return "; ".join((*parts, *rest))


def _offered(was: Shown | None, now: Shown | None) -> str:
    """Of an offer that came or went."""
    if was is None and now is None:
        return ""
    if now is None:
        return "planned from an offer, and there is none now"
    said = ", ".join(f"{path} {_value(value)}" for path, value in _fields(now))
    return f"planned from no offer, and there is one now: {said}"


def _sides(one: Shown) -> Mapping[str, Sides]:
    """By path: what is there, and what is wished; of what goes as a whole what is there."""
    if one["action"] == "unoffer":
        return {path: (value, _NOTHING) for path, value in _fields(one["before"])}
    return {each["path"]: (each.get("before", _NOTHING), each.get("after", _NOTHING)) for each in one["changes"]}


def _fields(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _fields(inner, f"{above}{name}.")
        else:
            yield f"{above}{name}", inner


def _ends(was: Sides | None, now: Sides | None) -> tuple[Any, Any]:
    """What it was planned from, and what is live: a side has no such change where it is as wished there."""
    wished = _wished(was, now)
    return wished if was is None else was[0], wished if now is None else now[0]


def _wished(was: Sides | None, now: Sides | None) -> Any:
    sides = was or now
    assert sides is not None
    return sides[1]


def _field(path: str, was: Sides | None, now: Sides | None) -> str:
    """`quota.gpu: planned from 8, live 20, wished 6`."""
    wished, (planned, live) = _wished(was, now), _ends(was, now)
    ends = "" if wished is _NOTHING and now is not None and was is not None else f", wished {_value(wished)}"
    return f"{path}: planned from {_value(planned)}, live {_value(live)}{ends}"


def _value(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    said = value if isinstance(value, str) else canonical_json(value).decode()
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."
