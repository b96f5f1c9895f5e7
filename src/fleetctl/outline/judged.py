"""What files say wrong, or why there is no other report, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleetctl.outline import problems
from fleetctl.outline.head import files
from fleetctl.outline.shape import Outline, Sentence, Words, filled

if TYPE_CHECKING:
    from fleetctl.report.forms import ErrorReport, ValidationReport


def outline(report: ValidationReport | ErrorReport, *, verbose: bool) -> Outline:
    return Outline(
        kind=report["kind"],
        sections=filled(problems.section(report["problems"], "", verbose=verbose)),
        closing=(_verdict(report),) if report["kind"] == "validation" else (),
    )


def _verdict(report: ValidationReport) -> Sentence:
    summary = report["summary"]
    found = problems.tally(summary["errors"], summary["warnings"], summary["unchecked"])
    if not report["valid"]:
        more = " More may follow: rules and checks are judged next." if summary["entries"] is None else ""
        return Words(f"Not valid: {found}.", "bad"), Words(more)
    counts = files(summary["entries"] or 0, summary["offers"] or 0)
    return Words(f"Valid: {counts}.", "good"), Words(f" {found}." if found else "")
