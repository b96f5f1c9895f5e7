"""Quota rows: what a value and a resource may be, and what happens to rows when they are set or frozen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from better_compute.domain.atoms import ATOMS, SCALARS, UNLIMITED
from better_compute.domain.problems import INVALID_INPUT, Problem, ask, did_you_mean
from better_compute.domain.state import QuotaRow
from better_compute.domain.words import slips

_ATOMS = tuple(dict.fromkeys(ATOMS.values()))
RESOURCES = (*_ATOMS, *SCALARS)
"""Every resource the code knows: the atoms, then the scalars of hosts."""

MOST_ROWS = 64
"""Rows of a tenant in a pool, those of 0 included: none ever goes, and whatever is told of an offer tells them all."""

_GUESSES = 8
"""So many names of one quota are compared with every known one, which takes its time: whoever sends a quota of nothing
but nonsense is not waited for. A slip of a letter or two is found for each of them."""

_TELLING = 3
"""So many letters of a known name tell that it is meant: `mem`, `memory` and `disk` without their unit."""

_SCALAR = re.compile(r"[a-z][A-Za-z0-9]{0,63}")


def check_quota(quota: Mapping[str, object]) -> list[Problem]:
    """Rule quota.value for every row, the resource's name and its limit; of too many rows none is judged."""
    if len(quota) > MOST_ROWS:
        return [_too_many(len(quota))]
    problems: list[Problem] = []
    guesses = _GUESSES
    for resource, limit in quota.items():
        problem = _check_resource(resource)
        if problem is not None:
            if guesses and not problem.hint and problem.severity == "error":
                guesses -= 1
                problem = replace(problem, hint=did_you_mean(resource, RESOURCES))
            problems.append(problem)
        if type(limit) is not int or not 0 <= limit <= UNLIMITED:
            problems.append(
                Problem(
                    INVALID_INPUT,
                    "quota.value",
                    f"a quota is a whole number from 0 to {UNLIMITED}",
                    f"quota.{resource}",
                    f"the largest value, {UNLIMITED}, reads as unlimited" if type(limit) is int and limit > 0 else "",
                )
            )
    return problems


def check_rows(rows: Mapping[str, QuotaRow], quota: Mapping[str, int]) -> list[Problem]:
    """Rule quota.value for the rows that a tenant has and those that are named beside them. Where there are too many
    already they can still be set: only a further one is refused."""
    total = len(rows.keys() | quota.keys())
    return [_too_many(total)] if MOST_ROWS < total != len(rows) else []


def check_atoms(quota: Mapping[str, int], sharing: str) -> list[Problem]:
    """Warnings of rule quota.value about what a quota grants of the pool's GPUs: a missing row grants 0, and a row of
    another sharing mode's atom grants nothing. A row of 0 asks for nothing: so is a row written that is to go."""
    atom = ATOMS[sharing]
    problems = []
    if atom not in quota:
        problems.append(_warning("quota", f"no {atom} row: a missing row grants 0, so no GPU of this {sharing} pool"))
    for resource in _ATOMS:
        if resource != atom and quota.get(resource):
            problems.append(
                _warning(
                    f"quota.{resource}", f"{sharing} pools have no {resource}: this row grants nothing", f"use {atom}"
                )
            )
    return problems


def set_rows(rows: Mapping[str, QuotaRow], quota: Mapping[str, int], *, whole: bool) -> dict[str, QuotaRow]:
    """The rows that change when `quota` is set: the named ones and, when it is set `whole`, the others, to 0.

    A row of 0 and no row are equal (rule quota.missing), so setting one to the other changes nothing.
    """
    wanted = dict.fromkeys(rows, 0) | dict(quota) if whole else quota
    changed = {}
    for resource, limit in wanted.items():
        row = rows.get(resource)
        if limit != (row.max if row else 0):
            changed[resource] = QuotaRow(limit, row.used if row else 0)
    return changed


def freeze_rows(rows: Mapping[str, QuotaRow]) -> dict[str, QuotaRow]:
    """Rule unoffer.quota: the rows that change when each becomes min(max, used), so that nothing new fits."""
    return {r: QuotaRow(row.used, row.used) for r, row in rows.items() if row.used < row.max}


def limits(rows: Mapping[str, QuotaRow], changed: Mapping[str, QuotaRow]) -> dict[str, int]:
    """Resource -> max, after a change."""
    return {resource: row.max for resource, row in {**rows, **changed}.items()}


@lru_cache(maxsize=1024)
def _check_resource(resource: str) -> Problem | None:
    if resource in RESOURCES:
        return None
    path = f"quota.{resource}"
    allowed = f"known resources: {', '.join(RESOURCES)}"
    steps = {known: edits for edits, known in slips(resource, RESOURCES)}
    if steps or not _SCALAR.fullmatch(resource):
        nearest = [f'"{known}"' for known, edits in steps.items() if edits == min(steps.values())]
        hint = f"did you mean {' or '.join(nearest)}?" if nearest else ""
        return Problem(INVALID_INPUT, "quota.value", f"no such resource; {allowed}", path, hint)
    begun = [known for known in SCALARS if len(resource) >= _TELLING and known.startswith(resource)]
    return _warning(path, f"a resource that no host provides; {allowed}", ask(begun[0]) if begun else "")


def _too_many(rows: int) -> Problem:
    message = f"a tenant has at most {MOST_ROWS} rows in a pool, those of 0 included, and it would have {rows}"
    return Problem(INVALID_INPUT, "quota.value", message, "quota")


def _warning(path: str, message: str, hint: str = "") -> Problem:
    return Problem(INVALID_INPUT, "quota.value", message, path, hint, severity="warning")
