"""Numbers as they stand on paper: rounded half up, as by hand, and written with few digits."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MINUS = "−"


def half_up(array: Array | float, digits: int) -> Array:
    """Rounded as one does by hand: a final 5 goes away from zero.

    What float64 adds to a number that has a short decimal form is cleared away first.

    >>> half_up(np.array([0.125, -0.125, 0.374999]), 2)
    array([ 0.13, -0.13,  0.37])
    """
    moved = np.abs(np.asarray(array, np.float64)) * 10.0**digits
    rounded = np.floor(np.round(moved, 6) + 0.5) / 10.0**digits
    return np.sign(array) * rounded + 0.0  # + 0.0: no minus zero


def decimals(array: Array, digits: int) -> int:
    """None for whole numbers, else all of them, so that a table has one form.

    >>> decimals(np.array([1.0, -2.0]), 2), decimals(np.array([1.0, 0.5]), 2)
    (0, 2)
    """
    finite = array[np.isfinite(array)]
    return 0 if bool((finite == np.round(finite)).all()) else digits


def text(value: float, places: int) -> str:
    """A number with a true minus sign.

    >>> text(-0.5, 2), text(3.0, 0)
    ('−0.50', '3')
    """
    return f"{value:.{places}f}".replace("-", MINUS)
