"""Every guard, held against a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain

from better_compute.domain.problems import BLOCKED, Problem
from fleetctl.comparison import Comparison
from fleetctl.consequences import Consequences
from fleetctl.desired import Desired, Guards
from fleetctl.guards import based, counting, cut, freeze, oversell, protect, use
from fleetctl.guards.tally import Case, Tally
from fleetctl.override import ALLOWABLE, Allowable, Override, rule, to_pass


def judged(of: Consequences, override: Override, now: int) -> list[Problem]:
    """A problem for every guard that the plan breaks, with the override that would let exactly this pass; the plan
    itself is always shown whole. `now` is the server's clock in epoch milliseconds.

    A warning tells what an override lets pass, and which one had nothing to let pass; `unchecked` what a guard could
    not count.
    """
    case = Case(of, _in_force(of.plan.comparison), now)
    sold, most = oversell.touched(case), case.guards.max_oversell
    found = chain(freeze.tallies(case), counting.tallies(case), use.tallies(case), oversell.tallies(sold, most))
    tallies = {tally.name: tally for tally in found}
    broken = {tally.name for tally in tallies.values() if not _is_within(tally)}
    if any(problem.rule == rule("rename") for problem in of.plan.comparison.problems):
        broken.add("rename")  # hazards hold that one
    return [
        *based.check(case),
        *cut.check(case),
        *protect.check(case),
        *(problem for tally in tallies.values() for problem in _held(tally, override)),
        *counting.unknown(case),
        *oversell.told(sold, most),
        *_unneeded(broken, override),
    ]


def counted(of: Consequences, now: int) -> list[Tally]:
    """What the guards count that limit how much one plan may take away; without those that find nothing of theirs."""
    return list(counting.tallies(Case(of, _in_force(of.plan.comparison), now)))


def _in_force(comparison: Comparison) -> Guards:
    """The guards of a change. What the base protects stays protected, in whichever way it says so: a change cannot
    remove its own guard."""
    guards = _protecting(comparison.desired)
    for was in comparison.guarding:
        guards = guards.stricter(_protecting(was))
    return guards


def _protecting(desired: Desired) -> Guards:
    """With the entries that say `protect: true` among what is protected, by id and key."""
    names = {name for entry in desired.entries.values() if entry.protect for name in (entry.pool_id, entry.key) if name}
    return replace(desired.guards, protect=desired.guards.protect | names)


def _held(tally: Tally, override: Override) -> Iterator[Problem]:
    """An override takes the place of the guard's own limit, also where that is the higher one."""
    allowed = override.numbers.get(tally.name)
    limit, lifts = tally.limit if allowed is None else allowed, rule(tally.name)
    if limit is not None and tally.number > limit:
        may = tally.may if allowed is None else f"--allow {tally.name}={allowed} lets {allowed:,} pass"
        hint = f"if that is meant: {to_pass(tally.name, tally.number)}"
        yield Problem(BLOCKED, lifts, f"{tally.says}, and {may}", hint=hint, source=tally.first.source)
    elif allowed is not None and not _is_within(tally):
        why = f": {override.reason}" if override.reason else ""
        message = f"{tally.says}, and {tally.may}; --allow {tally.name}={allowed} lets this pass{why}"
        yield Problem(BLOCKED, lifts, message, severity="warning", source=tally.first.source)


def _is_within(tally: Tally) -> bool:
    return tally.limit is None or tally.number <= tally.limit


def _unneeded(broken: Collection[Allowable], override: Override) -> Iterator[Problem]:
    """Whoever lets more pass than there is may have expected another plan."""
    for name in ALLOWABLE:
        number = override.numbers.get(name)
        if number and name not in broken:
            message = f"--allow {name}={number} is not needed: this plan breaks no such guard"
            yield Problem(BLOCKED, rule(name), message, hint="leave it out", severity="warning")
