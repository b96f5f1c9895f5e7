"""The ordering of large plans: few edges, and a cost that grows with the plan."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleetctl.order import arrange
from tests.fleetctl.order.fleets import Change
from tests.fleetctl.order.shapes import SHAPES
from tests.timing import times_as_long


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
    def prepared(size: int) -> Callable[[], object]:
        found = shape(size)
        return lambda: arrange(found.commands, found.live)

    times = times_as_long(prepared, 10_000, 100_000, runs=3)
    with capsys.disabled():
        print(f"\n{shape.__name__}: 100,000 take {times:.1f} times as long as 10,000")
    assert times < 25
