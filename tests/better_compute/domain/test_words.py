"""Slips: words that are nearly another one."""

from __future__ import annotations

import pytest

from better_compute.domain.words import distance, slips


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [("", "", 0), ("", "gpu", 3), ("gpu", "gpu", 0), ("gpu", "cpu", 1), ("gpus", "gpu", 1), ("gup", "gpu", 2)],
)
def test_a_distance_counts_single_letter_edits_either_way(left: str, right: str, edits: int) -> None:
    assert distance(left, right) == distance(right, left) == edits


def test_a_slip_is_at_most_two_edits_away_whatever_its_case() -> None:
    assert list(slips("VCPUS", ("vcpu", "gpu", "diskGiB"))) == [(1, "vcpu")]
    assert sorted(slips("cpu", ("vcpu", "gpu", "gpu.mig"))) == [(1, "gpu"), (1, "vcpu")]


def test_a_word_of_any_length_is_judged_at_once() -> None:
    assert list(slips("x" * 10_000_000, ("vcpu",))) == []
