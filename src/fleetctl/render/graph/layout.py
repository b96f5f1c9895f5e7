"""Places for the nodes of a graph: in columns by the longest way that leads there, what hangs together in one band."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetctl.outline.graph import Node

_ABREAST = 4
"""Columns, at least, in which those stand that neither wait nor are waited for."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Column and row of each node by its number, both from 0; a row may be a half. `columns` and `rows` hold all."""

    places: Mapping[int, tuple[int, float]]
    columns: int
    rows: int


def layout(nodes: Sequence[Node]) -> Layout:
    """Linear in nodes and edges, but for the sorting of columns. The nodes stand in an order in which none waits for a
    later one."""
    ranks: dict[int, int] = {}
    for node in nodes:
        ranks[node.n] = 1 + max((ranks[before] for before in node.waits_for if before in ranks), default=-1)
    bands = _bands(nodes)
    places: dict[int, tuple[int, float]] = {}
    top = 0
    for band in (band for band in bands if len(band) > 1):
        top += _place(band, ranks, top, places)
    alone = [band[0] for band in bands if len(band) == 1]
    columns = max((*ranks.values(), _ABREAST - 1), default=0) + 1
    for index, node in enumerate(alone):
        places[node.n] = (index % columns, top + index // columns)
    used = max((column + 1 for column, _ in places.values()), default=0)
    return Layout(places, used, top - (-len(alone) // columns))


def _place(band: Iterable[Node], ranks: Mapping[int, int], top: int, places: dict[int, tuple[int, float]]) -> int:
    """Place what hangs together, below `top`: in each column by the middle of what a node waits for. The rows taken."""
    columns: dict[int, list[Node]] = {}
    for node in band:
        columns.setdefault(ranks[node.n], []).append(node)
    rows = max(map(len, columns.values()))
    for rank, column in sorted(columns.items()):
        middles = {node.n: _middle(node, places) for node in column}
        first = top + (rows - len(column)) / 2
        for index, node in enumerate(sorted(column, key=lambda node: (middles[node.n], node.n))):
            places[node.n] = (rank, first + index)
    return rows


def _middle(node: Node, places: Mapping[int, tuple[int, float]]) -> float:
    rows = [places[before][1] for before in node.waits_for if before in places]
    return sum(rows) / len(rows) if rows else 0.0


def _bands(nodes: Sequence[Node]) -> list[list[Node]]:
    """The nodes that hang together, in their order."""
    above = {node.n: node.n for node in nodes}
    for node in nodes:
        for before in node.waits_for:
            if before in above:
                above[_top(above, node.n)] = _top(above, before)
    bands: dict[int, list[Node]] = {}
    for node in nodes:
        bands.setdefault(_top(above, node.n), []).append(node)
    return list(bands.values())


def _top(above: dict[int, int], n: int) -> int:
    """Who stands for all that hang together with `n`; the way there is halved for whoever asks next."""
    while above[n] != n:
        above[n] = n = above[above[n]]
    return n
