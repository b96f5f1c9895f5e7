"""The names of meters, and how hours are written down."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.usage import HOUR, hours, meter

AMOUNTS = st.fractions(0, 2**70, max_denominator=64)


@pytest.mark.parametrize(
    ("model", "name"), [("H100", "gpu.h100.hours"), ("L40S", "gpu.l40s.hours"), ("RTX6000ADA", "gpu.rtx6000ada.hours")]
)
def test_a_meter_is_named_by_the_model_in_lower_case(model: str, name: str) -> None:
    assert meter(model) == name


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(0), "0.000000"),
        (Fraction(HOUR), "1.000000"),
        (Fraction(1_799_999, 10**6), "0.000000"),
        (Fraction(1_800_000, 10**6), "0.000001"),
        (HOUR - Fraction(1, 10**6), "1.000000"),
        (Fraction(8 * HOUR * 24 * 365 * 1000), "70080000.000000"),
    ],
)
def test_hours_have_six_decimals(amount: Fraction, text: str) -> None:
    assert hours(amount) == text


@given(AMOUNTS)
def test_hours_are_exact_to_the_last_decimal(amount: Fraction) -> None:
    over = Fraction(hours(amount)) - amount / HOUR
    assert -Fraction(1, 2_000_000) < over <= Fraction(1, 2_000_000)
