"""Graph: a plan, to be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fleetctl.errors import EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.flow.plan import plan
from fleetctl.request import Request
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import PlanReport


def graph(request: Request) -> Finished:
    """The plan that is to be drawn, also one that is blocked."""
    # 1. Make the plan, as `plan` does; 2. say what no drawing does.
    made = plan(request)
    assert made.report["kind"] == "plan"
    return Finished(made.report, EXIT_OK, (*made.remarks, *_remarks(made.report)))


def _remarks(report: PlanReport) -> Iterator[str]:
    if not report["operations"]:
        yield "This plan has no operation: the graph is empty"
    if report["summary"]["blocked"]:
        yield f"This plan is blocked by {count(report['summary']['errors'], 'error')}: `fleetctl plan` tells them"
