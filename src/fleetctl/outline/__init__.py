"""Outlines: a report in words, without markup. Words exist once, here; renderers lay them out.

Each kind of report has a module; `outline` is the report for people, and a list of results is what tools count.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fleetctl.outline.shape import Outline
    from fleetctl.report.forms import Report

MODULES: Final = {
    "plan": "plan",
    "apply": "applied",
    "drift": "drifted",
    "diff": "fleet_diff",
    "tests": "tested",
    "format": "formatted",
    "explanation": "explained",
    "init": "started",
    "validation": "judged",
    "error": "judged",
    "id": "derived",
    "whoami": "identified",
}
"""Kind of report -> the module that says it, which is imported when it is asked for."""


def outline(report: Report, *, verbose: bool = False) -> Outline:
    """The report in words; `verbose` leaves nothing out."""
    said: Outline = import_module(f"fleetctl.outline.{MODULES[report['kind']]}").outline(report, verbose=verbose)
    return said


def on_page(report: Report, *, verbose: bool = False) -> Outline:
    """The report in words for a page: what an apply did is in it, for nobody saw its lines as it ran."""
    return outline(report, verbose=verbose or report["kind"] == "apply")
