"""The ordering of large plans: few edges, and a cost that grows with the plan."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from fleetctl.order import arrange
from tests.fleetctl.order.fleets import Change
from tests.fleetctl.order.shapes import SHAPES


@pytest.mark.parametrize("shape", SHAPES)
def test_edges_are_few_for_each_operation(shape: Callable[[int], Change]) -> None:
    found = shape(2000)
    ordering = arrange(found.commands, found.live)
    assert sum(map(len, ordering.depends_on)) <= 3 * len(found.commands)
    assert sorted(ordering.sequence) == list(range(len(found.commands)))


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_grows_with_the_plan(shape: Callable[[int], Change], capsys: pytest.CaptureFixture[str]) -> None:
    # Ten times the operations; the square would be 100 times the seconds. Caches that no longer hold it cost some.
    few, many = (_seconds(shape(size)) for size in (10_000, 100_000))
    with capsys.disabled():
        print(f"\n{shape.__name__}: {few:.3f} s for 10,000, {many:.3f} s for 100,000, {many / few:.1f} times")
    assert many < 25 * few


def _seconds(found: Change) -> float:
    """Of the processor, the best of three."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        arrange(found.commands, found.live)
        taken.append(time.process_time() - start)
    return min(taken)
