"""JSON Schemas of the reports, made from their forms."""

from __future__ import annotations

from typing import Any, Final

from fleetctl.report import forms
from fleetctl.spelling import schema_of

FORMS: Final[dict[str, type]] = {
    "plan.v1": forms.PlanReport,
    "report.v1": forms.ApplyReport,
    "drift.v1": forms.DriftReport,
    "diff.v1": forms.FleetDiffReport,
    "explanation.v1": forms.ExplanationReport,
    "format.v1": forms.FormatReport,
    "init.v1": forms.InitReport,
    "tests.v1": forms.FleetTestsReport,
    "validation.v1": forms.ValidationReport,
    "id.v1": forms.IdReport,
    "whoami.v1": forms.WhoamiReport,
    "error.v1": forms.ErrorReport,
}
"""Name of the schema -> the report it is of."""


def schema(name: str) -> dict[str, Any]:
    """JSON Schema 2020-12 of a report. Raises KeyError."""
    return schema_of(FORMS[name])
