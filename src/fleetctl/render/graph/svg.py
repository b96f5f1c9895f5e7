"""SVG, drawn here: no program is needed, and nothing in it is run or fetched. It reads on a dark page and on a light
one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape as xml

from fleetctl.look import PLAIN, Look
from fleetctl.outline.graph import graph
from fleetctl.render.graph.layout import layout
from fleetctl.render.graph.palette import PAINTS, QUIET, TEXT

if TYPE_CHECKING:
    from fleetctl.outline.graph import Graph, Node, Severity
    from fleetctl.report.forms import Report

_WIDE, _HIGH = 256, 60
"""A node, in pixels: room for the longest of its lines."""
_STEP_X, _STEP_Y = _WIDE + 72, _HIGH + 16
_MARGIN, _HEAD, _LINE = 16, 32, 16
_BEVEL = 12
_LEAST = 480
"""Room for the title."""
_OUTLINES: Final[dict[Severity, str]] = {
    "safe": f"h{_WIDE}v{_HIGH}h-{_WIDE}z",
    "lowers": f"m20 0h{_WIDE - 40}a20 30 0 0 1 0 {_HIGH}h-{_WIDE - 40}a20 30 0 0 1 0 -{_HIGH}z",
    "withdraws": f"m{_BEVEL} 0h{_WIDE - 2 * _BEVEL}l{_BEVEL} {_HIGH // 2}l-{_BEVEL} {_HIGH // 2}"
    f"h-{_WIDE - 2 * _BEVEL}l-{_BEVEL} -{_HIGH // 2}z",
    "irreversible": f"m{_BEVEL} 0h{_WIDE - 2 * _BEVEL}l{_BEVEL} {_BEVEL}v{_HIGH - 2 * _BEVEL}l-{_BEVEL} {_BEVEL}"
    f"h-{_WIDE - 2 * _BEVEL}l-{_BEVEL} -{_BEVEL}v-{_HIGH - 2 * _BEVEL}z",
}
"""A box, a rounded one, a hexagon and an octagon, from their left upper corners."""


def render(report: Report, _look: Look = PLAIN) -> str:
    """A picture with a title, and a text in its place for those who do not see it."""
    drawn = graph(report)
    found = layout(drawn.nodes)
    width = max(_LEAST, found.columns * _STEP_X - (_STEP_X - _WIDE) + 2 * _MARGIN)
    height = found.rows * _STEP_Y + _HEAD + _MARGIN
    places = {n: (_MARGIN + column * _STEP_X, _HEAD + row * _STEP_Y) for n, (column, row) in found.places.items()}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="plan-title plan-text"'
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<title id="plan-title">{xml(drawn.title)}</title>',
        f'<desc id="plan-text">{xml(_text(drawn))}</desc>',
        '<marker id="plan-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{QUIET}"/></marker>',
        f'<g font-family="ui-monospace,monospace" font-size="12" fill="{QUIET}">',
        f'<text x="{_MARGIN}" y="20">{xml(f"{drawn.title}: {drawn.sums}")}</text>',
        f'<g fill="none" stroke="{QUIET}">',
        *(_edge(places[first], places[then]) for first, then in drawn.edges if first in places),
        f'</g><g fill="{TEXT}">',
        *(line for node in drawn.nodes for line in _node(node, *places[node.n])),
        "</g></g></svg>",
    ]
    return "".join(f"{line}\n" for line in lines).encode("ascii", "xmlcharrefreplace").decode()


def _text(drawn: Graph) -> str:
    said = f"{drawn.sums[0].upper()}{drawn.sums[1:]}."
    return f"{said} An arrow leads from each operation to those that wait for it." if drawn.edges else said


def _edge(first: tuple[float, float], then: tuple[float, float]) -> str:
    """From the right side of one to the left side of the other."""
    x, y, to_x, to_y = first[0] + _WIDE, first[1] + _HIGH / 2, then[0], then[1] + _HIGH / 2
    bend = (to_x - x) / 2
    start, end = f"{_px(x)} {_px(y)}", f"{_px(to_x)} {_px(to_y)}"
    path = f"M{start}C{_px(x + bend)} {_px(y)} {_px(to_x - bend)} {_px(to_y)} {end}"
    return f'<path d="{path}" marker-end="url(#plan-arrow)"/>'


def _node(node: Node, x: float, y: float) -> Iterator[str]:
    outline = f"M{_px(x)} {_px(y)}{_OUTLINES[node.severity]}"
    yield f'<g><title>{xml(node.title)}</title><path {_paint(node.severity)} d="{outline}"/>'
    first = y + (_HIGH - _LINE * len(node.lines)) / 2 + 12
    for index, line in enumerate(node.lines):
        yield f'<text x="{_px(x + 14)}" y="{_px(first + index * _LINE)}">{xml(line)}</text>'
    yield "</g>"


def _paint(severity: Severity) -> str:
    paint = PAINTS[severity]
    wide = f' stroke-width="{paint.width}"' if paint.width > 1 else ""
    return f'fill="{paint.fill}" stroke="{paint.outline}"{wide}'


def _px(value: float) -> str:
    """Without a fraction that is none."""
    return f"{value:.1f}".removesuffix(".0")
