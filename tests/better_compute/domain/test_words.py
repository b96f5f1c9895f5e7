"""Slips: words that are nearly another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.words import distance, edits, slips

WORDS = st.text("ab2", max_size=8)


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [("", "", 0), ("", "gpu", 3), ("gpu", "gpu", 0), ("gpu", "cpu", 1), ("gpus", "gpu", 1), ("gup", "gpu", 2)],
)
def test_a_distance_counts_single_letter_edits_either_way(left: str, right: str, edits: int) -> None:
    assert distance(left, right) == distance(right, left) == edits


@given(WORDS, WORDS, st.integers(0, 3))
def test_a_few_edits_are_counted_as_many_are(left: str, right: str, most: int) -> None:
    assert edits(left, right, most) == min(distance(left, right), most + 1)


def test_a_slip_is_at_most_two_edits_away_whatever_its_case() -> None:
    assert list(slips("VCPUS", ("vcpu", "gpu", "diskGiB"))) == [(1, "vcpu")]
    assert sorted(slips("cpu", ("vcpu", "gpu", "gpu.mig"))) == [(1, "gpu"), (1, "vcpu")]


def test_a_word_of_any_length_is_judged_at_once() -> None:
    assert list(slips("x" * 10_000_000, ("vcpu",))) == []
