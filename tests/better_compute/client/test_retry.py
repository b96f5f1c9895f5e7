"""How long a client waits: by what an answer asks for, in whatever form, or by chance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.client.retry import Retry

NOW = "Fri, 15 Jan 2027 08:00:00 GMT"
"""1,800,000,000 s."""


def retry(random: float = 1.0, *, ahead: int = 0) -> Retry:
    """On a clock that is so many seconds ahead of the world's."""
    return Retry(lambda _: None, lambda: random, lambda: (1_800_000_000 + ahead) * 1000)


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ("2", 2.0),
        ("1.5", 1.5),
        ("007", 7.0),
        (" 2 ", 2.0),
        ("-1", 0.0),
        ("-0.5", 0.0),
        ("86400", 86400.0),
        ("9" * 15, 999_999_999_999_999.0),
        ("9" * 16, None),
        ("9" * 5000, None),
        ("1e3", None),
        ("0x10", None),
        ("2 s", None),
        ("2;q=1", None),
        ("Infinity", None),
        ("nan", None),
        ("abc", None),
        ("", None),
        (",", None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_seconds(value: str, asked: float | None) -> None:
    assert retry().asked({"retry-after": value}) == asked


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ("Fri, 15 Jan 2027 08:00:03 GMT", 3.0),
        ("Friday, 15-Jan-27 08:00:03 GMT", 3.0),
        ("Fri Jan 15 08:00:03 2027", 3.0),
        ("Fri, 15 Jan 2027 08:00:03", 3.0),
        ("Fri, 15 Jan 2027 10:00:03 +0200", 3.0),
        ("Fri, 15 Jan 2027 07:59:59 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Sat, 16 Jan 2027 08:00:00 GMT", 86400.0),
        ("Fri, 99 Jan 2027 08:00:03 GMT", None),
        ("Fri, 15 Jan 99999 08:00:03 GMT", None),
        ("Fri", None),
    ],
)
@pytest.mark.parametrize(("date", "ahead"), [(NOW, 300), (f"{NOW}, {NOW}", -300), (None, 0), ("yesterday", 0)])
def test_a_date_counts_from_the_answers_own_or_from_this_clock(
    value: str, asked: float | None, date: str | None, ahead: int
) -> None:
    dated = {} if date is None else {"date": date}
    assert retry(ahead=ahead).asked({"retry-after": value, **dated}) == asked


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ("2, 5", 5.0),
        ("5, 2", 5.0),
        ("abc, 2", 2.0),
        ("-3, -1", 0.0),
        ("abc, def", None),
        ("2, Fri, 15 Jan 2027 08:00:03 GMT", 3.0),
        ("Fri, 15 Jan 2027 08:00:03 GMT, 9", 9.0),
    ],
)
def test_of_several_the_longest_counts(value: str, asked: float | None) -> None:
    assert retry().asked({"retry-after": value}) == asked


@pytest.mark.parametrize(
    ("header", "body", "asked"),
    [
        (None, None, None),
        (None, 0.25, 0.25),
        ("3", None, 3.0),
        ("1", 0.25, 0.25),
        ("1", 0.0, 0.0),
        ("2", 1.5, 1.5),
        ("9", 1.5, 9.0),
        ("1", 7.0, 7.0),
        ("abc", 1.5, 1.5),
    ],
)
def test_the_body_says_it_more_exactly_and_the_longer_of_both_counts(
    header: str | None, body: float | None, asked: float | None
) -> None:
    assert retry().asked({} if header is None else {"retry-after": header}, body) == asked


@given(asked=st.floats(0, 60), random=st.floats(0, 1), attempt=st.integers(1, 5))
def test_no_wait_is_shorter_than_asked_nor_longer_by_more_than_a_tenth(
    asked: float, random: float, attempt: int
) -> None:
    assert asked <= retry(random).wait(attempt, asked) <= asked * 1.1000001


def test_those_who_were_told_the_same_do_not_come_back_together() -> None:
    waits = {round(retry(n / 100).wait(1, 1.0) * 1000) for n in range(100)}
    assert len(waits) > 90


@given(random=st.floats(0, 1), attempt=st.integers(1, 40))
def test_a_backoff_is_never_longer_than_the_longest(random: float, attempt: int) -> None:
    assert 0 <= retry(random).wait(attempt, None) <= retry().longest
