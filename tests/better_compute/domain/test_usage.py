"""The names of meters, and how hours are written down."""

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.devices import WHOLE
from better_compute.domain.usage import HOUR, hours, meter

AMOUNTS = st.integers(0, 2**90)


@pytest.mark.parametrize(
    ("model", "name"), [("H100", "gpu.h100.hours"), ("L40S", "gpu.l40s.hours"), ("RTX6000ADA", "gpu.rtx6000ada.hours")]
)
def test_a_meter_is_named_by_the_model_in_lower_case(model: str, name: str) -> None:
    assert meter(model) == name


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0.000000"),
        (WHOLE * HOUR, "1.000000"),
        (1_799_999, "0.000000"),
        (1_800_000, "0.000001"),
        (WHOLE * HOUR - 1, "1.000000"),
        (8 * WHOLE * HOUR * 24 * 365 * 1000, "70080000.000000"),
    ],
)
def test_hours_have_six_decimals(amount: int, text: str) -> None:
    assert hours(amount) == text


@given(AMOUNTS)
def test_hours_are_exact_to_the_last_decimal(amount: int) -> None:
    exact = Fraction(amount, WHOLE * HOUR)
    assert abs(Fraction(hours(amount)) - exact) <= Fraction(1, 2_000_000)
    if amount < 2**60:
        expected = (Decimal(amount) / (WHOLE * HOUR)).quantize(Decimal("0.000001"), ROUND_HALF_UP)
        assert Decimal(hours(amount)) == expected
