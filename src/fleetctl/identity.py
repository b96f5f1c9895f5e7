"""Which live pool each entry means: the stage between the files and their comparison with live state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from better_compute.domain.ids import derive
from better_compute.domain.problems import INVALID_INPUT, INVALID_STATE, Problem
from better_compute.domain.state import PoolState
from fleetctl.desired import Desired, Place, PoolEntry


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader should know, and that stops nothing: an entry means a pool by its `id`, by a key that it had
    before, or by a caller before; or its new pool is offered to nobody. `place` is where the files say so."""

    kind: Literal["id", "key", "caller", "unoffered"]
    sentence: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Files whose every entry stands under the id of the pool that it means.

    `named` are all ids that entries give pools, also those that they do not mean now; but `aside` are live pools under
    the key of an entry that means another one: nobody asks for them, and they are this fleet's. `replaced`: id of a
    live pool -> the entry that takes its place. `notes` tell which pool was found otherwise than by the entry's own
    key; of `problems`, errors mean that the files contradict themselves before this live state.
    """

    desired: Desired
    named: frozenset[str]
    aside: frozenset[str] = frozenset()
    replaced: Mapping[str, PoolEntry] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()


def settle(desired: Desired, live: Mapping[str, PoolState]) -> Settled:
    """Find the pool of each entry among `live`, by id: all that the fleet's tenant owns.

    An entry means the pool with its `id`; else the live one that its `previously` derives; else its own key's; else
    that of its key under a previous caller. Where two entries mean one pool, the first is kept, and an error names both
    places. Raises ValueError when nobody names a caller: ids derive from it.
    """
    if desired.caller is None:
        raise ValueError("ids derive from a caller")
    finding = _Finding(desired, live, desired.callers)
    for entry in desired.entries.values():
        finding.take(entry)
    entries = finding.entries
    replaced = finding.replaced()
    return Settled(
        desired=replace(desired, entries={pool_id: entries[pool_id] for pool_id in sorted(entries)}),
        named=frozenset(finding.named),
        aside=frozenset(finding.aside - finding.named),
        replaced=replaced,
        notes=tuple(finding.notes),
        problems=tuple(finding.problems),
    )


def origins(desired: Desired, entry: PoolEntry) -> list[tuple[str, str]]:
    """Key and caller of each pool that an entry without `id` may mean, in the order in which `settle` looks for one
    that is live; the first is the one to expect."""
    return [(key, caller) for key in (entry.previously, entry.key) if key for caller in desired.callers]


def is_live(state: PoolState | None) -> bool:
    """Whether the pool is there and not archived."""
    return state is not None and state.pool is not None and not state.pool.archived


def is_derived(desired: Desired, key: str, pool_id: str) -> bool:
    """Whether a key stands for the pool under a caller of this fleet, so that an entry may name it so."""
    return any(derive("pool", desired.tenant_id, caller, key) == pool_id for caller in desired.callers)


@dataclass(slots=True)
class _Finding:
    """What was found so far; `callers` are the identities that made this fleet's pools, today's first."""

    desired: Desired
    live: Mapping[str, PoolState]
    callers: tuple[str, ...]
    entries: dict[str, PoolEntry] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    aside: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def take(self, entry: PoolEntry) -> None:
        pool_id = entry.pool_id if entry.adopted else self._meant(entry)
        self.named.add(pool_id)
        (self.aside if is_live(self.live.get(entry.pool_id)) else self.named).add(entry.pool_id)
        settled = entry if pool_id == entry.pool_id else _under(entry, pool_id)
        first = self.entries.setdefault(pool_id, settled)
        if first is not settled:
            message = f"two entries mean one pool, {pool_id}; the other place is {_said(first).source()}"
            self._refuse("fleet.twice", message, _said(entry), "take one of them away")
        elif entry.adopted and is_live(self.live.get(pool_id)):
            self.notes.append(Note("id", f"{_name(entry)} adopts {pool_id} by its id", _said(entry)))

    def _meant(self, entry: PoolEntry) -> str:
        """The id of the pool that an entry without `id` means."""
        key, old = entry.key or "", entry.previously
        olds = list(self._ids(old, self.callers)) if old else []
        if found := self._first_live(olds):
            if is_live(self.live.get(entry.pool_id)):
                message = f"both {old} and {key} are live: the entry means {old}, and {key} is left as it is"
                self._warn("fleet.previously", message, entry.place.at("previously"))
            else:
                said = f"{key} is the pool that was made as {old}"
                self.notes.append(Note("key", said, entry.place.at("previously")))
            return found
        if is_live(self.live.get(entry.pool_id)) or (entry.pool_id in self.live and (entry.archived or entry.released)):
            return entry.pool_id  # also a tombstone's that is archived: that one is meant, and no other caller's
        others = list(self._ids(key, self.callers[1:]))
        if found := self._first_live(others):
            caller = self.callers[1:][others.index(found)]
            self.notes.append(Note("caller", f"{key} is the pool that {caller} made", entry.place.at("idempotencyKey")))
            return found
        if entry.archived or entry.released:  # one that is gone already is the one that is meant
            known = (pool_id for pool_id in (*olds, *others) if pool_id in self.live)
            return next(known, entry.pool_id)
        return entry.pool_id

    def replaced(self) -> dict[str, PoolEntry]:
        """Id of each live pool that an entry replaces -> that entry."""
        found: dict[str, PoolEntry] = {}
        for entry in self.entries.values():
            if entry.replaces is None:
                continue
            old_id = self._first_live(list(self._ids(entry.replaces, self.callers)))
            if old_id is None:
                continue
            other = self.entries.get(old_id)
            if other is None or other.archived:
                found[old_id] = entry
                self.named.add(old_id)
                continue
            message = f"{entry.replaces} is to be replaced, and has an entry of its own ({_said(other).source()})"
            hint = "take that entry away: the replacement archives the pool"
            self._refuse("fleet.replaces", message, entry.place.at("replaces"), hint)
        return found

    def _ids(self, key: str, callers: tuple[str, ...]) -> Iterator[str]:
        return (derive("pool", self.desired.tenant_id, caller, key) for caller in callers)

    def _first_live(self, ids: list[str]) -> str | None:
        return next((pool_id for pool_id in ids if is_live(self.live.get(pool_id))), None)

    def _refuse(self, rule: str, message: str, place: Place, hint: str) -> None:
        self.problems.append(Problem(INVALID_INPUT, rule, message, hint=hint, source=place.source()))

    def _warn(self, rule: str, message: str, place: Place) -> None:
        hint = "drop `previously` and write an entry for each, or archive the one that is not meant"
        self.problems.append(Problem(INVALID_STATE, rule, message, "", hint, "warning", place.source()))


def _under(entry: PoolEntry, pool_id: str) -> PoolEntry:
    """The entry, for the pool that it means."""
    return replace(entry, pool_id=pool_id, pool=entry.pool and replace(entry.pool, pool_id=pool_id))


def _name(entry: PoolEntry) -> str:
    return entry.key or "the entry"


def _said(entry: PoolEntry) -> Place:
    """Where an entry says which pool it means."""
    field_name = "id" if entry.adopted else "previously" if entry.previously else "idempotencyKey"
    return entry.place.at(field_name)
