"""Every guard, held against a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from better_compute.domain.problems import BLOCKED, Problem
from fleetctl.consequences import Consequences
from fleetctl.guards import based, counting, cut, freeze, oversell, protect, use
from fleetctl.guards.tally import Case, Tally
from fleetctl.override import ALLOWABLE, Allowable, Override, rule, to_pass


@dataclass(frozen=True, slots=True)
class Guarded:
    """The problems that guards find; and how much a plan takes away (`counting`), whether or not that is a problem. Of
    what it takes nothing of there is no tally."""

    problems: tuple[Problem, ...]
    taken: tuple[Tally, ...]


def guarded(of: Consequences, override: Override, now: int) -> Guarded:
    """A problem for every guard that the plan breaks, with the override that would let exactly this pass; the plan
    itself is always shown whole. `now` is the server's clock in epoch milliseconds.

    A warning tells what an override lets pass, and which one had nothing to let pass; `unchecked` what a guard could
    not count.
    """
    case = Case(of, of.plan.comparison.in_force.guards, now)
    taken = tuple(counting.tallies(case))
    sold, most = oversell.touched(case), case.guards.max_oversell
    found = chain(freeze.tallies(case), taken, use.tallies(case), oversell.tallies(sold, most))
    tallies = {tally.name: tally for tally in found}
    broken = {tally.name for tally in tallies.values() if not _is_within(tally) or _is_stricter(tally, override)}
    if any(problem.rule == rule("rename") for problem in of.plan.comparison.problems):
        broken.add("rename")  # hazards hold that one
    problems = (
        *based.problems(case),
        *cut.problems(case),
        *protect.problems(case),
        *(problem for tally in tallies.values() for problem in _held(tally, override)),
        *counting.unknown(case),
        *oversell.told(sold, most),
        *_unneeded(broken, override),
    )
    return Guarded(problems, taken)


def _held(tally: Tally, override: Override) -> Iterator[Problem]:
    """An override takes the place of the guard's own limit, also where that is the higher one: whoever names a number
    has seen a plan with no more than that."""
    allowed, lifts = override.numbers.get(tally.name), rule(tally.name)
    if _is_over(tally, override) or (allowed is None and not _is_within(tally)):
        may = tally.may if allowed is None else f"--allow {tally.name}={allowed} lets {allowed:,} pass"
        hint = f"if that is meant: {to_pass(tally.name, tally.number)}"
        if _is_within(tally):
            may += f"; the guard itself would let {'all' if tally.limit is None else f'{tally.limit:,}'} pass"
            hint += f", or leave --allow {tally.name} out"
        yield Problem(BLOCKED, lifts, f"{tally.says}, and {may}", hint=hint, source=tally.first.source)
    elif allowed is not None and not _is_within(tally):
        why = f": {override.reason}" if override.reason else ""
        message = f"{tally.says}, and {tally.may}; --allow {tally.name}={allowed} lets this pass{why}"
        yield Problem(BLOCKED, lifts, message, severity="warning", source=tally.first.source)


def _is_within(tally: Tally) -> bool:
    return tally.limit is None or tally.number <= tally.limit


def _is_stricter(tally: Tally, override: Override) -> bool:
    """Whether an override is lower than the guard's own limit, so that it is what holds."""
    number = override.numbers.get(tally.name)
    return number is not None and (tally.limit is None or number < tally.limit)


def _is_over(tally: Tally, override: Override) -> bool:
    return tally.number > override.numbers.get(tally.name, tally.number)


def _unneeded(broken: Collection[Allowable], override: Override) -> Iterator[Problem]:
    """Whoever lets more pass than there is may have expected another plan."""
    for name in ALLOWABLE:
        number = override.numbers.get(name)
        if number and name not in broken:
            message = f"--allow {name}={number} is not needed: this plan breaks no such guard"
            hint = "leave it out, unless it is there to let less pass than the guard does"
            yield Problem(BLOCKED, rule(name), message, hint=hint, severity="warning")
