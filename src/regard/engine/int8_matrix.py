"""Int8 matrices: parameters that stay int8 in memory, one float32 scale for each output.

A native kernel multiplies by them as they are. Without it they are restored to float32 when they
are first used, and NumPy multiplies.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from regard.engine.float64_product import float64_product
from regard.engine.native.library import function, is_addressable
from regard.engine.threads import threads
from regard.errors import ShapeError
from regard.typing import Array

Kernel = Callable[..., int]
# By a matrix stored by output NumPy multiplies few rows one by one, a slice of outputs at a time.
MAX_ROWS_ONE_BY_ONE, OUTPUTS_PER_SLICE = 4, 512


def quantise(matrix: Array, axis: int) -> tuple[Array, Array]:
    """Round a matrix to int8 with one float32 scale for each output, which lie along `axis`.

    >>> quantise(np.array([[1.0, -4.0], [0.5, 2.0]]), axis=1)[0]
    array([[ 127, -127],
           [  64,   64]], dtype=int8)
    """
    largest = np.abs(matrix).max(axis=1 - axis, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0).astype(np.float32) / np.float32(127)
    return np.rint(matrix / scale).astype(np.int8), scale.reshape(-1)


def restore(rounded: Array, scale: Array, axis: int, out: Array | None = None) -> Array:
    """Invert `quantise`, but for the rounding; into ``out`` where it is given."""
    out = np.empty(rounded.shape, np.float32) if out is None else out
    np.multiply(rounded, np.expand_dims(scale, 1 - axis), out=out)
    return out


@dataclass(frozen=True, eq=False)
class Int8Block:
    """Columns of a matrix: int8 values of (inner, outputs), and the scale of each output."""

    values_ef: NDArray[np.int8]
    scale_f: NDArray[np.float32]

    def __getstate__(self) -> dict[str, Any]:
        """Without ``restored_ef``, which is four times as large and computed on demand."""
        return {"values_ef": self.values_ef, "scale_f": self.scale_f}

    @cached_property
    def restored_ef(self) -> Array:
        """The block in float32, for products in NumPy; it stays in memory."""
        out_ef = np.empty_like(self.values_ef, np.float32)  # in the same order
        return restore(self.values_ef, self.scale_f, axis=1, out=out_ef)

    @property
    def is_by_output(self) -> bool:
        """Whether the values of one output lie side by side in memory."""
        return self.values_ef.strides[0] == self.values_ef.itemsize

    def multiply(self, x_ne: Array, out_nf: Array) -> None:
        if len(x_ne) > MAX_ROWS_ONE_BY_ONE or not self.is_by_output:
            np.matmul(x_ne, self.restored_ef, out=out_nf)
            return
        # One row at a time takes half the time; a slice of 1 MB is in the cache for all but one.
        for start in range(0, len(self.scale_f), OUTPUTS_PER_SLICE):
            some = slice(start, start + OUTPUTS_PER_SLICE)
            for x_e, out_f in zip(x_ne, out_nf, strict=True):
                np.dot(x_e, self.restored_ef[:, some], out=out_f[some])


class _Block(ctypes.Structure):
    """Int8Block of the native kernel."""

    _fields_ = (
        ("values", ctypes.c_void_p), ("scale", ctypes.c_void_p), ("outputs", ctypes.c_int64),
        ("stride", ctypes.c_int64), ("by_output", ctypes.c_int64), ("column", ctypes.c_int64),
    )  # fmt: skip


class _Product(ctypes.Structure):
    """Int8Product of the native kernel."""

    _fields_ = (
        ("x", ctypes.c_void_p), ("out", ctypes.c_void_p), ("blocks", ctypes.c_void_p),
        ("rows", ctypes.c_int64), ("inner", ctypes.c_int64), ("x_stride", ctypes.c_int64),
        ("out_stride", ctypes.c_int64), ("count", ctypes.c_int64), ("threads", ctypes.c_int64),
    )  # fmt: skip


class Int8Matrix:
    """A matrix of int8 blocks side by side: outputs are its columns, or its rows if transposed.

    ``x @ matrix`` is in the dtype of x, and ``matrix[rows]`` of a transposed one, such as the
    vectors of tokens, in float32. Where an array is needed, ``np.asarray(matrix)`` restores all.

    >>> matrix = Int8Matrix.quantised(np.array([[1.0, -4.0], [0.5, 2.0]]))
    >>> matrix, np.array([[2, 0]], np.float32) @ matrix
    (Int8Matrix(2, 2), array([[ 2., -8.]], dtype=float32))
    """

    __array_ufunc__ = None  # so that an array leaves `x @ matrix` to __rmatmul__

    def __init__(self, *blocks: Int8Block, is_transposed: bool = False) -> None:
        self.blocks, self.is_transposed = blocks, is_transposed
        inner, outputs = len(blocks[0].values_ef), sum(len(x.scale_f) for x in blocks)
        self.shape = (outputs, inner) if is_transposed else (inner, outputs)

    @classmethod
    def from_values(
        cls, values: NDArray[np.int8], scale: NDArray[np.float32], axis: int = 1
    ) -> Int8Matrix:
        """The matrix of int8 values whose outputs lie along ``axis``; nothing is copied."""
        return cls(Int8Block(values if axis else values.T, scale), is_transposed=axis == 0)

    @classmethod
    def quantised(cls, matrix: Array, axis: int = 1) -> Int8Matrix:
        return cls.from_values(*quantise(matrix, axis), axis)

    @classmethod
    def side_by_side(cls, *matrices: Int8Matrix) -> Int8Matrix:
        return cls(*(block for matrix in matrices for block in matrix.blocks))

    @property
    def T(self) -> Int8Matrix:  # noqa: N802 (NumPy's name)
        return Int8Matrix(*self.blocks, is_transposed=not self.is_transposed)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Int8Matrix{self.shape}"

    def __getstate__(self) -> dict[str, Any]:
        """Without the addresses in ``native_blocks``, which a copy computes from its own arrays."""
        return {name: value for name, value in vars(self).items() if name != "native_blocks"}

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an Int8Matrix becomes an array by a copy alone")
        parts = [restore(block.values_ef, block.scale_f, axis=1) for block in self.blocks]
        matrix_ef = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return (matrix_ef.T if self.is_transposed else matrix_ef).astype(
            np.float32 if dtype is None else dtype, copy=False
        )

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> Int8Matrix | Array:
        """An array of that dtype; for float32 the matrix itself, which multiplies in it."""
        return self if np.dtype(dtype) == np.float32 else np.asarray(self, dtype)

    def __getitem__(self, key: Any) -> Any:
        """Rows of a transposed matrix as float32, columns as a matrix; anything else restored."""
        if self.is_transposed and isinstance(key, np.ndarray):
            block = self.blocks[0]
            return block.values_ef.T[key] * block.scale_f[key][..., None]
        match key:
            case (slice(start=None, stop=None), slice(step=None)) if not self.is_transposed:
                return Int8Matrix(*self._columns(*key[1].indices(self.shape[1])[:2]))
        return np.asarray(self)[key]

    def __rmatmul__(self, x_ne: Array) -> Array:
        if x_ne.dtype != np.float32 or x_ne.ndim != 2 or self.is_transposed:
            return float64_product(x_ne, np.asarray(self, x_ne.dtype))
        if x_ne.shape[1] != len(self):
            raise ShapeError(
                f"x in x @ matrix must have axes (n, {len(self)}), got shape {x_ne.shape}."
            )
        out_nf = np.empty((len(x_ne), self.shape[1]), np.float32)
        multiply = function("multiply_int8")
        if multiply is None:
            self._multiply_restored(x_ne, out_nf)
        else:
            self._multiply_native(multiply, x_ne, out_nf)
        return out_nf

    def _multiply_restored(self, x_ne: Array, out_nf: Array) -> None:
        start = 0
        # Some kernels of OpenBLAS raise the flag of the processor where x is not finite.
        with np.errstate(invalid="ignore"):
            for block in self.blocks:
                stop = start + len(block.scale_f)
                block.multiply(x_ne, out_nf[:, start:stop])
                start = stop

    def _multiply_native(self, multiply: Kernel, x_ne: Array, out_nf: Array) -> None:
        if not is_addressable(x_ne) or x_ne.strides[1] != x_ne.itemsize:
            x_ne = np.array(x_ne, order="C")
        (rows, inner), outputs = x_ne.shape, self.shape[1]
        call = _Product(
            x_ne.ctypes.data, out_nf.ctypes.data, ctypes.addressof(self.native_blocks),
            rows, inner, x_ne.strides[0] // x_ne.itemsize, outputs, len(self.blocks), threads(),
        )  # fmt: skip
        multiply(ctypes.byref(call))

    def _columns(self, start: int, stop: int) -> Iterator[Int8Block]:
        """The blocks of some columns; one that is needed in full is the same block."""
        for block in self.blocks:
            width = len(block.scale_f)
            if start <= 0 and stop >= width:
                yield block
            elif start < width and stop > 0:
                chosen = slice(max(0, start), stop)
                yield Int8Block(block.values_ef[:, chosen], block.scale_f[chosen])
            start, stop = start - width, stop - width

    @cached_property
    def native_blocks(self) -> ctypes.Array[_Block]:
        made = (_Block * len(self.blocks))()
        column = 0
        for entry, block in zip(made, self.blocks, strict=True):
            entry.values, entry.scale = block.values_ef.ctypes.data, block.scale_f.ctypes.data
            entry.outputs, entry.column = len(block.scale_f), column
            entry.by_output = block.is_by_output
            entry.stride = block.values_ef.strides[1 if block.is_by_output else 0]
            column += len(block.scale_f)
        return made
