"""Options of attention: their types, defaults and validation.

``attend``, the specification, and every fast path validate by these functions, so that all of them
raise the same errors.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import ArgumentError, NotFiniteError, ShapeError, count, expect
from regard.typing import Array

Window = tuple[int | None, int | None]
MaskRule = Callable[[NDArray[np.intp], NDArray[np.intp]], Any]
Mask = NDArray[Any] | MaskRule | None


class AttentionOptions(TypedDict, total=False):
    """The keyword arguments that attention, observe and every backend share.

    Their meaning is in the docstring of ``regard.attention``.
    """

    mask: ArrayLike | MaskRule | None
    causal: bool
    offset: int | None
    window: Window | None
    softcap: float | None
    scale: float | None
    lengths: ArrayLike | None


DEFAULT_OPTIONS: AttentionOptions = {
    "mask": None,
    "causal": False,
    "offset": None,
    "window": None,
    "softcap": None,
    "scale": None,
    "lengths": None,
}


def with_defaults(**options: Unpack[AttentionOptions]) -> AttentionOptions:
    """Every option of attention, with defaults for those not given.

    >>> with_defaults(causal=True)["causal"], with_defaults()["scale"]
    (True, None)
    """
    unknown = [name for name in options if name not in DEFAULT_OPTIONS]
    if unknown:
        raise TypeError(
            f"attention() got an unexpected keyword {unknown[0]!r}: it takes "
            f"{', '.join(DEFAULT_OPTIONS)}."
        )
    return {**DEFAULT_OPTIONS, **options}


def rule_tile(rule: MaskRule, rows: slice, columns: slice) -> NDArray[np.bool_]:
    """A tile of a mask function; positions go in as a column and a row.

    >>> rule_tile(lambda q, k: k < q, slice(0, 2), slice(0, 2)).astype(int)
    array([[0, 0],
           [1, 0]])
    """
    at_q1 = np.arange(rows.start, rows.stop)[:, None]
    at_1k = np.arange(columns.start, columns.stop)[None, :]
    return rule_at(rule, at_q1, at_1k)


def rule_at(rule: MaskRule, at_q1: NDArray[np.intp], at_1k: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The values of a mask function at these queries, a column, and these keys, a row."""
    tile_qk = np.asarray(rule(at_q1, at_1k))
    shape = (at_q1.size, at_1k.size)
    # A float tile would be read the wrong way round: 0.0, which hides nothing, counts as False.
    if tile_qk.dtype == bool:
        with contextlib.suppress(ValueError):
            return np.broadcast_to(tile_qk, shape)
    raise ArgumentError(
        f"mask, a function, must return bool values that broadcast to {shape}, "
        f"got dtype {tile_qk.dtype} and shape {tile_qk.shape}."
    )


def check_finite(name: str, array: Array) -> None:
    """Raise an error that names the first number which is NaN or infinite."""
    bad = ~np.isfinite(array)
    if bad.any():
        index = [int(i) for i in np.unravel_index(int(bad.argmax()), array.shape)]
        raise NotFiniteError(
            f"{name} must be finite numbers, got {array[tuple(index)]} at {index}. "
            "If it stands for padding, use lengths or mask instead."
        )


def check_products(bound: float) -> None:
    """Refuse scores whose bound, in base 2, overflows float64."""
    if bound >= 2.0**999:
        raise ArgumentError("query and key are too large: their products overflow float64.")


def check_dtypes(arrays: dict[str, Array]) -> np.dtype[Any]:
    """The common dtype of the arrays, each of which must be floats."""
    for name, array in arrays.items():
        if array.dtype not in (np.float16, np.float32, np.float64):
            raise ArgumentError(
                f"{name} must have dtype float16, float32 or float64, got {array.dtype}: "
                f"write {name}.astype(np.float32)."
            )
    return np.result_type(*arrays.values())


def check_shapes(query: Array, key: Array, value: Array) -> tuple[int, ...]:
    """The leading axes of query, with which those of key and value have to agree."""
    expect("query", query, "... q d")
    axes = " ".join(["b"] * max(0, query.ndim - 3) + ["h_kv"] * (query.ndim > 2))
    expect("key", key, f"{axes} k d".strip(), d=query.shape[-1])
    expect("value", value, f"{axes} k d_v".strip(), k=key.shape[-2])
    *batch, heads = query.shape[:-2] if query.ndim > 2 else (1,)
    for name, array in {"key": key, "value": value}.items():
        if list(array.shape[:-3]) != batch:
            raise ShapeError(
                f"{name} must have the leading axes of query, {tuple(batch)}, "
                f"got shape {array.shape}."
            )
    if query.ndim > 2:
        expect("value", value, f"{axes} k d_v", h_kv=key.shape[-3])
        if key.shape[-3] == 0 or heads % key.shape[-3]:
            raise ShapeError(
                f"query has {count(heads, 'head')} and key has {key.shape[-3]}: "
                "the heads of key must divide the heads of query (grouped heads)."
            )
    return tuple(query.shape[:-2])


def band(causal: bool, window: Window | None) -> Window:
    """The window of each query, left and right, causal included; None is unbounded."""
    sides = (None, None) if window is None else window
    if not isinstance(sides, tuple | list) or len(sides) != 2 or not all(map(_is_side, sides)):
        raise ArgumentError(
            "window must be (left, right), each a whole number from 0 up or None for unbounded, "
            f"got {window!r}."
        )
    if not isinstance(causal, bool | np.bool_):
        raise ArgumentError(f"causal must be True or False, got {causal!r}.")
    left, right = sides
    if causal:
        right = 0 if right is None else min(right, 0)
    return left, right


def _is_side(side: Any) -> bool:
    return side is None or (isinstance(side, int | np.integer) and int(side) >= 0)


def check_offset(offset: int | None, queries: int, keys: int, needed: bool) -> int:
    """The position of query 0 among the keys; required where it cannot be derived."""
    if offset is not None:
        if not isinstance(offset, int | np.integer):
            raise ArgumentError(f"offset must be a whole number, got {offset!r}.")
        return int(offset)
    if needed and queries != keys:
        raise ArgumentError(
            f"offset is needed: there are {count(queries, 'query', 'queries')} and "
            f"{count(keys, 'key')}. Give offset=0 if query 0 stands at key 0 (top left), or "
            f"offset={keys - queries} (keys - queries) if the queries are the last ones."
        )
    return 0


def check_mask(mask: ArrayLike | MaskRule | None, shape: tuple[int, ...]) -> Mask:
    """The mask as a view of axes (..., h, q, k), or the function that it is."""
    if mask is None or callable(mask):
        return mask
    array = np.asarray(mask)
    if array.dtype != bool and not np.issubdtype(array.dtype, np.floating):
        raise ArgumentError(
            "mask must be bool (True = may look) or float (added to the scores), "
            f"got dtype {array.dtype}: write mask.astype(bool)."
        )
    # max propagates NaN, so one comparison covers both.
    if array.dtype != bool and array.size and not array.max() < np.inf:
        raise ArgumentError("mask must be numbers or -inf where it is float, got nan or +inf.")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ShapeError(
            f"mask must have a shape that broadcasts to {shape}, got {array.shape}."
        ) from None


def check_lengths(
    lengths: ArrayLike | None, leading: tuple[int, ...], keys: int
) -> NDArray[np.int64] | None:
    """The number of real keys, one for each entry of the batch axes."""
    if lengths is None:
        return None
    batch = leading[:-1]
    array = np.asarray(lengths)
    if not np.issubdtype(array.dtype, np.integer) or array.shape != batch:
        raise ArgumentError(
            f"lengths must be whole numbers of shape {batch}, one for each entry of the leading "
            f"batch axes, got dtype {array.dtype} and shape {array.shape}."
        )
    if array.size and (array.min() < 0 or array.max() > keys):
        raise ArgumentError(
            f"lengths must be from 0 to {keys}, the number of keys, "
            f"got {array.min()} to {array.max()}."
        )
    return array.astype(np.int64)


def check_positive(name: str, number: float | None) -> float | None:
    """A finite number above 0, or None."""
    if number is not None and not (math.isfinite(number) and number > 0):
        raise ArgumentError(f"{name} must be a finite number above 0, got {number!r}.")
    return None if number is None else float(number)
