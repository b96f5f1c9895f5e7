"""Slips: words that are nearly another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.words import edits, slips

WORDS = st.text("ab2", max_size=8)


def distance(left: str, right: str) -> int:
    """Single-letter edits between two words, however many: the slow way, to which the quick one is held."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(before + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


@pytest.mark.parametrize(
    ("left", "right", "steps"),
    [("", "", 0), ("", "gpu", 3), ("gpu", "gpu", 0), ("gpu", "cpu", 1), ("gpus", "gpu", 1), ("gup", "gpu", 2)],
)
def test_single_letter_edits_are_counted_either_way(left: str, right: str, steps: int) -> None:
    assert edits(left, right, 3) == edits(right, left, 3) == distance(left, right) == steps


@given(WORDS, WORDS, st.integers(0, 3))
def test_a_few_edits_are_counted_as_many_are(left: str, right: str, most: int) -> None:
    assert edits(left, right, most) == min(distance(left, right), most + 1)


def test_a_slip_is_at_most_two_edits_away_whatever_its_case() -> None:
    assert list(slips("VCPUS", ("vcpu", "gpu", "diskGiB"))) == [(1, "vcpu")]
    assert sorted(slips("cpu", ("vcpu", "gpu", "gpu.mig"))) == [(1, "gpu"), (1, "vcpu")]


def test_a_word_of_any_length_is_judged_at_once() -> None:
    assert list(slips("x" * 10_000_000, ("vcpu",))) == []
