"""Mermaid's flowchart, which hosts of pull requests draw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fleetctl.look import PLAIN, Look
from fleetctl.outline.graph import dependencies, graph
from fleetctl.render.graph.palette import PAINTS, TEXT

if TYPE_CHECKING:
    from fleetctl.outline.graph import Node, Severity
    from fleetctl.report.forms import Report

_SHAPES: Final[dict[Severity, tuple[str, str]]] = {
    "safe": ("[", "]"),
    "lowers": ("([", "])"),
    "withdraws": ("{{", "}}"),
    "irreversible": ("[[", "]]"),
}
MOST: Final = 500
"""So many arrows are drawn where nobody says otherwise; Mermaid's own limit, which no flowchart can lift."""
LONGEST: Final = 50_000
"""So many characters are read, likewise."""
_MARKUP = re.compile(r"[^A-Za-z0-9 .,:/()-]")
"""What may mean something in a label: markdown, HTML, or the end of it."""


def render(report: Report, _look: Look = PLAIN) -> str:
    """A flowchart from left to right; one without nodes is a flowchart too."""
    drawn = graph(report)
    lines = ["flowchart LR", f"  accTitle: Plan: {drawn.sums}"]
    if drawn.nodes:
        lines += map(_class, PAINTS)
    lines += map(_node, drawn.nodes)
    lines += (f"  n{first} --> n{then}" for first, then in drawn.edges)
    return "".join(f"{line}\n" for line in lines)


def remarks(report: Report) -> tuple[str, ...]:
    """What whoever asked for this format must know: that the flowchart is more than Mermaid draws."""
    over = []
    if (number := dependencies(report)) > MOST:
        over.append(f"{MOST} dependencies unless its maxEdges says more, and here are {number:,}")
    if (length := len(render(report))) > LONGEST:
        over.append(f"{LONGEST:,} characters unless its maxTextSize says more, and here are {length:,}")
    if not over:
        return ()
    return (f"Mermaid draws {'; and '.join(over)}: --format svg draws all, --only a part of the fleet",)


def _class(severity: Severity) -> str:
    paint = PAINTS[severity]
    wide = f",stroke-width:{paint.width}px" if paint.width > 1 else ""
    return f"  classDef {severity} fill:{paint.fill},stroke:{paint.outline}{wide},color:{TEXT}"


def _node(node: Node) -> str:
    begin, end = _SHAPES[node.severity]
    return f'  n{node.n}{begin}"{"<br/>".join(map(_label, node.lines))}"{end}:::{node.severity}'


def _label(text: str) -> str:
    """A text in which nothing is markup: the code of a character stands for it."""
    return _MARKUP.sub(lambda match: f"#{ord(match[0])};", text)
