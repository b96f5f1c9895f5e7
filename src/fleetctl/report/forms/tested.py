"""The shape of what fleet tests found."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import FormatVersion, Source


class Mismatch(TypedDict):
    """One way in which a plan is not as its test expects; `path` names what the test says of it."""

    message: str
    path: str
    source: Source


class FleetTestResult(TypedDict):
    """One test: it passed where nothing is otherwise than expected. `source` is the test's place."""

    name: str
    passed: bool
    mismatches: list[Mismatch]
    source: Source


class FleetTestsSummary(TypedDict):
    """Counts of tests."""

    tests: int
    passed: int
    failed: int


class FleetTestsReport(TypedDict):
    """What `fleetctl test` found, test by test."""

    formatVersion: FormatVersion
    kind: Literal["tests"]
    tests: list[FleetTestResult]
    summary: FleetTestsSummary
