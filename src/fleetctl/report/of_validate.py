"""The report of what files say wrong."""

from __future__ import annotations

from collections.abc import Sequence

from better_compute.domain.problems import Problem
from fleetctl.desired import Desired
from fleetctl.report import forms, parts, problems
from fleetctl.spelling import FORMAT_VERSION


def of_validate(found: Sequence[Problem], desired: Desired | None) -> forms.ValidationReport:
    """What is wrong with files that wish `desired`; None where they say nothing that can be wished."""
    counts = problems.severities(found)
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": "validation",
        "valid": not counts["error"],
        "problems": problems.worst_first(found),
        "summary": {
            "entries": None if desired is None else len(desired.entries),
            "offers": None if desired is None else parts.offers(desired),
            "errors": counts["error"],
            "warnings": counts["warning"],
            "unchecked": counts["unchecked"],
        },
    }
