"""Each node has a place of its own, to the right of all that it waits for."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fleetctl.outline.graph import Node
from fleetctl.render.graph.layout import Layout, layout


def laid(*waits: tuple[int, ...]) -> Layout:
    """Nodes numbered from 1, each with those that it waits for."""
    return layout([Node(n, (f"{n}",), f"{n}", "safe", before) for n, before in enumerate(waits, 1)])


graphs = st.lists(st.sets(st.integers(1, 30), max_size=3), max_size=30).map(
    lambda waits: [tuple(sorted(before for before in each if before < n)) for n, each in enumerate(waits, 1)]
)


@given(graphs)
def test_every_node_is_to_the_right_of_what_it_waits_for_and_alone_in_its_place(waits: list[tuple[int, ...]]) -> None:
    found = laid(*waits)
    assert sorted(found.places) == list(range(1, len(waits) + 1))
    for n, before in enumerate(waits, 1):
        assert all(found.places[n][0] > found.places[each][0] for each in before)
    for column in range(found.columns):
        rows = sorted(row for at, row in found.places.values() if at == column)
        assert all(later - row >= 1 for row, later in pairwise(rows))
        assert all(0 <= row <= found.rows - 1 for row in rows)


def test_what_hangs_together_stands_in_one_band() -> None:
    found = laid((), (), (1,), (2,), (1,), (2,))
    assert [found.places[n] for n in (1, 3, 5)] == [(0, 0.5), (1, 0), (1, 1)]
    assert [found.places[n] for n in (2, 4, 6)] == [(0, 2.5), (1, 2), (1, 3)]


def test_a_node_stands_beside_what_it_waits_for() -> None:
    found = laid((), (), (2,), (1,), (3, 4))
    assert found.places[4][1] < found.places[3][1]


def test_those_that_are_alone_stand_abreast_below_the_others() -> None:
    found = laid((), (1,), *[()] * 6)
    assert [found.places[n] for n in range(3, 9)] == [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2), (1, 2)]
    assert (found.columns, found.rows) == (4, 3)


def test_nothing_takes_no_room() -> None:
    assert laid() == Layout({}, 0, 0)
