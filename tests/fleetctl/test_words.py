"""Times, counts and lists in words."""

from __future__ import annotations

import pytest

from fleetctl.words import count, listed, time


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 pools"), (1, "1 pool"), (2, "2 pools"), (100_000, "100,000 pools")]
)
def test_a_noun_follows_its_number(number: int, said: str) -> None:
    assert count(number, "pool") == said


def test_a_time_is_in_utc() -> None:
    assert time(1_796_000_000_999) == "2026-11-30 00:53:20 UTC"


@pytest.mark.parametrize("epoch_ms", [2**63, -(2**63), 10**30])
def test_what_no_calendar_holds_is_shown_as_it_is(epoch_ms: int) -> None:
    assert time(epoch_ms) == f"{epoch_ms} ms"


@pytest.mark.parametrize(
    ("names", "said"),
    [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcd", "a, b and 2 more tenants")],
)
def test_a_list_stays_short(names: str, said: str) -> None:
    assert listed(list(names), "tenant") == said
