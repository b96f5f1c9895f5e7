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
    """The report in words for a page, which folds what nobody needs at once: what an apply did is in it, for nobody saw
    its lines as it ran, and so are the pools that drift finds in no file."""
    words = outline(report, verbose=verbose or report["kind"] == "apply")
    if report["kind"] != "drift" or verbose:
        return words
    from fleetctl.outline import drifted, shape  # not at the top: each command loads what it says

    return words._replace(sections=(*words.sections, *shape.filled(drifted.unnamed(report))))
