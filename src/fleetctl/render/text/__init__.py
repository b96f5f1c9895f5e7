"""Terminal output: a report as people read it, calm and with the dangerous first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from fleetctl.render.text import applied, drifted, plan, small
from fleetctl.render.text.style import Style

if TYPE_CHECKING:
    from fleetctl.report.forms import Outcome, Report


def render(report: Report, *, colour: bool = False, verbose: bool = False) -> str:
    """The report in lines of text, each ended. Text from files and servers is escaped; only `colour` adds sequences."""
    return "".join(f"{line}\n" for line in _lines(report, Style(colour, verbose)))


def progress_line(outcome: Outcome, number: int, total: int, *, colour: bool = False) -> str:
    """One operation that ended, the `number`th of `total`."""
    return applied.progress_line(outcome, number, total, Style(colour))


def _lines(report: Report, style: Style) -> Iterator[str]:
    match report["kind"]:
        case "plan":
            return plan.plan(report, style)
        case "apply":
            return applied.applied(report, style)
        case "drift":
            return drifted.drift(report, style)
        case "validation":
            return small.validation(report, style)
        case "id":
            return small.derived_id(report, style)
        case "whoami":
            return small.whoami(report, style)
        case "error":
            return small.error(report, style)
    assert_never(report)
