"""Outlines: a report in words, without markup. Words exist once, here; renderers lay them out.

`outline` is the report for people, `results` the list of what tools count: findings, checks, drift, outcomes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from fleetctl.outline import applied, drifted, plan, small
from fleetctl.outline.applied import progress
from fleetctl.outline.results import Result, results
from fleetctl.outline.shape import Outline, plain

if TYPE_CHECKING:
    from fleetctl.report.forms import Report

__all__ = ["Outline", "Result", "outline", "plain", "progress", "results"]


def outline(report: Report, *, verbose: bool = False) -> Outline:
    """The report in words; `verbose` leaves nothing out."""
    match report["kind"]:
        case "plan":
            return plan.outline(report, verbose=verbose)
        case "apply":
            return applied.outline(report, verbose=verbose)
        case "drift":
            return drifted.outline(report, verbose=verbose)
        case "validation":
            return small.validation(report, verbose=verbose)
        case "id":
            return small.derived_id(report)
        case "whoami":
            return small.whoami(report)
        case "error":
            return small.error(report, verbose=verbose)
    assert_never(report)
