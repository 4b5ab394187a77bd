"""Numbers with the digits they can support."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.textbook.digits import show, write

FLOATS = st.floats(-1e18, 1e18) | st.floats(-1e-3, 1e-3)


@pytest.mark.parametrize(
    ("value", "digits", "noise", "text"),
    [
        (0.0, 3, 0.0, "0.000"),
        (-1e-30, 3, 1e-20, "0.000"),
        (999999.4, 0, 0.0, "999999"),
        (1e6, 3, 0.0, "1.000e+06"),
        (12345.678, 3, 0.01, "12345.7"),
        (12345.678, 3, 30.0, "1.2e+04"),
        (float("-inf"), 3, 0.0, "-inf"),
    ],
)
def test_shown(value, digits, noise, text):
    assert show(value, digits, noise).text == text


@given(FLOATS, st.integers(0, 15))
def test_written_numbers_lie_within_half_a_unit(value, digits):
    shown = show(value, digits)
    assert shown.text.lstrip("-") == write(value, digits).lstrip("-")
    assert abs(float(shown.text) - value) <= shown.tolerance * (1 + 1e-9) + 1e-15 * abs(value)


@given(FLOATS, st.integers(0, 12), st.floats(1e-12, 1e12))
def test_noise_stays_below_the_last_digit(value, digits, noise):
    assert show(value, digits, noise).tolerance >= 2 * noise * (1 - 1e-9)
