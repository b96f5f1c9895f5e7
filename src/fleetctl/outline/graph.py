"""A plan as a graph in words: every operation a node, and the ones that it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from better_compute.domain.escape import escape
from fleetctl.outline import operations, values
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import Operation, PlanReport, Report

Severity = Literal["safe", "lowers", "withdraws", "irreversible"]

_LONGEST = 32
"""Characters of a line of a node."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operation by its number in the plan's order. `lines` are short, and each begins with a word of ours; `title`
    is whole; `waits_for` are the numbers of those that come before it."""

    n: int
    lines: tuple[str, ...]
    title: str
    severity: Severity
    waits_for: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """`sums` holds no name of files or servers."""

    title: str
    sums: str
    nodes: tuple[Node, ...]

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Pairs of numbers: the first comes before the second."""
        return [(before, node.n) for node in self.nodes for before in node.waits_for]


def graph(report: Report) -> Graph:
    """The graph of a plan; of any other report an empty one."""
    if report["kind"] != "plan":
        return Graph(f"No plan: {report['kind']}", "no operations", ())
    nodes = tuple(map(_node, report["operations"]))
    return Graph(f"Plan of fleet {escape(report['fleet'])}", _sums(report), nodes)


def dependencies(report: Report) -> int:
    """How many arrows the graph of a report has."""
    return sum(len(operation["dependsOn"]) for operation in report["operations"]) if report["kind"] == "plan" else 0


def _sums(report: PlanReport) -> str:
    edges = dependencies(report)
    waits = f"{edges:,} {'dependency' if edges == 1 else 'dependencies'}"
    blocked = ", blocked" if report["summary"]["blocked"] else ""
    done = f"{count(len(report['operations']), 'operation')}, {waits}" if report["operations"] else "no operations"
    return done + blocked


def _node(operation: Operation) -> Node:
    n, severity = operation["n"], operation["severity"]
    lines = (f"{operations.verb(operation)} {operations.name(operation)}", operations.whom(operation))
    return Node(
        n=n,
        lines=tuple(values.cut(line, _LONGEST) for line in (*lines, f"{severity}, #{n}") if line),
        title=f"#{n} {operations.named(operation)} ({severity})",
        severity=severity,
        waits_for=tuple(operation["dependsOn"]),
    )
