"""Fleet tests in words: each that failed with all that is otherwise than expected, and the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline.problems import place
from fleetctl.outline.shape import Item, Outline, Section, Sentence, Words, filled
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import FleetTestResult, FleetTestsReport


def outline(report: FleetTestsReport, **_: bool) -> Outline:
    """One line a test; those that failed come first."""
    tests = sorted(report["tests"], key=lambda test: test["passed"])
    return Outline(
        kind="tests", sections=filled(Section(title="", items=tuple(map(_item, tests)))), closing=(_sum(report),)
    )


def _item(test: FleetTestResult) -> Item:
    return Item(
        subject=escape(test["name"]),
        tone="plain" if test["passed"] else "bad",
        verb="pass" if test["passed"] else "fail",
        where="" if test["passed"] else place(test["source"]),
        notes=tuple(Words(f"{place(m['source'])}: {escape(m['message'])}", foreign=True) for m in test["mismatches"]),
        alarm=not test["passed"],
    )


def _sum(report: FleetTestsReport) -> Sentence:
    summary = report["summary"]
    if not summary["failed"]:
        return (Words(f"{count(summary['tests'], 'test')} passed.", "good"),)
    return (Words(f"{summary['failed']:,} of {count(summary['tests'], 'test')} failed.", "bad"),)
