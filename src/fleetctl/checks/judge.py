"""Every check, held against a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from better_compute.domain.problems import BLOCKED, INVALID_INPUT, Problem
from fleetctl.checks import bounds, fields, words
from fleetctl.checks.engine import Expression, Failure, Mistake, compiled
from fleetctl.checks.objects import Object, Objects
from fleetctl.checks.running import Group, run
from fleetctl.checks.within import within
from fleetctl.checks.words import Said
from fleetctl.consequences import Consequences
from fleetctl.desired import Check
from fleetctl.desired.model import Each
from fleetctl.words import LISTED, listed

Sees = tuple[Each | None, bool]
"""What an expression sees one of at a time (None: all at once), and whether what is foreign too."""


def mistakes(checks: Iterable[Check]) -> list[Problem]:
    """What is wrong with expressions by themselves: they are no CEL, see no such variable, or yield no boolean."""
    return [problem for check in checks if isinstance(problem := _ready(check), Problem)]


def problems(of: Consequences) -> list[Problem]:
    """A problem for every check of the plan that does not hold.

    One that denies is an error, one that warns a warning; one that cannot be judged is an error whatever it says.
    """
    checks = of.plan.comparison.in_force.checks
    if not checks:
        return []
    own = set(of.plan.comparison.desired.checks)
    found: dict[Check, Problem] = {}
    ready: dict[Sees, list[tuple[Check, Expression]]] = {}
    for each in checks:
        match _ready(each):
            case Problem() as problem:
                found[each] = problem
            case expression:
                ready.setdefault((each.each, fields.sees_foreign(each)), []).append((each, expression))
    found.update(_judged(ready, of))
    return [_placed(found[each], each, each in own) for each in checks if each in found]


def _ready(check: Check) -> Expression | Problem:
    expression = compiled(check.expr, check.each)
    if isinstance(expression, Mistake):
        said = words.of_mistake(expression, check)
        return _wrong(check, said, expression.line)
    if found := bounds.excess(check.expr):
        return _wrong(check, *found)
    for name, line, column in fields.unknown(check):
        return _wrong(check, replace(words.no_field(name, check), column=column), line)
    return expression if expression.kind in ("BOOL", "DYN") else _wrong(check, words.of_kind(expression.kind))


def _wrong(check: Check, said: Said, line: int = 1) -> Problem:
    """Of the expression itself, wherever it is read."""
    message = f"the check {check.name} cannot be read: {said.message}"
    source = within(check, line, said.column)
    return Problem(INVALID_INPUT, _rule(check), message, "expr", said.hint, source=source)


def _judged(
    ready: Mapping[Sees, Sequence[tuple[Check, Expression]]], of: Consequences
) -> Iterator[tuple[Check, Problem]]:
    """The problems of those that can be run, each with its check."""
    checks: list[tuple[Check, Sequence[Object]]] = []
    groups = []
    seen = {foreign: Objects(of, foreign=foreign) for foreign in (False, True)}
    for (kind, foreign), group in ready.items():
        objects = seen[foreign]
        those: Sequence[Object] = [] if kind is None else objects.of(kind)
        values = [objects.lists()] if kind is None else [{str(kind): each.value} for each in those]
        groups.append(Group(kind, [expression for _, expression in group], values))
        checks += [(check, those) for check, _ in group]
    ran = run(groups) if groups else []
    if isinstance(ran, int):
        check, _ = checks[ran]
        yield check, _failed(check, words.ENDED)
        return
    for (check, those), verdicts in zip(checks, ran, strict=True):
        if verdicts.failed:
            number, result = verdicts.failed
            yield check, _failed(check, _of(result, check), those[number] if those else None)
        elif verdicts.denied:
            yield check, _denied(check, [those[number] for number in verdicts.denied] if those else [])


def _of(result: str | bool | Failure, check: Check) -> Said:
    return words.of_failure(result, check) if isinstance(result, Failure) else words.of_kind(str(result))


def _denied(check: Check, objects: Sequence[Object]) -> Problem:
    """`objects` are those for which it is false; none where it sees all at once."""
    named = f": {listed([*_named(objects)], str(check.each))}" if objects else ""
    place = next((each.place for each in objects if each.place), None)
    return Problem(
        BLOCKED,
        _rule(check),
        f"{check.message}{named}",
        severity="error" if check.severity == "deny" else "warning",
        source=place.source() if place else None,
    )


def _named(objects: Sequence[Object]) -> Iterator[str]:
    """By name and place; only the first few are shown, and only their places are looked for."""
    for number, each in enumerate(objects):
        source = each.place.source() if each.place and number < LISTED else None
        where = f"{source.file}:{source.line}" if source else each.whose
        yield f"{each.name} ({where})" if where else each.name


def _failed(check: Check, said: Said, at: Object | None = None) -> Problem:
    whom = (f" for {at.name} ({at.whose})" if at.whose else f" for {at.name}") if at else ""
    message = f"the check {check.name} cannot be judged{whom}: {said.message}"
    return Problem(BLOCKED, _rule(check), message, hint=said.hint)


def _placed(problem: Problem, check: Check, own: bool) -> Problem:
    """With the check's place, where no object's is known; lines of the base's files are none of these files."""
    if not own:
        hints = [hint for hint in (problem.hint, "a check of the base: this change cannot remove it") if hint]
        source = None if problem.code == INVALID_INPUT else problem.source
        return replace(problem, hint="; ".join(hints), source=source)
    at = check.place.source("expr")
    if problem.source is None:
        return replace(problem, source=at)
    hint = problem.hint if problem.code == INVALID_INPUT else f"the check {check.name} stands at {at.file}:{at.line}"
    return replace(problem, hint=hint)


def _rule(check: Check) -> str:
    return f"check.{check.name}"
