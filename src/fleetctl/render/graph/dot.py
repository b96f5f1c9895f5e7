"""Graphviz' DOT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fleetctl.look import PLAIN, Look
from fleetctl.outline.graph import graph
from fleetctl.render.graph.palette import PAINTS, QUIET, TEXT

if TYPE_CHECKING:
    from fleetctl.outline.graph import Node, Severity
    from fleetctl.report.forms import Report

_SHAPES: Final[dict[Severity, str]] = {
    "safe": "shape=box",
    "lowers": 'shape=box, style="filled,rounded"',
    "withdraws": "shape=hexagon",
    "irreversible": "shape=octagon",
}
_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})
"""DOT reads the escapes of a quoted text, and in a label HTML's entities as well."""


def render(report: Report, _look: Look = PLAIN) -> str:
    """A digraph from left to right."""
    drawn = graph(report)
    lines = [
        "digraph plan {",
        f"  label={_quoted(f'{drawn.title}: {drawn.sums}')};",
        f'  rankdir=LR; bgcolor="transparent"; fontname="Helvetica"; fontcolor="{QUIET}";',
        f'  node [style=filled, fontname="Helvetica", fontcolor="{TEXT}"]; edge [color="{QUIET}"];',
        *map(_node, drawn.nodes),
        *(f"  n{first} -> n{then};" for first, then in drawn.edges),
        "}",
    ]
    return "".join(f"{line}\n" for line in lines).encode("ascii", "xmlcharrefreplace").decode()


def _node(node: Node) -> str:
    return f"  n{node.n} [label={_quoted(*node.lines)}, tooltip={_quoted(node.title)}, {_paint(node.severity)}];"


def _paint(severity: Severity) -> str:
    paint = PAINTS[severity]
    wide = f", penwidth={paint.width}" if paint.width > 1 else ""
    return f'{_SHAPES[severity]}, fillcolor="{paint.fill}", color="{paint.outline}"{wide}'


def _quoted(*lines: str) -> str:
    said = "\\n".join(line.translate(_QUOTED) for line in lines)
    return f'"{said}"'
