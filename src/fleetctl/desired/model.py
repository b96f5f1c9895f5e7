"""Desired state: what the fleet files wish, in the domain's own types, with the places it was written at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from better_compute.domain.commands import CreatePool, OfferPool
from better_compute.domain.state import Terms
from fleetctl.desired.guards import Guards
from fleetctl.desired.nearest import Nearest
from fleetctl.desired.place import Place

OffersAre = Literal["stated", "unstated", "unmanaged"]
"""Stated offers are all the pool's offers (`[]` too); unstated ones block a plan where live ones are; unmanaged ones
are left to others."""
CheckSeverity = Literal["deny", "warn"]
Each = Literal["pool", "offer", "operation", "tenant"]
Prices = Mapping[str, float]
"""GPU model -> price per GPU hour."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """An embedded control plane: its SQLite file and its world file, as absolute paths."""

    database: str
    world: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """One pool of the files.

    `pool` is the wish, as the command that would create it (defaults filled in; `owner_quota` of None: unmanaged);
    None only for a tombstone or a released entry that holds its key or id alone. `offers` are by tenant, `archived`
    marks a tombstone, `released` a pool that this fleet lets go. `previously`: the key under which the pool was made;
    `replaces`: the key of the pool that this one takes the place of. `protect`: nothing is taken from it, ever.
    """

    pool_id: str
    key: str | None
    place: Place
    pool: CreatePool | None
    adopted: bool = False
    archived: bool = False
    released: bool = False
    protect: bool = False
    previously: str | None = None
    replaces: str | None = None
    offers_are: OffersAre = "unstated"
    offers: Mapping[str, Terms] = field(default_factory=dict)
    offer_places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def stays(self) -> bool:
        """Whether the fleet is to have the pool: it is neither archived nor let go."""
        return not (self.archived or self.released)

    def offer_commands(self) -> Iterator[OfferPool]:
        """The commands that make its offers on the pool that it wishes, in the order of `offers`."""
        if self.pool is None:
            return
        for tenant_id, terms in self.offers.items():
            yield OfferPool(
                tenant_id=self.pool.tenant_id,
                pool_id=self.pool_id,
                to_tenant_id=tenant_id,
                quota=terms.quota,
                priority=terms.priority,
                include_descendants=terms.include_descendants,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A user's rule: `expr` is CEL, true where all is well. `each` binds one object at a time; None: lists of all."""

    name: str
    severity: CheckSeverity
    expr: str
    message: str
    each: Each | None = None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A difference that drift may ignore: of the entry `key`, at `path` or below it (None: whatever it is), up to
    `until` in epoch milliseconds (None: for ever), and why."""

    key: str
    path: str | None
    until: int | None
    reason: str
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """A fleet as its files wish it. `caller` of None: the files and the environment name none, ids are not real.
    `previous_callers` made pools before it, the first of them last; `allow_empty`: it may have no pool at all."""

    fleet: str
    tenant_id: str
    caller: str | None
    key_prefix: str | None
    server: str | Embedded | None
    entries: Mapping[str, PoolEntry]
    """By pool id, in order of the ids."""
    previous_callers: tuple[str, ...] = ()
    allow_empty: bool = False
    guards: Guards = field(default_factory=Guards)
    checks: tuple[Check, ...] = ()
    prices: Prices = field(default_factory=dict)
    expected: tuple[Expected, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)
    """Where the root fields stand, by name."""
    files: frozenset[str] = field(default=frozenset(), compare=False)
    """The files of its documents, relative to the fleet's directory."""
    cut: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Files that end inside a line, as one that was cut short does, with the number of that line."""
    blank: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Files with a document that says nothing, or that hold none (comments alone, or nothing), with its line."""

    @property
    def callers(self) -> tuple[str, ...]:
        """Those under whom keys of this fleet derive ids, today's first; where nobody names that one, an empty name."""
        return (self.caller or "", *self.previous_callers)

    def remark_on(self, key: str) -> str:
        """What is to be known of a key that no entry has."""
        entries = {entry.key: entry for entry in self.entries.values() if entry.key is not None}
        if renamed := next((entry.key for entry in entries.values() if entry.previously == key), None):
            return f"the entry {renamed} was called {key}, and keeps its pool"
        if self.key_prefix is not None and not key.startswith(self.key_prefix):
            prefix = f"the fleet's keyPrefix, {self.key_prefix}"
            said = f"{key} does not begin with {prefix}: no entry with this key makes a pool"
        else:
            said = f"no entry of this fleet has the key {key}"
        near = Nearest().hint(key, entries)
        return f"{said}; {near}" if near else said
