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

_MERMAID = 500
"""So many edges are drawn where nobody says otherwise; its own limit, which no flowchart can lift."""


def graph(request: Request, name: str) -> Finished:
    """The plan that is to be drawn in the format `name`, also one that is blocked."""
    # 1. Make the plan, as `plan` does; 2. say what the drawing does not.
    made = plan(request)
    assert made.report["kind"] == "plan"
    return Finished(made.report, EXIT_OK, (*made.remarks, *_remarks(made.report, name)))


def _remarks(report: PlanReport, name: str) -> Iterator[str]:
    if not report["operations"]:
        yield "This plan has no operation: the graph is empty"
    if report["summary"]["blocked"]:
        yield f"This plan is blocked by {count(report['summary']['errors'], 'error')}: `fleetctl plan` tells them"
    edges = sum(len(operation["dependsOn"]) for operation in report["operations"])
    if name == "mermaid" and edges > _MERMAID:
        most = f"Mermaid draws {_MERMAID} dependencies unless its maxEdges says more, and here are {edges:,}"
        yield f"{most}: --format svg draws all, --only a part of the fleet"
