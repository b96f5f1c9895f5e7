"""The report of fleet tests."""

from __future__ import annotations

from collections.abc import Iterable

from better_compute.domain.policy.secrets import mask_text
from fleetctl.desired.locate import spell
from fleetctl.fleet_tests import Case, Mismatch
from fleetctl.report import forms, problems
from fleetctl.spelling import FORMAT_VERSION


def of_tests(results: Iterable[tuple[Case, list[Mismatch]]]) -> forms.FleetTestsReport:
    """Each test with all in which the plan was not as expected."""
    tests = [_result(case, found) for case, found in results]
    passed = sum(test["passed"] for test in tests)
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": "tests",
        "tests": tests,
        "summary": {"tests": len(tests), "passed": passed, "failed": len(tests) - passed},
    }


def _result(case: Case, found: list[Mismatch]) -> forms.FleetTestResult:
    return {
        "name": mask_text(case.name),
        "passed": not found,
        "mismatches": [_mismatch(case, mismatch) for mismatch in found],
        "source": problems.source(case.place.source()),
    }


def _mismatch(case: Case, mismatch: Mismatch) -> forms.Mismatch:
    return {
        "message": mask_text(mismatch.message),
        "path": mask_text(spell(case.place.document.root, mismatch.path)),
        "source": problems.source(case.place.source(*mismatch.path)),
    }
