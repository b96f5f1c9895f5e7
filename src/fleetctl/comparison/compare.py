"""Files against live state, in one place for plan and drift: settle, compare, name causes and hazards, select."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from better_compute.domain.atoms import CLASSES, ISOLATING
from better_compute.domain.problems import Problem
from better_compute.domain.state import Pool
from fleetctl import identity
from fleetctl.base import force
from fleetctl.base.bases import Base
from fleetctl.base.force import InForce
from fleetctl.comparison import causes, elsewhere, expected, hazards, selection
from fleetctl.comparison.coverage import Coverage, coverage
from fleetctl.comparison.selection import EVERYTHING, Known, Selection, Split
from fleetctl.desired import Desired
from fleetctl.diff import Diff, Removed, compare
from fleetctl.errors import EXIT_USAGE, Stop
from fleetctl.history import Reader, nothing_known
from fleetctl.identity import Note, Settled
from fleetctl.live import Live


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a comparison of files with live state. `base` (None: none was named) names causes, hazards and
    removed pools, which `prune` archives; it and those `held` beside it guard. `selected` is the part that is looked
    at, `renames` how many renamed entries may pass (None: nothing is said of that). `undoes`: what is wished stands in
    no files, but takes back the apply that events name by this digest."""

    base: Base | None = None
    held: tuple[Base, ...] = ()
    prune: bool = False
    selected: Selection = EVERYTHING
    renames: int | None = None
    undoes: str | None = None


NOTHING = Asked()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What differs. `settled` are the files on the pools that they mean, and so is the fleet of the base in `was`.
    `diff` is what was selected, `outside` the rest; `selected` are the ids of the entries that are selected, as a whole
    or in part, and `offers` counts the offers. `problems` are those of identity, hazards and base: an error blocks;
    `renamed` are ids of removed pools that seem to be renamed. `held` are the further bases that only guard, settled;
    `in_force` is what holds of the files and of every base."""

    settled: Settled
    asked: Asked
    was: Desired | None
    diff: Diff
    outside: Diff
    selected: frozenset[str]
    offers: int
    problems: tuple[Problem, ...]
    renamed: frozenset[str]
    held: tuple[Base, ...]
    in_force: InForce
    coverage: Coverage

    @property
    def desired(self) -> Desired:
        """The files, each entry under the id of the pool that it means."""
        return self.settled.desired

    @property
    def guarding(self) -> tuple[Desired, ...]:
        """The fleet as it was, wherever its guards hold."""
        return _guarding(self.was, self.asked.base, self.held)

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*self.settled.notes, *_unoffered(self.diff))

    @property
    def left(self) -> tuple[Removed, ...]:
        """Removed pools that are left as they are."""
        pruned = {pool.entry.pool_id for pool in self.diff.pools if pool.archives == "removed"}
        return tuple(one for one in self.diff.removed if one.pool.id not in pruned)

    @property
    def entries(self) -> int:
        """How many are selected."""
        return len(self.selected)

    @property
    def unchanged(self) -> int:
        """Selected entries of which nothing differs, in what was left out of them neither."""
        return len(self.selected.difference(pool.entry.pool_id for pool in (*self.diff.pools, *self.outside.pools)))

    @property
    def differs_outside(self) -> int:
        """Entries and removed pools that differ and were left out."""
        ids = {pool.entry.pool_id for pool in self.outside.pools} | {one.pool.id for one in self.outside.removed}
        return len(ids)


def compared(desired: Desired, live: Live, asked: Asked = NOTHING, read_history: Reader = nothing_known) -> Comparison:
    """Compare files with live state; `read_history` tells of pools that would go whether another fleet keeps them.
    Raises Stop for a prune without a base, ComputeError for a selector that selects nothing and for events that cannot
    be read, ValueError when nobody names a caller."""
    settled, base = identity.settle(desired, live.pools), asked.base
    was = _was(base, live)
    held = tuple(replace(each, desired=_was(each, live) or each.desired) for each in asked.held)
    guarding = _guarding(was, base, held)
    labelled = causes.labelled(compare(settled, live.pools, was=was, prune=asked.prune), was)
    kept = elsewhere.kept(labelled, {fleet.fleet for fleet in (settled.desired, *guarding)}, read_history)
    whole = elsewhere.without(labelled, kept)
    if asked.prune and base is None:
        raise _no_base(whole.removed, settled.desired)
    part, selected, offers = _selected(labelled, asked.selected, settled.desired, Known(live.pools, was))
    inside = elsewhere.without(part.inside, kept)
    found = hazards.find(inside, whole, settled.desired, live.pools, asked.renames)
    is_caller = any(problem.rule == "fleet.caller" for problem in found.problems)  # that is why others' are alike
    return Comparison(
        settled=settled,
        asked=asked,
        was=was,
        diff=inside,
        outside=elsewhere.without(part.outside, kept),
        selected=selected,
        offers=offers,
        problems=(
            *settled.problems,
            *hazards.of_others(settled, was, inside),
            *elsewhere.problems(part.inside, kept),
            *hazards.missed(whole, settled, was),
            *found.problems,
            *([] if is_caller else hazards.alike(labelled.foreign, settled.desired)),
            *expected.unknown(settled.desired, live.pools),
            *_lost(settled, whole, guarding),
        ),
        renamed=found.renamed,
        held=held,
        in_force=force.in_force(settled.desired, guarding),
        coverage=coverage(settled, live.pools),
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


def _selected(diff: Diff, selected: Selection, desired: Desired, known: Known) -> tuple[Split, frozenset[str], int]:
    """The diff in two, the ids of the selected entries, and how many offers are selected. Raises ComputeError."""
    if not selected:
        offers = sum(len(entry.offers) for entry in desired.entries.values())
        return Split(diff, Diff(pools=())), frozenset(desired.entries), offers
    selection.check(selected, desired, known, diff)
    return selection.split(diff, selected, known), *selection.taken(selected, desired, known)


def _guarding(was: Desired | None, base: Base | None, held: Iterable[Base]) -> tuple[Desired, ...]:
    fleets = (was or (base.desired if base else None), *(each.desired for each in held))
    return tuple(fleet for fleet in fleets if fleet is not None)


def _lost(settled: Settled, diff: Diff, guarding: Iterable[Desired]) -> Iterator[Problem]:
    """What a change may do to no base, once."""
    left = {*(one.pool.id for one in diff.removed), *(pool.id for pool in diff.foreign)}
    yield from dict.fromkeys(problem for was in guarding for problem in force.findings(settled.desired, was, left))


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


def _no_base(removed: Sequence[Removed], desired: Desired) -> Stop:
    """Prune archives what a base names; without one the files must say it."""
    message = "--prune archives pools that the files at a base name, and there is no base"
    taken = {entry.key for entry in desired.entries.values()}
    lines = [tombstone(one.pool, desired, taken) for one in removed]
    hint = "give --base REF or --base-dir DIR" + (", or write these entries into `pools`" if lines else "")
    return Stop(EXIT_USAGE, message, lines, hint, "prune.base")
