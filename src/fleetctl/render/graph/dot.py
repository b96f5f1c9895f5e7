"""Graphviz' DOT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fleetctl.look import PLAIN, Look
from fleetctl.outline.graph import graph

if TYPE_CHECKING:
    from fleetctl.outline.graph import Node, Severity
    from fleetctl.report.forms import Report

_LOOKS: Final[dict[Severity, str]] = {
    "safe": 'shape=box, fillcolor="#e3f1e6", color="#4f8a5f"',
    "lowers": 'shape=box, style="filled,rounded", fillcolor="#fdf3d0", color="#a8862a"',
    "withdraws": 'shape=hexagon, fillcolor="#fde4cf", color="#b8621b"',
    "irreversible": 'shape=octagon, fillcolor="#fbd9d9", color="#b02a2a", penwidth=3',
}
_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})
"""DOT reads the escapes of a quoted text, and in a label HTML's entities as well."""


def render(report: Report, _look: Look = PLAIN) -> str:
    """A digraph from left to right."""
    drawn = graph(report)
    lines = [
        "digraph plan {",
        f"  label={_quoted(f'{drawn.title}: {drawn.sums}')};",
        '  rankdir=LR; bgcolor="transparent"; fontname="Helvetica"; fontcolor="#777777";',
        '  node [style=filled, fontname="Helvetica", fontcolor="#111111"]; edge [color="#777777"];',
        *map(_node, drawn.nodes),
        *(f"  n{first} -> n{then};" for first, then in drawn.edges),
        "}",
    ]
    return "".join(f"{line}\n" for line in lines).encode("ascii", "xmlcharrefreplace").decode()


def _node(node: Node) -> str:
    return f"  n{node.n} [label={_quoted(*node.lines)}, tooltip={_quoted(node.title)}, {_LOOKS[node.severity]}];"


def _quoted(*lines: str) -> str:
    said = "\\n".join(line.translate(_QUOTED) for line in lines)
    return f'"{said}"'
