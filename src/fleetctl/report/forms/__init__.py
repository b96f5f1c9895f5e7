"""The shapes of every report: what `--format json` prints, what files hold, what renderers read.

They are the public contract: `schemas/` is generated from them, docstrings included. Times are epoch milliseconds by
the server's clock. `(sensitive)` stands where a value is that no output may show.
"""

from __future__ import annotations

from fleetctl.report.forms.applied import ApplyReport, ApplySummary, ApprovedBy, Outcome
from fleetctl.report.forms.drifted import Drifted, DriftReport, DriftSummary
from fleetctl.report.forms.planned import (
    Capacity,
    Inverse,
    Loss,
    Operation,
    PlanReport,
    PlanSummary,
    Reason,
    Share,
    Stock,
)
from fleetctl.report.forms.shared import (
    Action,
    Base,
    Cause,
    Change,
    FormatVersion,
    Headed,
    Json,
    Note,
    Problem,
    Selection,
    Server,
    Source,
)
from fleetctl.report.forms.small import (
    Derived,
    ErrorReport,
    Identity,
    IdReport,
    Missing,
    Pins,
    ValidationReport,
    ValidationSummary,
    WhoamiReport,
)

Report = PlanReport | ApplyReport | DriftReport | ValidationReport | IdReport | WhoamiReport | ErrorReport

__all__ = [
    "Action",
    "ApplyReport",
    "ApplySummary",
    "ApprovedBy",
    "Base",
    "Capacity",
    "Cause",
    "Change",
    "Derived",
    "DriftReport",
    "DriftSummary",
    "Drifted",
    "ErrorReport",
    "FormatVersion",
    "Headed",
    "IdReport",
    "Identity",
    "Inverse",
    "Json",
    "Loss",
    "Missing",
    "Note",
    "Operation",
    "Outcome",
    "Pins",
    "PlanReport",
    "PlanSummary",
    "Problem",
    "Reason",
    "Report",
    "Selection",
    "Server",
    "Share",
    "Source",
    "Stock",
    "ValidationReport",
    "ValidationSummary",
    "WhoamiReport",
]
