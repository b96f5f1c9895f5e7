"""Which give each need waits for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fleetctl.order.wishes import cover

amounts = st.lists(st.integers(1, 9), max_size=6)


def test_needs_and_gives_are_walked_side_by_side() -> None:
    assert list(cover([(1, 5), (2, 5)], [(3, 3), (4, 7)])) == [(3, 1, 3), (4, 1, 2), (4, 2, 5)]


def test_what_no_give_covers_is_spared_from_the_front() -> None:
    assert list(cover([(1, 5), (2, 5)], [(3, 4)])) == [(3, 2, 4)]


def test_what_is_given_beyond_the_needs_is_left() -> None:
    assert list(cover([(1, 5)], [(3, 9), (4, 9)])) == [(3, 1, 5)]


def test_nothing_given_makes_nothing_wait() -> None:
    assert list(cover([(1, 5)], [])) == []


@given(amounts, amounts)
def test_whichever_needs_are_done_the_gives_they_wait_for_cover_them(needs: list[int], gives: list[int]) -> None:
    found = list(cover(list(enumerate(needs)), list(enumerate(gives))))
    spare = max(0, sum(needs) - sum(gives))
    for done in range(1 << len(needs)):
        taken = sum(amount for n, amount in enumerate(needs) if done >> n & 1)
        waited_for = {give for give, need, _ in found if done >> need & 1}
        assert taken - spare <= sum(gives[give] for give in waited_for)


@given(amounts, amounts)
def test_there_are_no_more_edges_than_needs_and_gives(needs: list[int], gives: list[int]) -> None:
    assert len(list(cover(list(enumerate(needs)), list(enumerate(gives))))) <= len(needs) + len(gives)
