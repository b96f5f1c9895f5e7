"""Files against live state, in one place for plan and drift: settle, compare, name causes and hazards, select."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from better_compute.domain.atoms import CLASSES, ISOLATING
from better_compute.domain.problems import Problem
from better_compute.domain.state import Pool
from fleetctl import base as bases
from fleetctl import causes, expected, hazards, identity, selection
from fleetctl.base import Base
from fleetctl.desired import Desired
from fleetctl.diff import Diff, Removed, compare
from fleetctl.identity import Note, Settled
from fleetctl.live import Live
from fleetctl.selection import EVERYTHING, Known, Selection, Split


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What differs. `settled` are the files on the pools that they mean, `base` the fleet as it was (None: none was
    named), settled as well in `was`; `prune`: removed pools that it names are archived. `diff` is what was selected,
    `outside` the rest; `entries` and `offers` count those selected. `problems` are those of identity, hazards and
    base: an error blocks; `renamed` are ids of removed pools that seem to be renamed. `held` are further bases,
    settled, that only guard."""

    settled: Settled
    base: Base | None
    was: Desired | None
    prune: bool
    selection: Selection
    diff: Diff
    outside: Diff
    entries: int
    offers: int
    problems: tuple[Problem, ...]
    renamed: frozenset[str]
    held: tuple[Base, ...] = ()

    @property
    def desired(self) -> Desired:
        """The files, each entry under the id of the pool that it means."""
        return self.settled.desired

    @property
    def guarding(self) -> tuple[Desired, ...]:
        """The fleet as it was, wherever its guards hold: a change cannot remove its own."""
        was = self.was or (self.base.desired if self.base else None)
        return tuple(each for each in (was, *(base.desired for base in self.held)) if each is not None)

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*self.settled.notes, *_unoffered(self.diff))

    @property
    def left(self) -> tuple[Removed, ...]:
        """Removed pools that are left as they are."""
        pruned = {pool.entry.pool_id for pool in self.diff.pools if pool.archives == "removed"}
        return tuple(one for one in self.diff.removed if one.pool.id not in pruned)

    @property
    def differs_outside(self) -> int:
        """Entries and removed pools that differ and were left out."""
        ids = {pool.entry.pool_id for pool in self.outside.pools} | {one.pool.id for one in self.outside.removed}
        return len(ids)


def compared(
    desired: Desired,
    live: Live,
    *,
    base: Base | None = None,
    held: Sequence[Base] = (),
    prune: bool = False,
    selected: Selection = EVERYTHING,
    renames: int | None = None,
) -> Comparison:
    """Compare files with live state. `base` names causes, hazards and removed pools, which `prune` archives; it and
    those `held` beside it stop a fleet that lost its last pool; `renames` is how many renamed entries may pass.

    Raises ComputeError for a selector that selects nothing, ValueError when nobody names a caller.
    """
    settled = identity.settle(desired, live.pools)
    was = _was(base, live)
    whole = compare(settled, live.pools, was=was, prune=prune)
    known = Known(live.pools, was)
    part, entries, offers = _selected(causes.labelled(whole, was), selected, settled.desired, known)
    found = hazards.find(part.inside, whole, settled.desired, live.pools, renames)
    guarding = tuple(replace(each, desired=_was(each, live) or each.desired) for each in held)
    is_caller = any(problem.rule == "fleet.caller" for problem in found.problems)  # that is why others' are alike
    return Comparison(
        settled=settled,
        base=base,
        was=was,
        prune=prune,
        selection=selected,
        diff=part.inside,
        outside=part.outside,
        entries=entries,
        offers=offers,
        problems=(
            *settled.problems,
            *hazards.of_others(settled, was, part.inside),
            *hazards.missed(whole, settled, was),
            *found.problems,
            *([] if is_caller else hazards.alike(whole.foreign, settled.desired)),
            *expected.unknown(settled.desired, live.pools),
            *_lost(settled, whole, [replace(base, desired=was or base.desired), *guarding] if base else guarding),
        ),
        renamed=found.renamed,
        held=guarding,
    )


def whose(removed: Removed, desired: Desired) -> str:
    """Why a removed pool is taken for this fleet's: what is known of it, not more."""
    if removed.entry:
        return f"it stood at {removed.entry.place.source()}"
    return f"{removed.pool.created_by} made it, its key begins with this fleet's keyPrefix, {desired.key_prefix}"


def tombstone(pool: Pool, desired: Desired, taken: Collection[str | None]) -> str:
    """The entry to write for a removed pool that is to be archived; `taken` are the keys that entries have."""
    key = pool.idempotency_key
    if (
        key is not None
        and key not in taken
        and identity.is_derived(desired, key, pool.id)
        and key.startswith(desired.key_prefix or "")
    ):
        return f"- {{idempotencyKey: {key}, archived: true}}"
    return f"- {{id: {pool.id}, archived: true}}"


def _selected(diff: Diff, selected: Selection, desired: Desired, known: Known) -> tuple[Split, int, int]:
    """The diff in two, and how many entries and offers are selected. Raises ComputeError."""
    if not selected:
        offers = sum(len(entry.offers) for entry in desired.entries.values())
        return Split(diff, Diff(pools=())), len(desired.entries), offers
    selection.check(selected, desired, known, diff)
    return selection.split(diff, selected, known), *selection.counts(selected, desired, known)


def _lost(settled: Settled, diff: Diff, was: Iterable[Base]) -> Iterator[Problem]:
    """What a change may do to no base, once; those are settled."""
    left = {*(one.pool.id for one in diff.removed), *(pool.id for pool in diff.foreign)}
    yield from dict.fromkeys(problem for each in was for problem in bases.findings(settled.desired, each, left))


def _unoffered(diff: Diff) -> Iterator[Note]:
    """New pools of machines that may be offered to others, and that the files are silent about: whom they are for may
    have been forgotten."""
    for found in diff.pools:
        wish = found.entry.pool
        if found.live is not None or found.problems or wish is None or found.entry.offers_are != "unstated":
            continue
        if CLASSES.get(wish.class_) == "host" and wish.sharing in ISOLATING:
            said = f"{found.entry.key} is offered to nobody: write its offers, or `offers: []` if that is meant"
            yield Note("unoffered", said, found.entry.place)


def _was(base: Base | None, live: Live) -> Desired | None:
    """The fleet of the base; one that was not there named nothing."""
    if base is None or base.desired is None or base.desired.caller is None:
        return None
    return identity.settle(base.desired, live.pools).desired
