"""Squared lengths of rows by a native kernel, which bound the scores before any is computed."""

from __future__ import annotations

import ctypes

import numpy as np

from regard.engine.native.library import function
from regard.typing import Array

LEAST = 2**12  # numbers: fewer are faster in NumPy


class SquaresArguments(ctypes.Structure):
    """Arguments and results of one call, in the order of squares.c."""

    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("number", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("largest", ctypes.c_double),
        ("total", ctypes.c_double),
    )


def native_squares(array: Array) -> tuple[float, float] | None:
    """The largest squared length of a row, and the sum of all; None where NumPy has to say.

    Both are infinite or NaN if a number is, or if its square is beyond float32.

    >>> x = np.ones((1, 2048, 3), np.float32)
    >>> native_squares(x) in (None, (3.0, 6144.0))
    True
    """
    kernel = function("sum_squares")
    if kernel is None or not isinstance(array, np.ndarray) or array.dtype != np.float32:
        return None
    if array.size < LEAST or not array.flags.c_contiguous:
        return None
    width = array.shape[-1]
    call = SquaresArguments(array.__array_interface__["data"][0], array.size // width, width)
    kernel(ctypes.addressof(call))
    return call.largest, call.total
