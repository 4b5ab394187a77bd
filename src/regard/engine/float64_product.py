"""x @ w in float64, by a native kernel where NumPy has no BLAS (in a browser)."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from regard.engine.native.library import function
from regard.typing import Array


class Product64Arguments(ctypes.Structure):
    """Arguments of one call, in the order of product64.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "w", "out")),
        *((name, ctypes.c_int64) for name in ("rows", "inner", "outputs")),
    )


def float64_product(x_te: Array, matrix_ef: Any) -> Array:
    """x @ matrix, an array or an Int8Matrix; the kernel is for float64 where there is no BLAS."""
    if sys.platform == "emscripten" and getattr(matrix_ef, "dtype", None) == np.float64:
        return native_product(x_te, matrix_ef)
    product: Array = x_te @ matrix_ef
    return product


def native_product(x_te: Array, matrix_ef: Array) -> Array:
    """x @ matrix in float64 by the kernel; by NumPy without one, or where x has other axes.

    >>> native_product(np.ones((2, 3)), np.arange(6.0).reshape(3, 2))
    array([[6., 9.],
           [6., 9.]])
    """
    kernel = function("multiply_float64")
    if kernel is None or x_te.ndim != 2:
        return x_te @ matrix_ef
    x_te, matrix_ef = (np.ascontiguousarray(x, np.float64) for x in (x_te, matrix_ef))
    out_tf = np.empty((len(x_te), matrix_ef.shape[1]))
    addresses = (array.ctypes.data for array in (x_te, matrix_ef, out_tf))
    call = Product64Arguments(*addresses, *x_te.shape, matrix_ef.shape[1])
    kernel(ctypes.addressof(call))
    return out_tf
