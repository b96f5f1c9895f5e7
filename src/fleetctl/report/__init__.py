"""Reports: what a command found or did, as JSON-ready values. Every output is made from them.

`forms` are their shapes, the public contract; each `of_` module makes one, `parts` what several share (here values are
masked), `grants` who loses what and the capacity. `plan_file` spells them as bytes and reads plans back; `schemas` are
their JSON Schemas.
"""

from fleetctl.report.forms import (
    ApplyReport,
    ApprovedBy,
    DriftReport,
    ErrorReport,
    FleetDiffReport,
    FleetTestsReport,
    FormatReport,
    IdReport,
    InitReport,
    PlanReport,
    Report,
    ValidationReport,
    WhoamiReport,
)
from fleetctl.report.of_apply import of_apply, of_outcome
from fleetctl.report.of_drift import of_drift
from fleetctl.report.of_fleet_diff import of_fleet_diff
from fleetctl.report.of_format import of_format
from fleetctl.report.of_init import of_init
from fleetctl.report.of_others import of_id, of_problems, of_validate, of_whoami
from fleetctl.report.of_plan import of_plan
from fleetctl.report.of_tests import of_tests
from fleetctl.report.parts import Header, problem
from fleetctl.report.plan_file import file_bytes, read_plan, saved_plan
from fleetctl.report.saved import read_report
from fleetctl.report.tenants import capacity
from fleetctl.spelling import canonical_text

__all__ = [
    "ApplyReport",
    "ApprovedBy",
    "DriftReport",
    "ErrorReport",
    "FleetDiffReport",
    "FleetTestsReport",
    "FormatReport",
    "Header",
    "IdReport",
    "InitReport",
    "PlanReport",
    "Report",
    "ValidationReport",
    "WhoamiReport",
    "canonical_text",
    "capacity",
    "file_bytes",
    "of_apply",
    "of_drift",
    "of_fleet_diff",
    "of_format",
    "of_id",
    "of_init",
    "of_outcome",
    "of_plan",
    "of_problems",
    "of_tests",
    "of_validate",
    "of_whoami",
    "problem",
    "read_plan",
    "read_report",
    "saved_plan",
]
