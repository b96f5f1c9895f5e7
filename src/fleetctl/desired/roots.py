"""The fields of the whole fleet, gathered from its documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from better_compute.domain.values import same_value
from fleetctl.desired.faults import MISSING
from fleetctl.desired.found import Found, Part
from fleetctl.desired.locate import Step
from fleetctl.desired.model import Embedded
from fleetctl.desired.place import Place
from fleetctl.desired.records import names
from fleetctl.desired.shape import API_VERSION, Root

FIELDS = frozenset(names(Root))
NEEDED = {
    "apiVersion": f"write apiVersion: {API_VERSION}",
    "tenantId": "write the tenant that owns the pools, such as tenantId: root",
}


@dataclass(frozen=True, slots=True)
class Roots:
    """Values by name, as they are written, each with the first place that says it; `faulty` are names that a document
    says wrongly, `broken` those of them that are wrong as a whole; both hold what a field that nobody knows may be."""

    values: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)
    faulty: frozenset[Step] = frozenset()
    broken: frozenset[Step] = frozenset()

    def get(self, name: str, otherwise: Any = None) -> Any:
        return self.values.get(name, otherwise)

    def defaults(self, what: str) -> Mapping[str, Any]:
        """What entries (`pool`) or their offers (`offer`) leave out."""
        scalars: Mapping[str, Any] = self.values.get("defaults", {}).get(what, {})
        return scalars

    def server(self, directory: Path) -> str | Embedded | None:
        """A URL, or an embedded control plane with paths that no working directory changes; `directory` is what the
        names of the documents' files are relative to."""
        written: str | dict[str, str] | None = self.values.get("server")
        if not isinstance(written, dict):
            return written
        home = (directory / self.places["server"].document.file).absolute().parent
        world = written.get("world")
        return Embedded(str(home / written["embedded"]), str(home / world) if world else None)


def gather(parts: Sequence[Part], found: Found) -> Roots:
    """The root fields of all documents; finds those that disagree and those that are missing."""
    values: dict[str, Any] = {}
    places: dict[str, Place] = {}
    for part in parts:
        for name in part.document.root:
            if name not in FIELDS or not part.sound(name):
                continue
            value, place = part.document.root[name], Place(part.document, (name,))
            if name not in values:
                values[name], places[name] = value, place
            elif not same_value(values[name], value):
                found.twice("fleet.agree", f"two documents disagree on {name}", place, places[name])
    lost = _united(part.lost for part in parts) - _united(part.document.root.keys() for part in parts)
    faulty = _united(part.faulty for part in parts) | lost
    for name, hint in NEEDED.items():
        if name in values or any(not part.sound(name) for part in parts):
            continue
        if not any(found.explained(Place(part.document), name) for part in parts):
            found.add(MISSING, f"no document of the fleet says {name}", _head(parts), name, hint=hint)
    return Roots(values, places, faulty, _united(part.broken for part in parts) | lost)


def _united(names: Iterable[AbstractSet[Step]]) -> frozenset[Step]:
    return frozenset[Step]().union(*names)


def _head(parts: Sequence[Part]) -> Place:
    """The document that speaks for the fleet: the one with the most root fields."""
    return Place(max((part.document for part in parts), key=lambda d: len(FIELDS & d.root.keys())))
