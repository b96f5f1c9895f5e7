"""The shapes of every report: what `--format json` prints, what files hold, what renderers read.

They are the public contract: `schemas/` is generated from them, docstrings included. Times are epoch milliseconds by
the server's clock. `(sensitive)` stands where a value is that no output may show.
"""

from __future__ import annotations

from fleetctl.report.forms.applied import (
    ApplyReport,
    ApplySummary,
    ApprovedBy,
    LeftOperation,
    Mover,
    Outcome,
    StandingOperation,
    Undo,
)
from fleetctl.report.forms.drifted import Coverage, Drifted, DriftReport, DriftSummary
from fleetctl.report.forms.explained import (
    ExplainedEntry,
    ExplainedEvent,
    ExplainedLive,
    ExplainedPool,
    ExplanationReport,
    Machines,
    PolicyPart,
    Row,
    Tenancy,
    Topic,
    WishedOffer,
)
from fleetctl.report.forms.fleet_diff import (
    ChangedLimit,
    ChangedOffer,
    ChangedPool,
    ComparedSide,
    FleetDiffReport,
    FleetDiffSummary,
)
from fleetctl.report.forms.formatted import FormatReport, FormatSummary, FormattedFile
from fleetctl.report.forms.planned import (
    AskedOfPlan,
    Capacity,
    DriftedOperation,
    GuardCount,
    JointProblem,
    Operation,
    Party,
    PlanReport,
    PlanSummary,
    Reason,
    Revision,
    RevisionPlan,
    Share,
    Shift,
    Stock,
    Together,
)
from fleetctl.report.forms.shared import (
    Action,
    Base,
    Cause,
    Change,
    Compared,
    FormatVersion,
    Headed,
    Inverse,
    Json,
    Note,
    Problem,
    Selection,
    Server,
    Source,
    UnnamedPool,
)
from fleetctl.report.forms.small import (
    Derived,
    DerivedId,
    ErrorReport,
    Identity,
    IdReport,
    Missing,
    Pins,
    ValidationReport,
    ValidationSummary,
    WhoamiReport,
)
from fleetctl.report.forms.started import InitReport
from fleetctl.report.forms.tested import FleetTestResult, FleetTestsReport, FleetTestsSummary, Mismatch

Report = (
    PlanReport
    | ApplyReport
    | DriftReport
    | FleetDiffReport
    | FleetTestsReport
    | FormatReport
    | ExplanationReport
    | InitReport
    | ValidationReport
    | IdReport
    | WhoamiReport
    | ErrorReport
)

__all__ = [
    "Action",
    "ApplyReport",
    "ApplySummary",
    "ApprovedBy",
    "AskedOfPlan",
    "Base",
    "Capacity",
    "Cause",
    "Change",
    "ChangedLimit",
    "ChangedOffer",
    "ChangedPool",
    "Compared",
    "ComparedSide",
    "Coverage",
    "Derived",
    "DerivedId",
    "DriftReport",
    "DriftSummary",
    "Drifted",
    "DriftedOperation",
    "ErrorReport",
    "ExplainedEntry",
    "ExplainedEvent",
    "ExplainedLive",
    "ExplainedPool",
    "ExplanationReport",
    "FleetDiffReport",
    "FleetDiffSummary",
    "FleetTestResult",
    "FleetTestsReport",
    "FleetTestsSummary",
    "FormatReport",
    "FormatSummary",
    "FormatVersion",
    "FormattedFile",
    "GuardCount",
    "Headed",
    "IdReport",
    "Identity",
    "InitReport",
    "Inverse",
    "JointProblem",
    "Json",
    "LeftOperation",
    "Machines",
    "Mismatch",
    "Missing",
    "Mover",
    "Note",
    "Operation",
    "Outcome",
    "Party",
    "Pins",
    "PlanReport",
    "PlanSummary",
    "PolicyPart",
    "Problem",
    "Reason",
    "Report",
    "Revision",
    "RevisionPlan",
    "Row",
    "Selection",
    "Server",
    "Share",
    "Shift",
    "Source",
    "StandingOperation",
    "Stock",
    "Tenancy",
    "Together",
    "Topic",
    "Undo",
    "UnnamedPool",
    "ValidationReport",
    "ValidationSummary",
    "WhoamiReport",
    "WishedOffer",
]
