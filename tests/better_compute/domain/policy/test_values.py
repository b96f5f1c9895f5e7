"""What single values of a policy mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.policy.values import cpu_count, cpu_ranges, effective_ratio, overlap, seconds
from tests.better_compute.domain.policy.strategies import law

cpu_sets = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("text", "length"),
    [("1s", 1), ("90s", 90), ("30m", 1800), ("6h", 21600), ("7d", 604_800), ("90d", 7_776_000), ("007d", 604_800)],
)
def test_a_duration_has_a_length(text: str, length: int) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize(
    "value", ["", "6", "h", "0s", "91d", "7776001s", "6H", "6h ", "6h\n", "-6h", "1.5h", "1h30m",
     "٦h", "9" * 9_999 + "d", 6, True, None]
)  # fmt: skip
def test_other_values_are_no_durations(value: object) -> None:
    assert seconds(value) is None


@pytest.mark.parametrize(
    ("ratio", "acts"),
    [(1, 1), (2.5, 2.5), (0.1, 0.1), (100, 100), (0.001, 0.1), (5e-324, 0.1), (101, 100), (10**400, 100)],
)
def test_a_ratio_acts_as_its_clamp(ratio: float, acts: float) -> None:
    assert effective_ratio(ratio) == acts


@pytest.mark.parametrize("value", [0, -0.0, -1, float("nan"), float("inf"), True, "2", None, [1]])
def test_other_values_are_no_ratios(value: object) -> None:
    assert effective_ratio(value) is None


def ids(pairs: list[tuple[int, int]]) -> set[int]:
    return {cpu for first, more in pairs for cpu in range(first, first + more + 1)}


def text(pairs: list[tuple[int, int]]) -> str:
    return ",".join(str(first) if not more else f"{first}-{first + more}" for first, more in pairs)


@law
@given(cpu_sets, cpu_sets)
def test_cpu_ranges_are_the_set_they_name(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    one, other = cpu_ranges(text(left)), cpu_ranges(text(right))
    assert one is not None
    assert other is not None
    assert ids([(first, last - first) for first, last in one]) == ids(left)
    assert cpu_count(one) == len(ids(left))
    assert overlap(one, other) == overlap(other, one) == min(ids(left) & ids(right), default=None)


def test_a_range_that_runs_backwards_is_none() -> None:
    assert cpu_ranges("1-2,9-4") is None
