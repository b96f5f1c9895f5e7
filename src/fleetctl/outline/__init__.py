"""Outlines: a report in words, without markup. Words exist once, here; renderers lay them out.

`outline` is the report for people, `results` the list of what tools count: findings, checks, drift, outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from fleetctl.outline import applied, drifted, explained, fleet_diff, formatted, plan, small, started, tested
from fleetctl.outline.applied import progress
from fleetctl.outline.results import Result, results
from fleetctl.outline.shape import Outline, plain

if TYPE_CHECKING:
    from fleetctl.report.forms import Report

__all__ = ["Outline", "Result", "outline", "plain", "progress", "results"]


_LONG: Final[dict[str, Callable[..., Outline]]] = {
    "plan": plan.outline,
    "apply": applied.outline,
    "drift": drifted.outline,
    "diff": fleet_diff.outline,
    "explanation": explained.outline,
    "format": formatted.outline,
    "validation": small.validation,
    "error": small.error,
}
"""By the kind of report, those of which something may be left out."""
_SHORT: Final[dict[str, Callable[..., Outline]]] = {
    "init": started.outline,
    "tests": tested.outline,
    "id": small.derived_id,
    "whoami": small.whoami,
}


def outline(report: Report, *, verbose: bool = False) -> Outline:
    """The report in words; `verbose` leaves nothing out."""
    kind = report["kind"]
    return _SHORT[kind](report) if kind in _SHORT else _LONG[kind](report, verbose=verbose)
