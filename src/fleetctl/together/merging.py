"""The files at hand, and on top of them what each branch changed since it went its own way.

Field by field, since the lines of files are not what breaks. A branch that lacks what another one changed does not wish
it back: what it has as it was where it left the others is none of its doing. And where an entry is as it was, and
shared parts alone make something else of it, that gives way to what another one says of the entry itself, as it does in
the files once they are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from better_compute.domain.problems import Source
from fleetctl.desired import Desired, PoolEntry
from fleetctl.diff import ABSENT
from fleetctl.paths import Path
from fleetctl.spelling import canonical_json
from fleetctl.together import fields as parts
from fleetctl.together.branch import Branch
from fleetctl.together.fields import rebuilt, same, standing
from fleetctl.together.limits import governed, governed_before
from fleetctl.together.own import OwnWords


@dataclass(frozen=True, slots=True)
class Wish:
    """What one side wishes of a field: `ref` of None are the files at hand, `value` of ABSENT wishes that it goes."""

    ref: str | None
    value: Any
    source: Source | None


@dataclass(slots=True)
class Clash:
    """Wishes that contradict each other: of the field of a pool at `path`, or of the pool as a whole, where the values
    tell what becomes of it. `twice`: the wishes are alike, but stand in several files, and would stand there twice."""

    entry: PoolEntry
    path: Path
    wishes: list[Wish]
    twice: bool = False


@dataclass(slots=True)
class Merging:
    """`desired` is what all that was taken wishes together; of wishes that clash the first, or `as_it_was`: as it was
    before both, where there was something."""

    desired: Desired
    as_it_was: bool = False
    clashes: dict[tuple[str, Path, bool], Clash] = field(default_factory=dict)
    _takers: dict[str, list[tuple[str, PoolEntry | None]]] = field(default_factory=dict)
    """Who changed each entry so far, with that one's own."""
    _own: dict[str, PoolEntry] | None = None
    """The entries of the files."""
    _words: OwnWords = field(default_factory=OwnWords)

    def take(self, branch: Branch) -> None:
        """Take what a branch changed. Linear in its entries."""
        self._own = dict(self.desired.entries) if self._own is None else self._own
        entries = dict(self.desired.entries)
        theirs = dict(branch.desired.entries) if branch.desired else {}
        left = dict(branch.left.entries) if branch.left else {}
        known: list[dict[str, Any]] = [entries, theirs, self._own, self._takers, left]
        for before, now in renamed(entries, theirs, left).items():
            for each in known:
                if before in each:
                    each[now] = each.pop(before)
        for pool_id in sorted(theirs.keys() | left.keys()):
            their, was = theirs.get(pool_id), left.get(pool_id)
            if same(their, was):
                continue
            is_written = was is not None and was.pool_id not in branch.made
            entry = self._merged(_Side(pool_id, branch.ref, entries.get(pool_id), their, was, is_written))
            if entry is None:
                entries.pop(pool_id, None)
            else:
                entries[pool_id] = entry
            self._takers.setdefault(pool_id, []).append((branch.ref, their))
        ordered = sorted(entries.values(), key=lambda entry: entry.pool_id)
        self.desired = replace(self.desired, entries={entry.pool_id: entry for entry in ordered})
        if branch.desired is not None:
            limited = governed_before if self.as_it_was else governed
            self.desired = limited(self.desired, branch.desired, branch.left)

    def _merged(self, side: _Side) -> PoolEntry | None:
        """The entry of a pool that a branch changed."""
        ours, theirs, was = side.ours, side.theirs, side.was
        for path in side.twice():
            self._clash(side, path, _at(ours, path), _at(theirs, path), twice=True)
        if same(ours, theirs):
            return ours
        if same(ours, was):
            return theirs
        if ours is None or theirs is None or standing(ours) != standing(theirs):
            ours_means, theirs_means = self._mean(side, ())
            if ours_means == theirs_means:
                self._clash(side, (), _becomes(ours), _becomes(theirs))
                return was if self.as_it_was and was else ours
            if ours is None or theirs is None:
                return ours if ours_means else theirs
        found = _three_way(
            (), parts.fields(was), parts.fields(ours), parts.fields(theirs), partial(self._settled, side)
        )
        return rebuilt(found, ours, theirs)

    def _settled(self, side: _Side, path: Path, was: Any, ours: Any, theirs: Any) -> Any:
        """Of values that differ the one that is taken, and whether they clash."""
        ours_means, theirs_means = self._mean(side, path)
        if ours_means != theirs_means:
            return ours if ours_means else theirs
        self._clash(side, path, ours, theirs)
        return was if self.as_it_was and was is not ABSENT else ours

    def _mean(self, side: _Side, path: Path) -> tuple[bool, bool]:
        """Whether each says so in the entry itself: one of those that changed it so far, and the branch."""
        own = self._own.get(side.pool_id) if self._own else None
        before = [entry for entry in (own, *(each for _, each in self._takers.get(side.pool_id, ()))) if entry]
        return (
            side.ours is None or any(self._is_meant(side, entry, path) for entry in before),
            side.theirs is None or self._is_meant(side, side.theirs, path),
        )

    def _is_meant(self, side: _Side, entry: PoolEntry, path: Path) -> bool:
        return side.was is None or not side.is_written or not self._words.are_same(entry, side.was, path)

    def _clash(self, side: _Side, path: Path, ours: Any, theirs: Any, *, twice: bool = False) -> None:
        """Note that a branch wishes otherwise than what was there before."""
        entry = side.ours or side.theirs
        assert entry is not None
        key = side.pool_id, path, twice
        if key not in self.clashes:
            self.clashes[key] = Clash(entry, path, [*self._before(side, path, ours)], twice)
        self.clashes[key].wishes.append(Wish(side.ref, theirs, _source(side.theirs, path)))

    def _before(self, side: _Side, path: Path, value: Any) -> Iterator[Wish]:
        """Whose wish a value was before: the files', and those of branches."""
        own = self._own.get(side.pool_id) if self._own else None
        if _equal(_at(own, path), value) and not (side.ours is not own and same(own, side.was)):
            yield Wish(None, value, _source(own, path))
        for ref, entry in self._takers.get(side.pool_id, ()):
            if _equal(_at(entry, path), value):
                yield Wish(ref, value, _source(entry, path))


@dataclass(frozen=True, slots=True)
class _Side:
    """The entry of a pool as a branch has it, beside the one that it meets, and the one that it had where it left.
    `is_written`: that one stands so in a file, to be compared with what others say themselves."""

    pool_id: str
    ref: str
    ours: PoolEntry | None
    theirs: PoolEntry | None
    was: PoolEntry | None
    is_written: bool

    def twice(self) -> Iterator[Path]:
        """What two sides added in two files, which would stand there twice once they are merged: the pool, or offers
        of it."""
        ours, theirs = self.ours, self.theirs
        if ours is None or theirs is None:
            return
        if self.was is None and ours.place.document.file != theirs.place.document.file:
            yield ()
            return
        for tenant_id in sorted(ours.offer_places.keys() & theirs.offer_places.keys()):
            is_new = self.was is None or tenant_id not in self.was.offers
            places = ours.offer_places[tenant_id], theirs.offer_places[tenant_id]
            if is_new and places[0].document.file != places[1].document.file:
                yield "offers", tenant_id


def merged(desired: Desired, branches: Iterable[Branch]) -> Merging:
    """The files with what each branch changed, in the order of these."""
    merging = Merging(desired)
    for branch in branches:
        merging.take(branch)
    return merging


def renamed(
    ours: Mapping[str, PoolEntry], theirs: Mapping[str, PoolEntry], left: Mapping[str, PoolEntry]
) -> dict[str, str]:
    """The ids of entries to which one side gave a new key, each with the id that it has by that one; the other side has
    them under the old key, and what it changes of them is meant of the same pool."""
    keys = {entry.key: pool_id for pool_id, entry in left.items()}
    found: dict[str, str] = {}
    for one, other in ((ours, theirs), (theirs, ours)):
        for pool_id, entry in one.items():
            before = keys.get(entry.previously) if entry.previously else None
            if before is not None and before in other and before not in one and pool_id not in other:
                found.setdefault(before, pool_id)
    return found


def _three_way(path: Path, was: Any, ours: Any, theirs: Any, settled: Callable[[Path, Any, Any, Any], Any]) -> Any:
    """The value of a field that may be a map; `settled` takes one of those that clash."""
    if _equal(ours, theirs) or _equal(theirs, was):
        return ours
    if _equal(ours, was):
        return theirs
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return settled(path, was, ours, theirs)
    before = was if isinstance(was, dict) else {}
    found = {}
    for name in dict.fromkeys((*ours, *theirs)):
        one, own, their = (each.get(name, ABSENT) for each in (before, ours, theirs))
        value = _three_way((*path, name), one, own, their, settled)
        if value is not ABSENT:
            found[name] = value
    return found


def _equal(one: Any, other: Any) -> bool:
    """As JSON tells values apart: 1 and true are two."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return canonical_json(one) == canonical_json(other)


def _becomes(entry: PoolEntry | None) -> str:
    found = standing(entry)
    return "changed" if found == "kept" else found


def _at(entry: PoolEntry | None, path: Path) -> Any:
    """What an entry has at a path; of the whole what becomes of the pool."""
    return parts.value_at(entry, path) if path else _becomes(entry)


def _source(entry: PoolEntry | None, path: Path) -> Source | None:
    if entry is None:
        return None
    if path[:1] == ("offers",) and len(path) > 1:
        place = entry.offer_places.get(path[1])
        return place.source(*path[2:]) if place else entry.place.source("offers")
    return entry.place.source(*path)
