"""From guards, checks and expected differences as they are written to their types, and what is wrong between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic.alias_generators import to_snake

from fleetctl.desired import times
from fleetctl.desired.found import Found, Part
from fleetctl.desired.guards import Freeze, Guards
from fleetctl.desired.model import Check, Expected
from fleetctl.desired.place import Place
from fleetctl.desired.roots import Roots

TWICE = "fleet.twice"


def judge(roots: Roots, caller: str | None, found: Found) -> None:
    """Find what contradicts itself in root fields whose shape is right."""
    _judge_callers(roots, caller, found)
    for index, window in enumerate(roots.get("guards", {}).get("freeze", ())):
        if times.milliseconds(window["from"]) >= times.milliseconds(window["to"]):
            place = roots.places["guards"].at("freeze", index)
            found.add("guard.freeze", "it ends before it begins", place, "to", hint="write a time after from")
    first_of: dict[tuple[str, str | None], Place] = {}
    for index, item in enumerate(roots.get("expected", ())):
        place = roots.places["expected"].at(index)
        first = first_of.setdefault((item["key"], item.get("path")), place)
        if first is not place:
            found.twice(TWICE, "the same difference is expected twice", place, first, "key")


def _judge_callers(roots: Roots, caller: str | None, found: Found) -> None:
    first_of: dict[str, Place] = {}
    for index, name in enumerate(roots.get("previousCallers", ())):
        place = roots.places["previousCallers"].at(index)
        first = first_of.setdefault(name, place)
        if first is not place:
            found.twice(TWICE, f"{name} is a previous caller twice", place, first)
        elif name == caller and "caller" in roots.places:
            message = f"{name} is the caller, and so none of the previous ones"
            found.twice("fleet.contradiction", message, place, roots.places["caller"])


def guards(roots: Roots) -> Guards:
    """The guards of the fleet, with their defaults."""
    written: Mapping[str, Any] = roots.get("guards", {})
    given = {to_snake(name): value for name, value in written.items() if name not in ("protect", "freeze")}
    windows = {_freeze(window) for window in written.get("freeze", ())}
    freeze = sorted(windows, key=lambda window: (window.start, window.end, window.reason))
    return Guards(**given, protect=frozenset(written.get("protect", ())), freeze=tuple(freeze))


def _freeze(window: Mapping[str, str]) -> Freeze:
    return Freeze(times.milliseconds(window["from"]), times.milliseconds(window["to"]), window["reason"])


def checks(parts: Sequence[Part], found: Found) -> tuple[Check, ...]:
    """The checks of all documents in the order of their names; finds names that stand twice."""
    by_name: dict[str, Check] = {}
    for part in parts:
        if not part.sound("checks"):
            continue
        for index, item in enumerate(part.document.root.get("checks", ())):
            check = Check(**item, place=Place(part.document, ("checks", index)))
            first = by_name.setdefault(check.name, check)
            if first is not check:
                found.twice(TWICE, f"two checks are called {check.name}", check.place, first.place, "name")
    return tuple(check for _, check in sorted(by_name.items()))


def expected(roots: Roots) -> tuple[Expected, ...]:
    """The differences that drift may ignore, in the order of keys and paths."""
    place = roots.places.get("expected")
    made = [_expected(item, place.at(index)) for index, item in enumerate(roots.get("expected", ())) if place]
    return tuple(sorted(made, key=lambda item: (item.key, item.path or "")))


def _expected(item: Mapping[str, str], place: Place) -> Expected:
    until = times.milliseconds(item["until"]) if "until" in item else None
    return Expected(key=item["key"], path=item.get("path"), until=until, reason=item["reason"], place=place)
