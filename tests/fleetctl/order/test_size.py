"""The ordering of large plans and its proof: few edges, and a cost that grows with the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from better_compute.domain.ids import DERIVATION
from better_compute.domain.problems import errors
from fleetctl import preflight
from fleetctl.live import Instance, Live
from fleetctl.order import Ordering, arrange, untangle
from tests.fleetctl.order.fleets import ROOT, Change
from tests.fleetctl.order.laws import FACTS
from tests.fleetctl.order.shapes import SHAPES, everything_contradicts, everything_moves, one_pool
from tests.timing import times_as_long

Shape = Callable[[int], Change]

MOST = 15
"""Ten times the operations take no longer than so many times as long; the square would be 100 times."""
MOST_OF_ALL = 20
"""The same where no cache holds the plan any more. The steps are still ten times as many."""


def proven(found: Change) -> Ordering:
    """The operations in order, and that order folded through the control plane's own decisions: none is refused."""
    ordering = arrange(found.commands, found.live)
    instance = Instance(url="", id="", derivation=DERIVATION, capabilities=frozenset(), digest_key=b"", now=FACTS.now)
    live = Live(
        instance=instance, reader_id="sa_fleet", tenant_id=ROOT, sequence=0, pools=found.live, sites=FACTS.sites or {}
    )
    commands = [found.commands[n] for n in ordering.sequence]
    # No more of an operation is asked for.
    operations: list[Any] = [SimpleNamespace(pool_id=command.pool_id, command=command) for command in commands]
    judged = preflight.fold(operations, live, "sa_fleet")
    assert ordering.cycles == ()
    assert [found for each in judged for found in errors(each)] == []
    return ordering


def growth(shape: Shape, few: int, runs: int) -> float:
    """How many times as long ten times the operations take, with all that is given up of them."""

    def prepared(size: int) -> Callable[[], object]:
        found = shape(size)
        return lambda: proven(found)

    return times_as_long(prepared, few, 10 * few, runs=runs)


@pytest.mark.parametrize("shape", SHAPES)
def test_edges_are_few_for_each_operation(shape: Shape) -> None:
    found = shape(2000)
    ordering = proven(found)
    assert sum(map(len, ordering.depends_on)) <= 3 * len(found.commands)
    assert sorted(ordering.sequence) == list(range(len(found.commands)))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_of_order_and_proof_grows_with_the_plan(shape: Shape) -> None:
    assert growth(shape, 500, runs=3) < MOST


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_grows_so_up_to_100_000_operations(shape: Shape, capsys: pytest.CaptureFixture[str]) -> None:
    times = growth(shape, 10_000, runs=3)
    with capsys.disabled():
        print(f"\n{shape.__name__}: 100,000 take {times:.1f} times as long as 10,000")
    assert times < MOST_OF_ALL


def test_a_knot_of_cycles_is_untangled_in_steps_that_grow_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real, steps = untangle._Run._step, Counter[int]()

    def step(self: Any, number: int) -> None:
        steps[len(self.done)] += 1
        real(self, number)

    monkeypatch.setattr(untangle._Run, "_step", step)
    few, many = (everything_contradicts(size) for size in (10_000, 40_000))
    for found in (few, many):
        assert len(arrange(found.commands, found.live).given_up) > len(found.commands) / 4
    assert steps[len(many.commands)] < 5 * steps[len(few.commands)]


def test_a_proof_that_looks_at_the_whole_pool_each_time_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: each operation copies the state that it is judged in."""
    real = preflight._advance

    def advance(model: Any, *given: Any) -> Any:
        model.copy()
        return real(model, *given)

    monkeypatch.setattr(preflight, "_advance", advance)
    assert growth(one_pool, 200, runs=1) > MOST


def test_an_order_that_looks_through_all_that_is_ready_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the smallest of what waits for nothing is looked for anew each time."""
    monkeypatch.setattr(untangle, "heappop", lambda ready: ready.pop(ready.index(min(ready))))
    assert growth(everything_moves, 2000, runs=1) > MOST
