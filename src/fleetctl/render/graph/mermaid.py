"""Mermaid's flowchart, which hosts of pull requests draw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fleetctl.look import PLAIN, Look
from fleetctl.outline.graph import graph

if TYPE_CHECKING:
    from fleetctl.outline.graph import Node, Severity
    from fleetctl.report.forms import Report

_SHAPES: Final[dict[Severity, tuple[str, str]]] = {
    "safe": ("[", "]"),
    "lowers": ("([", "])"),
    "withdraws": ("{{", "}}"),
    "irreversible": ("[[", "]]"),
}
_CLASSES: Final[dict[Severity, str]] = {
    "safe": "fill:#e3f1e6,stroke:#4f8a5f,color:#111111",
    "lowers": "fill:#fdf3d0,stroke:#a8862a,color:#111111",
    "withdraws": "fill:#fde4cf,stroke:#b8621b,color:#111111",
    "irreversible": "fill:#fbd9d9,stroke:#b02a2a,stroke-width:3px,color:#111111",
}
_MARKUP = re.compile(r"[^A-Za-z0-9 .,:/()-]")
"""What may mean something in a label: markdown, HTML, or the end of it."""


def render(report: Report, _look: Look = PLAIN) -> str:
    """A flowchart from left to right; one without nodes is a flowchart too."""
    drawn = graph(report)
    lines = ["flowchart LR", f"  accTitle: Plan: {drawn.sums}"]
    if drawn.nodes:
        lines += [f"  classDef {severity} {style}" for severity, style in _CLASSES.items()]
    lines += map(_node, drawn.nodes)
    lines += (f"  n{first} --> n{then}" for first, then in drawn.edges)
    return "".join(f"{line}\n" for line in lines)


def _node(node: Node) -> str:
    begin, end = _SHAPES[node.severity]
    return f'  n{node.n}{begin}"{"<br/>".join(map(_label, node.lines))}"{end}:::{node.severity}'


def _label(text: str) -> str:
    """A text in which nothing is markup: the code of a character stands for it."""
    return _MARKUP.sub(lambda match: f"#{ord(match[0])};", text)
