"""As many as can be have one, a different one each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from fleetctl.fleet_tests.assignment import assigned
from tests.timing import times_as_long

candidates = st.lists(st.lists(st.integers(0, 4), max_size=5, unique=True), max_size=5)


@given(candidates)
def test_each_has_one_of_its_own_and_no_other_choice_gives_more(found: list[list[int]]) -> None:
    made = assigned(found)
    assert all(index in found[wanted] for wanted, index in made.items())
    assert len(set(made.values())) == len(made) == most(found)


def test_more_that_are_alike_than_there_are_cost_no_cube() -> None:
    """Where one found none, the next does not look again."""

    def prepared(size: int) -> Callable[[], object]:
        return lambda: assigned([range(size)] * (2 * size))

    assert times_as_long(prepared, 50, 200) < 32, "the square is 16 times as long, the cube 64"


def most(found: Sequence[Sequence[int]]) -> int:
    """How many can have one: every order of all that there are is tried."""
    orders = permutations(range(5), len(found))
    return max(sum(index in among for index, among in zip(order, found, strict=True)) for order in orders)
