"""What differs, in types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from better_compute.domain.problems import Problem
from better_compute.domain.state import Pool, PoolState, Terms
from fleetctl.desired import Place, PoolEntry
from fleetctl.paths import Path, spelled

Archives = Literal["tombstone", "replaced", "removed"]
"""Why a pool is to be archived: its entry says so; another one takes its place; no entry names it any more."""
Cause = Literal["intent", "drift"]
"""What moved since the base: the files, or the live state."""
CAUSES: Final[tuple[Cause, ...]] = ("intent", "drift")
ChangeCause = Cause | Literal["both"]
"""Of a single difference: `both` moved, so that neither alone made it what it is."""


class Absent:
    """Nothing on that side: neither null nor empty nor zero. JSON says it by leaving the field out."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


def at_path(value: Any, path: Iterable[str | int]) -> Any:
    """What maps in maps have at a path; ABSENT: nothing."""
    for part in path:
        if not (isinstance(value, Mapping) and part in value):
            return ABSENT
        value = value[part]
    return value


@dataclass(frozen=True, slots=True)
class Change:
    """One difference, and where it is (`("policy", "maxPending")`, `("quota", "gpu.mig")`); the cause is known where
    there is a base."""

    at: Path
    before: Any
    after: Any
    cause: ChangeCause | None = None

    @property
    def path(self) -> str:
        """Where it is, as people read it; the steps of that are told with what is there alone, see `paths.read`."""
        return spelled(self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferDiff:
    """One tenant's offer: None before is a new one, None after a withdrawal; `cause` is why it is new or goes."""

    tenant_id: str
    before: Terms | None
    after: Terms | None
    changes: tuple[Change, ...]
    cause: ChangeCause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDiff:
    """One pool that is not as wished. `live` of None: to be created; `archives`: to be archived, and nothing else.

    `entry` is the one that names the pool: of a replaced pool a tombstone with its key, at the place that says
    `replaces`, and `heir` is the entry that takes its place; of a removed pool that of the base. `changes` are those
    that an update makes; a problem says why the pool cannot become as wished. `cause` is why it is created or archived.
    """

    entry: PoolEntry
    live: PoolState | None
    archives: Archives | None = None
    heir: PoolEntry | None = None
    changes: tuple[Change, ...] = ()
    owner_quota: tuple[Change, ...] = ()
    offers: tuple[OfferDiff, ...] = ()
    problems: tuple[Problem, ...] = ()
    cause: ChangeCause | None = None

    @property
    def place(self) -> Place:
        """Where the files ask for what becomes of the pool itself; of an update that changes one field, that field,
        which may stand in a policy that many pools have."""
        if self.archives == "tombstone":
            return self.entry.place.at("archived")
        if self.archives or self.live is None or not self.changes:
            return self.entry.place
        fields = {change.at[:2] for change in self.changes}
        return self.entry.place.at(*(fields.pop() if len(fields) == 1 else ("policy",)))

    @property
    def owner_place(self) -> Place:
        """Where they ask for the owner's quota."""
        return self.entry.place.at("ownerQuota")

    def offer_place(self, offer: OfferDiff) -> Place:
        """Where they state an offer, or else the offers that it is not among."""
        if offer.after is None:
            return self.entry.place.at("offers").name()
        return self.entry.offer_places.get(offer.tenant_id, self.entry.place)


@dataclass(frozen=True, slots=True)
class Removed:
    """A live pool of this fleet that no entry names; `entry` is the one of the base, where that names it."""

    pool: Pool
    entry: PoolEntry | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pool that `heir` replaces, and that is archived once nothing runs in it or waits for it."""

    live: PoolState
    heir: PoolEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """Everything that differs, in order of pool ids. `removed` pools are this fleet's and stand in no entry; `foreign`
    ones are nobody's business here; `gone` are tombstones of pools that never were; `waiting` are
    pools that were replaced and are still in use."""

    pools: tuple[PoolDiff, ...]
    removed: tuple[Removed, ...] = ()
    foreign: tuple[Pool, ...] = ()
    gone: tuple[PoolEntry, ...] = ()
    waiting: tuple[Waiting, ...] = ()
