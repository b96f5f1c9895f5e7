"""Selection: the part of a fleet that a run is about. What is outside is neither changed nor counted as removed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate

from better_compute.domain.policy.urls import has_userinfo, mask_text
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem, did_you_mean
from better_compute.domain.state import PoolState
from fleetctl.comparison.naming import ids, keys
from fleetctl.desired import Desired, PoolEntry
from fleetctl.desired.nearest import Nearest
from fleetctl.diff import Diff, OfferDiff, PoolDiff, Removed
from fleetctl.errors import EXIT_USAGE, Stop

FIELDS = ("key", "site", "model", "tenant", "file")


_WILD = re.compile(r"[*?[]")
_CLASS = re.compile(r"\[(!?).[^]]*\]")


@dataclass(frozen=True, slots=True)
class Fact:
    """What a pool is in one field: what it will be, or is called now, comes first; behind it what else it is, or was
    called. `ids` are beside its keys: texts that nobody chose."""

    values: tuple[str, ...]
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Part:
    """The glob that a selector writes for one field, and what it means."""

    glob: str
    pattern: re.Pattern[str]
    is_whole: bool
    is_negated: bool

    def holds(self, fact: Fact) -> bool:
        """Whether it is so of a value. A name written out whole may be an id, a glob never means one; and what is not
        to be there (`[!…]`) must not be in the first value: whatever another one is, it says nothing of that."""
        if self.is_negated:
            return any(map(self.pattern.match, fact.values[:1]))
        return any(map(self.pattern.match, (*fact.values, *(fact.ids if self.is_whole else ()))))


@dataclass(frozen=True, slots=True)
class Selector:
    """All of its `parts`, by field, must hold; `text` is as it was given."""

    text: str
    parts: Mapping[str, Part]

    def holds(self, facts: Mapping[str, Fact]) -> bool:
        """Whether each part that the facts speak of holds."""
        return all(part.holds(facts[name]) for name, part in self.parts.items() if name in facts)


@dataclass(frozen=True, slots=True)
class Selection:
    """What is looked at: what one of `only` selects (all, where there is none), without what one of `exclude` does. It
    is a slip where a selector selects nothing, unless it `may_miss`."""

    only: tuple[Selector, ...] = ()
    exclude: tuple[Selector, ...] = ()
    may_miss: bool = False

    def __bool__(self) -> bool:
        return bool(self.only or self.exclude)

    def takes(self, thing: Thing, tenant_id: str | None = None) -> bool:
        """Whether the pool itself is selected, or with a tenant the offer of it to that one."""
        if any(_selects(selector, thing, tenant_id) for selector in self.exclude):
            return False
        return not self.only or any(_selects(selector, thing, tenant_id) for selector in self.only)


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class Thing:
    """A pool as selectors see it: by its facts, the files that its offers stand in where that is another one than its
    entry's, and the tenants that it is or will be offered to."""

    facts: Mapping[str, Fact]
    files: Mapping[str, str] = field(default_factory=dict)
    tenants: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Split:
    """A diff in two: what is selected, and the rest of it."""

    inside: Diff
    outside: Diff


def parse(only: Sequence[str], exclude: Sequence[str]) -> Selection:
    """`--only` and `--except` as they were given: `key=GLOB`, `site=`, `model=`, `tenant=`, `file=`; a comma is and.
    Raises Stop for what is none."""
    return Selection(
        tuple(_selector(text, "--only") for text in only), tuple(_selector(text, "--except") for text in exclude)
    )


@dataclass(frozen=True, slots=True)
class Known:
    """Where pools are looked up: live states by id, and the fleet of the base, which may have called them otherwise."""

    live: Mapping[str, PoolState]
    was: Desired | None

    def thing(self, pool_id: str, entry: PoolEntry | None = None) -> Thing:
        """A pool, with the entry that says what becomes of it; None: there is none."""
        state, before = self.live.get(pool_id), self.was.entries.get(pool_id) if self.was else None
        wish, pool = entry.pool if entry else None, state.pool if state else None
        facts = {
            "key": Fact(keys(pool, entry, before), ids(pool, entry, before)),
            "site": Fact(tuple(each.site_id for each in (wish, pool) if each)),
            "model": Fact(tuple(each.gpu_model for each in (wish, pool) if each)),
            "file": Fact((entry.place.document.file,) if entry else ()),
        }
        places = entry.offer_places.items() if entry else ()
        files = {t: place.document.file for t, place in places if place.document.file not in facts["file"].values}
        tenants = {*(entry.offers if entry else ()), *(state.offers if state else ())}
        return Thing(facts, files, frozenset(tenants - {pool.owner_id if pool else None}))


def check(selection: Selection, desired: Desired, known: Known, diff: Diff) -> None:
    """Raises ComputeError for a selector that selects nothing of the fleet: that is a slip, and nothing in sync."""
    if selection.may_miss:
        return
    things = [known.thing(pool_id, entry) for pool_id, entry in desired.entries.items()]
    things += [known.thing(pool.entry.pool_id, pool.entry) for pool in diff.pools if pool.heir]
    things += [known.thing(one.live.pool.id) for one in diff.waiting if one.live.pool]
    # Nothing selects a removed pool by the tenants that it is offered to; leaving one of them out spares it.
    spared = [known.thing(one.pool.id, one.entry) for one in diff.removed]
    removed = [replace(thing, tenants=frozenset()) for thing in spared]
    problems = []
    for flag, selectors, found in (("--only", selection.only, removed), ("--except", selection.exclude, spared)):
        for selector in selectors:
            if not any(_anything(selector, thing) for thing in (*things, *found)):
                message = f"{flag} {selector.text} selects nothing of this fleet"
                hint = _nearest(selector, [*things, *spared])
                problems.append(Problem(INVALID_INPUT, "fleet.selection", message, flag, hint))
    if problems:
        raise ComputeError(*problems)
    things += removed
    if not any(selection.takes(thing) or any(selection.takes(thing, t) for t in thing.tenants) for thing in things):
        message = "what --only selects, --except leaves out: nothing of this fleet is left"
        raise ComputeError(Problem(INVALID_INPUT, "fleet.selection", message))


def taken(selection: Selection, desired: Desired, known: Known) -> tuple[frozenset[str], int]:
    """The ids of the entries that are selected, as a whole or in part, and how many of the offers that they state."""
    entries, offers = list[str](), 0
    for pool_id, entry in desired.entries.items():
        thing = known.thing(pool_id, entry)
        if selection.takes(thing) or any(selection.takes(thing, t) for t in thing.tenants):
            entries.append(pool_id)
        offers += sum(selection.takes(thing, t) for t in entry.offers)
    return frozenset(entries), offers


def split(diff: Diff, selection: Selection, known: Known) -> Split:
    """The diff in two. What is counted, and not told one by one, stays inside."""
    inside: list[PoolDiff] = []
    outside: list[PoolDiff] = []
    for pool in diff.pools:
        kept, left = _split(pool, selection, known)
        inside += [kept] if kept else []
        outside += [left] if left else []
    # What takes a pool's place must be there whole, before the pool goes.
    partly = {pool.entry.pool_id for pool in outside}
    outside += [pool for pool in inside if pool.heir and pool.heir.pool_id in partly]
    inside = [pool for pool in inside if not (pool.heir and pool.heir.pool_id in partly)]
    pruned = {pool.entry.pool_id for pool in outside if pool.archives == "removed"}
    removed: tuple[list[Removed], list[Removed]] = ([], [])
    for one in diff.removed:
        removed[one.pool.id in pruned or not selection.takes(known.thing(one.pool.id, one.entry))].append(one)
    gone = tuple(entry for entry in diff.gone if selection.takes(known.thing(entry.pool_id, entry)))
    waiting = tuple(one for one in diff.waiting if selection.takes(known.thing(one.heir.pool_id, one.heir)))
    return Split(
        replace(diff, pools=tuple(inside), removed=tuple(removed[0]), gone=gone, waiting=waiting),
        Diff(pools=tuple(outside), removed=tuple(removed[1])),
    )


def _split(diff: PoolDiff, selection: Selection, known: Known) -> tuple[PoolDiff | None, PoolDiff | None]:
    thing = known.thing(diff.entry.pool_id, diff.entry)
    if diff.archives:
        return (diff, None) if _archived(diff, thing, selection, known) else (None, diff)
    whole = selection.takes(thing)
    taken = [offer for offer in diff.offers if selection.takes(thing, offer.tenant_id)]
    if whole and len(taken) == len(diff.offers):
        return diff, None
    touched = whole or bool(taken) or (diff.problems and any(selection.takes(thing, t) for t in thing.tenants))
    if not touched:
        return None, diff
    return _only(diff, taken, whole=whole), _rest(diff, taken, whole=whole)


def _only(diff: PoolDiff, offers: Sequence[OfferDiff], *, whole: bool) -> PoolDiff:
    """The selected part; a pool that is not there is made with it."""
    if whole:
        return replace(diff, offers=tuple(offers))
    return replace(diff, changes=(), owner_quota=(), offers=tuple(offers))


def _rest(diff: PoolDiff, taken: Sequence[OfferDiff], *, whole: bool) -> PoolDiff | None:
    inside = {offer.tenant_id for offer in taken}
    left = tuple(offer for offer in diff.offers if offer.tenant_id not in inside)
    changes, owner = ((), ()) if whole else (diff.changes, diff.owner_quota)
    if not (left or changes or owner):
        return None
    return replace(diff, changes=changes, owner_quota=owner, offers=left, problems=())


def _archived(diff: PoolDiff, thing: Thing, selection: Selection, known: Known) -> bool:
    """An archive takes all offers of its pool with it: that of one which is left out keeps the pool. A replaced pool
    goes with the entry that takes its place."""
    own = selection.takes(thing)
    if diff.heir is not None:
        spared = any(_selects(selector, thing, None) for selector in selection.exclude)
        own = selection.takes(known.thing(diff.heir.pool_id, diff.heir)) and not spared
    offered = diff.live.offers if diff.live else ()
    return own and not any(_selects(selector, thing, t) for selector in selection.exclude for t in offered)


def _selects(selector: Selector, thing: Thing, tenant_id: str | None) -> bool:
    if tenant_id is None:
        return "tenant" not in selector.parts and selector.holds(thing.facts)
    facts = {**thing.facts, "tenant": Fact((tenant_id,))}
    if other := thing.files.get(tenant_id):
        facts["file"] = Fact((other, *thing.facts["file"].values))
    return selector.holds(facts)


def _anything(selector: Selector, thing: Thing) -> bool:
    return _selects(selector, thing, None) or any(_selects(selector, thing, tenant) for tenant in thing.tenants)


def _nearest(selector: Selector, things: Sequence[Thing]) -> str:
    """The nearest value of the first part that holds nowhere."""
    nearest = Nearest()
    for name, part in selector.parts.items():
        known = [*_known(name, things)]
        if not any(map(part.holds, known)):
            near = nearest.hint(part.glob, {text for fact in known for text in (*fact.values, *fact.ids)})
            return near or f"no pool of this fleet has such a {name}"
    if any(_anything(selector, thing) for thing in things):
        return "that tenant is offered removed pools alone, which are selected by key, site, model or file"
    return "each part holds somewhere, but of no pool all of them"


def _known(name: str, things: Iterable[Thing]) -> Iterator[Fact]:
    for thing in things:
        if name == "tenant":
            yield from (Fact((tenant,)) for tenant in thing.tenants)
        else:
            yield thing.facts[name]
            yield from (Fact((file,)) for file in thing.files.values() if name == "file")


def _selector(text: str, flag: str) -> Selector:
    parts: dict[str, Part] = {}
    if has_userinfo(text):  # a part of it would no longer show that
        raise _unfit(flag, mask_text(text), "this is a URL", "")
    for part in text.split(","):
        name, given, value = (word.strip() for word in part.partition("="))
        if not given:
            raise _unfit(flag, text, f"{part!r} says no field", f'did you mean "key={part}"?' if part.strip() else "")
        if name not in FIELDS:
            raise _unfit(flag, text, f"there is no field {name!r}", did_you_mean(name, FIELDS))
        if name in parts:
            raise _unfit(flag, text, f"{name} is there twice, and nothing has two", f"give {flag} twice: that is or")
        if not value:
            raise _unfit(flag, text, f"{name} is blank", f"{name}=* selects all that have one")
        negated = any(found[1] for found in _CLASS.finditer(value))
        parts[name] = Part(value, re.compile(translate(value)), not _WILD.search(value), negated)
    return Selector(text, parts)


def _unfit(flag: str, text: str, message: str, hint: str) -> Stop:
    return Stop(EXIT_USAGE, f"{flag} {text}: {message}", hint=hint or f"fields are {', '.join(FIELDS)}")
