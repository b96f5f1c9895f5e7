"""What several plans break only together: none of them alone does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from better_compute.domain.problems import BLOCKED, CONFLICT, UNCHECKED, Problem, Severity, Source
from fleetctl.base.revisions import mark
from fleetctl.consequences import Consequences
from fleetctl.consequences.ledger import Stock, StockKey
from fleetctl.desired import Desired
from fleetctl.diff import ABSENT
from fleetctl.guards.oversell import Sold
from fleetctl.paths import Path, spelled
from fleetctl.together.merging import Clash
from fleetctl.together.part import Part, is_limited, key, limit, overdrawn, oversold, wrong
from fleetctl.words import joined, unit

_OVERSELL = "guard.oversell"
_LESS = "offer less, or wait for machines"


@dataclass(frozen=True, slots=True)
class Party:
    """One that has a part in what breaks: `ref` of None are the files at hand. `source` is the place in its own files,
    None where there is no single one; `wish` what it asks for, where that is what breaks."""

    ref: str | None
    source: Source | None
    wish: Any = ABSENT


@dataclass(frozen=True, slots=True)
class Joint:
    """A finding that no plan alone has, and whose doing it is. `at`: the field that is wished differently."""

    problem: Problem
    parties: tuple[Party, ...]
    at: Path | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """What was found of the revisions that were asked for, by their commits. `branches` are the plans of those that
    have one of their own."""

    asked: Mapping[str, str]
    found: tuple[Joint, ...]
    branches: tuple[Part, ...]

    @property
    def blocked(self) -> bool:
        """Whether a plan of all together would be, which none alone is for that reason."""
        return any(joint.problem.severity == "error" for joint in self.found)


def find(
    whole: Consequences, findings: Sequence[Problem], parts: Sequence[Part], clashes: Iterable[Clash]
) -> list[Joint]:
    """What the plan of all together breaks, and none of its parts does; `findings` is all that is wrong with it,
    judged as each of them was."""
    found = wrong(findings)
    clashes = [clash for clash in clashes if is_looked_at(whole, parts, clash.entry.pool_id)]
    return [*map(_clashed, clashes), *_broken(whole, found, parts), *_sold(whole, found, parts)]


def is_looked_at(whole: Consequences, parts: Sequence[Part], pool_id: str) -> bool:
    """Whether a pool is in the part of the fleet that was asked for, of one side at least."""
    return not whole.plan.comparison.asked.selected or any(pool_id in part.selected for part in parts)


def in_order(found: Iterable[Joint]) -> tuple[Joint, ...]:
    """What blocks first, and then by rule and path, whoever was named first."""
    return tuple(sorted(found, key=lambda one: (one.problem.severity != "error", one.problem.rule, one.problem.path)))


def apart(ref: str, theirs: Desired, ours: Desired) -> Joint | None:
    """That a revision has another fleet at this place, so that nothing is put together; None: it is the same fleet."""
    names = {"fleet": "fleet", "tenantId": "tenant_id", "caller": "caller", "keyPrefix": "key_prefix"}
    others = [name for name, attribute in names.items() if getattr(theirs, attribute) != getattr(ours, attribute)]
    if not others:
        return None
    message = f"{ref} has another {joined(others)} here: what it breaks together with these files is not known"
    hint = "merge the one that is right into the other first"
    problem = Problem(UNCHECKED, "together.fleet", message, hint=hint, severity="unchecked")
    return Joint(problem, (Party(ref, None),))


def lost(ref: str) -> Joint:
    """That a revision has no fleet at this place, where it had one."""
    message = (
        f"{ref} has no file of a fleet here any more: that counts as taking all of its entries away; where the fleet"
        " moved, what became of it there was not looked at"
    )
    hint = "merge the move first, and plan again in its new place"
    return Joint(Problem(UNCHECKED, "together.fleet", message, hint=hint, severity="unchecked"), (Party(ref, None),))


def _clashed(clash: Clash) -> Joint:
    name = _path(clash.entry.key or clash.entry.pool_id)
    path = f"{name}.{spelled(clash.path)}" if clash.path else name
    if clash.twice:
        rule, message = "together.twice", "it is written in several files, and would stand there twice"
        hint = "write it in one place, before the second is merged"
    else:
        rule, message = "together.wish", "it is wished differently"
        hint = "agree on one, before the second is merged"
    parties = tuple(
        Party(wish.ref, plain(wish.source, wish.ref), ABSENT if clash.twice else wish.value)
        for wish in sorted(clash.wishes, key=lambda wish: wish.ref or "")
    )
    problem = Problem(CONFLICT, rule, message, path, hint, source=at_hand(parties))
    return Joint(problem, parties, clash.path)


def _broken(whole: Consequences, found: Sequence[Problem], parts: Sequence[Part]) -> Iterator[Joint]:
    """Rules, guards and checks, also those that only warn."""
    known = {each for part in parts for each in part.broken}
    warned = known | {each for part in parts for each in part.warned}
    named = _named(whole)
    for problem in found:
        told = known if problem.severity == "error" else warned
        if problem.rule == _OVERSELL or key(problem) in told:
            continue
        told.add(key(problem))
        parties = _parties(problem, parts, named)
        yield Joint(replace(problem, source=at_hand(parties)), parties)


def _sold(whole: Consequences, found: Sequence[Problem], parts: Sequence[Part]) -> Iterator[Joint]:
    """Oversell of pools; and of a model at a site, where no pool of it that only all oversell tells so already."""
    pools, limited = oversold(whole), is_limited(whole)
    severity: Severity = "error" if any(problem.rule == _OVERSELL for problem in found) else "warning"
    parts_judged = [part for part in parts if part.is_limited or not limited]
    new = {i: sold for i, sold in pools.items() if not any(i in part.sold for part in parts_judged)}
    for pool_id, sold in new.items():
        yield _oversold(sold, whole, severity, [part for part in parts if pool_id in part.touches])
    told = {(sold.facts.new_model, sold.facts.atom, sold.facts.site_id) for sold in new.values()}
    about = _by_key(whole)
    for at, stock in overdrawn(whole).items():
        if at not in told and not any(at in part.stock for part in parts_judged):
            yield _overdrawn(at, stock, [part for part in parts if at in part.keys], about.get(at, set()))


def _oversold(sold: Sold, whole: Consequences, severity: Severity, parts: Sequence[Part]) -> Joint:
    """Of a pool; a warning where no guard is about that, or an override lets it pass."""
    parties = tuple(Party(part.ref, part.touches[sold.first.pool_id]) for part in parts)
    rule, message = "together.oversell", f"oversold: {sold}"
    if is_limited(whole):
        rule, message = _OVERSELL, f"{message}, and maxOversell is {limit(whole):g}"
    path = _path(sold.first.name)
    return Joint(Problem(BLOCKED, rule, message, path, _LESS, severity, at_hand(parties)), parties)


def _overdrawn(at: StockKey, stock: Stock, parts: Sequence[Part], pools: Collection[str]) -> Joint:
    """Of a model at a site: a warning, since no guard is about that."""
    model, atom, site_id = at
    parties = tuple(Party(part.ref, _touching(part, pools)) for part in parts)
    promised = f"{stock.after.atoms:,} {unit(model, atom)}, and their machines make {stock.schedulable_after:,}"
    message = f"all pools at {site_id} together promise {promised}"
    return Joint(Problem(BLOCKED, "together.oversell", message, "", _LESS, "warning", at_hand(parties)), parties)


def _named(whole: Consequences) -> dict[str, set[str]]:
    """The ids of pools by what the paths of problems begin with, see `_path`."""
    named: dict[str, set[str]] = {}
    for entry in whole.plan.comparison.desired.entries.values():
        named.setdefault(_path(entry.key or entry.pool_id), set()).add(entry.pool_id)
    for operation in whole.plan.operations:
        named.setdefault(_path(operation.name), set()).add(operation.pool_id)
    return named


def _path(name: str) -> str:
    """What begins the path of a problem that is in a pool, by the pool's key, or its id where it has none."""
    return f"pools[{name}]"


def _parties(problem: Problem, parts: Sequence[Part], named: Mapping[str, set[str]]) -> tuple[Party, ...]:
    """Those that touch the pool which a problem is about, beside the files at hand; or of whom a guard counts
    something; where that is not known, or it is one alone, all that do anything, since the limit that it breaks is
    another's."""
    about, guard = _about(problem.path, named), problem.rule.removeprefix("guard.")
    found: dict[str | None, Source | None]
    found = {part.ref: _touching(part, about) for part in parts if not part.touches.keys().isdisjoint(about)}
    if found and None not in found:
        found = {None: None, **found}
    found = found or {part.ref: part.counted[guard] for part in parts if guard in part.counted}
    if len(found) < 2:
        found = {part.ref: _touching(part, part.touches) for part in parts if part.touches} | found
    if len(found) < 2:
        found = dict.fromkeys(part.ref for part in parts) | found
    return tuple(Party(part.ref, found[part.ref]) for part in parts if part.ref in found)


def _about(path: str, named: Mapping[str, set[str]]) -> set[str]:
    """The ids of the pools that the path of a problem leads into. No bracket of it is taken for the end of a name, as
    names of live pools may hold some: of those that are there, the longest that the path begins with is meant."""
    ends = (end for end in range(len(path), 0, -1) if path[end - 1] == "]" and path[end : end + 1] in ("", "."))
    return next((named[path[:end]] for end in ends if path[:end] in named), set())


def _touching(part: Part, pools: Collection[str]) -> Source | None:
    """The first place at which a part touches one of these pools."""
    if len(pools) == 1:  # as of most problems, of which there may be as many as pools
        return next((part.touches[pool_id] for pool_id in pools if pool_id in part.touches), None)
    return next((source for pool_id, source in part.touches.items() if pool_id in pools), None)


def _by_key(whole: Consequences) -> dict[StockKey, set[str]]:
    """The pools that a plan is about by what they are of after it, and where."""
    found: dict[StockKey, set[str]] = {}
    for operation in whole.plan.operations:
        of = whole.pools.of(operation.pool_id)
        found.setdefault((of.new_model, of.atom or "", of.site_id), set()).add(operation.pool_id)
    return found


def plain(source: Source | None, ref: str | None) -> Source | None:
    """The place as the revision itself names it."""
    return source and replace(source, file=source.file.removeprefix(mark(ref)) if ref else source.file)


def at_hand(parties: Iterable[Party]) -> Source | None:
    """The place in the files at hand."""
    return next((party.source for party in parties if party.ref is None), None)
