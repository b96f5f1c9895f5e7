"""Desired state: what the fleet files wish, in the domain's own types, with the places it was written at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from better_compute.domain.commands import CreatePool
from better_compute.domain.problems import Source
from better_compute.domain.state import Terms
from fleetctl.desired.nearest import Nearest
from fleetctl.files import Document

OffersAre = Literal["stated", "unstated", "unmanaged"]
"""Stated offers are all the pool's offers (`[]` too); unstated ones block a plan where live ones are; unmanaged ones
are left to others."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written: a document and the way to it."""

    document: Document
    path: tuple[str | int, ...] = ()

    def source(self, *more: str | int) -> Source:
        """The place of a value below this one; the nearest parent that is written when it is not."""
        return self.document.source((*self.path, *more))

    def value(self) -> Any:
        """What stands here."""
        value: Any = self.document.root
        for step in self.path:
            value = value[step]
        return value

    def holds(self, name: str) -> bool:
        """Whether a field stands in the map at this place."""
        return name in self.value()

    def at(self, *more: str | int) -> Place:
        """The place of a value below this one."""
        return Place(self.document, (*self.path, *more))


@dataclass(frozen=True, slots=True)
class Embedded:
    """An embedded control plane: its SQLite file and its world file, as absolute paths."""

    database: str
    world: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """One pool of the files.

    `pool` is the wish, as the command that would create it (defaults filled in; `owner_quota` of None: unmanaged);
    None only for a tombstone that holds its key or id alone. `offers` are by tenant, `archived` marks a tombstone.
    """

    pool_id: str
    key: str | None
    place: Place
    pool: CreatePool | None
    adopted: bool = False
    archived: bool = False
    offers_are: OffersAre = "unstated"
    offers: Mapping[str, Terms] = field(default_factory=dict)
    offer_places: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """A fleet as its files wish it. `caller` of None: the files and the environment name none, ids are not real."""

    fleet: str
    tenant_id: str
    caller: str | None
    key_prefix: str | None
    server: str | Embedded | None
    entries: Mapping[str, PoolEntry]
    """By pool id, in order of the ids."""
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)
    """Where the root fields stand, by name."""

    def remark_on(self, key: str) -> str:
        """What is to be known of the id that a key derives, where no entry's pool has it; else an empty text."""
        entries = {entry.key: entry for entry in self.entries.values() if entry.key is not None}
        if entry := entries.get(key):
            return f"the entry with this key adopts {entry.pool_id} instead" if entry.adopted else ""
        if self.key_prefix is not None and not key.startswith(self.key_prefix):
            prefix = f"the fleet's keyPrefix, {self.key_prefix}"
            said = f"{key} does not begin with {prefix}: no entry with this key makes a pool"
        else:
            said = f"no entry of this fleet has the key {key}"
        near = Nearest().hint(key, entries)
        return f"{said}; {near}" if near else said

    @property
    def files(self) -> set[str]:
        """The files that all of it stands in, relative to the fleet's directory."""
        places = [*self.places.values(), *(entry.place for entry in self.entries.values())]
        places += [place for entry in self.entries.values() for place in entry.offer_places.values()]
        return {place.document.file for place in places}
