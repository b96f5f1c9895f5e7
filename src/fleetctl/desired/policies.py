"""Named policies: gathered from all documents, and merged under those of the entries that refer to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from better_compute.domain.ids import is_key
from fleetctl.desired.found import Found, Part
from fleetctl.desired.nearest import Nearest
from fleetctl.desired.place import Place
from fleetctl.files import Document, Map, Merged, Seq, offsets

RULE = "fleet.policyRef"
"""The rule of a reference to a policy that there is none of."""

_REF = "policyRef"


def gather(parts: Sequence[Part], found: Found) -> dict[str, Place]:
    """Every named policy, by name; finds names that stand twice."""
    places: dict[str, Place] = {}
    for part in parts:
        written = part.document.root.get("policies")
        for name in written if isinstance(written, Map) else ():
            place = Place(part.document, ("policies", name))
            if places.setdefault(name, place) is not place:
                found.twice("fleet.twice", f"two policies are called {name}", place, places[name], of_name=True)
    return places


def apply(parts: Sequence[Part], known: Mapping[str, Place], lost: Collection[object], found: Found) -> list[Part]:
    """The parts, with the policy of each entry that refers to one merged over it: its values stand where each was
    written. `lost`: root fields with faults in them, where a name may be missing for that."""
    nearest, missed = Nearest(), "policies" not in lost
    out = []
    for part in parts:
        pools = part.document.root.get("pools")
        if not isinstance(pools, Seq) or not any(isinstance(item, Map) and _REF in item for item in pools):
            out.append(part)
            continue
        items = Seq(pools)
        items.lines, items.start, items.at = pools.lines, pools.start, pools.at
        for index, name in _references(pools):
            if name in known:
                items[index] = _over(known[name].value(), pools[index])
            elif missed:
                hint = nearest.hint(name, known) or "write it under policies: in any document of the fleet"
                place = Place(part.document, ("pools", index))
                found.add(RULE, "no policy of this fleet is called so", place, _REF, hint=hint)
        document = part.document
        root = document.root.having("pools", items)
        out.append(replace(part, document=Document(document.file, root, document.line)))
    return out


def _references(pools: Seq) -> Iterator[tuple[int, str]]:
    for index, item in enumerate(pools):
        name = item.get(_REF) if isinstance(item, Map) else None
        if isinstance(name, str) and is_key(name):  # anything else is a fault of shape
            yield index, name


def _over(base: Any, entry: Map) -> Map:
    """The entry with its policy merged over `base`; either may be a fault that was found before."""
    patch = entry.get("policy")
    if not isinstance(base, Map) or not isinstance(patch, Map | None):
        return entry
    return entry.having("policy", merged(base, patch) if patch else base, near=_REF)


def merged(base: Any, patch: Map) -> Merged:
    """JSON Merge Patch (RFC 7396): null removes, a map is merged into a map, anything else takes the place."""
    made = Merged()
    made.lines, made.start, made.at, made.homes = patch.lines, patch.start, offsets(), {}
    under = base if isinstance(base, Map) else Map()
    for name, value in under.items():
        if name not in patch:
            _take(made, under, name, value)
    for name, value in patch.items():
        if value is not None:
            _take(made, patch, name, merged(under.get(name), value) if isinstance(value, Map) else value)
    return made


def _take(into: Merged, origin: Map, name: str, value: Any) -> None:
    into[name] = value
    into.homes[name] = origin.lines
    into.at += offsets(origin.offset(name, of_key=True), origin.offset(name))
