"""Arguments of attention and observe: validated once, and the dtype they are computed in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.engine.native.squares import native_squares
from regard.engine.tensors import as_array, tensor_to_array
from regard.engine.tiles.problem import LOG2_E, Problem
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, refuse_masked_array
from regard.textbook.options import (
    AttentionOptions,
    MaskRule,
    band,
    check_dtypes,
    check_finite,
    check_lengths,
    check_mask,
    check_offset,
    check_positive,
    check_products,
    check_shapes,
    with_defaults,
)
from regard.typing import Array


def largest_norm(name: str, array: Array) -> float:
    """A bound on the length of a row; the same pass finds NaN and infinity.

    Of value only the order of magnitude matters, so the length of all rows together will do.
    """
    if array.size == 0:
        return 0.0
    if (squares := native_squares(array)) is not None:
        largest = squares[1] if name == "value" else squares[0]
        if 2.0**-99 < largest < math.inf:
            return math.sqrt(largest)
    with np.errstate(all="ignore"):
        wide = array.astype(np.float32) if array.dtype == np.float16 else array
        rows = wide.reshape(1, -1) if name == "value" else wide
        largest = float(np.vecdot(rows, rows).max())
        if 2.0**-99 < largest < math.inf:  # squares of smaller numbers may have underflowed
            return math.sqrt(largest)
    check_finite(name, array)
    return float(np.abs(array).max()) * math.sqrt(array.shape[-1])


def compute_dtype(
    dtype: np.dtype[Any], bound: float, scale: float, softcap: float
) -> np.dtype[Any]:
    """float64 stays; anything else is float32, unless a number would overflow or vanish there."""
    tame = max(bound, bound / softcap) < 2.0**99
    tame &= all(2.0**-99 < factor < 2.0**99 for factor in (scale, softcap, scale / softcap))
    return np.dtype(np.float32 if dtype != np.float64 and tame else np.float64)


def largest_bias(mask: ArrayLike | MaskRule | None) -> float:
    """The largest finite size in a float mask, found in slices so that no second mask is made."""
    if mask is None or callable(mask) or np.asarray(mask).dtype == bool:
        return 0.0
    flat = np.asarray(mask).reshape(-1)
    slices = (flat[i : i + 2**20] for i in range(0, flat.size, 2**20))
    return max((float(np.abs(x, where=x != -np.inf, out=np.zeros_like(x)).max()) for x in slices),
               default=0.0)  # fmt: skip


def _is_beyond(mask: ArrayLike | MaskRule | None, largest: float, limit: float) -> bool:
    """Whether a float mask has numbers that clipping at the limit would make equal.

    The one exception is a single lowest number, such as finfo.min, a usual way to hide a key:
    clipped it still hides, and every model that uses it would pay for a wider dtype.
    """
    if largest < limit:
        return False
    flat = np.asarray(mask).reshape(-1)
    slices = [flat[i : i + 2**20] for i in range(0, flat.size, 2**20)]
    if any(float(x.max()) >= limit for x in slices):
        return True
    low = [x[(x <= -limit) & (x != -np.inf)] for x in slices]
    return len({float(end) for x in low if x.size for end in (x.min(), x.max())}) > 1


def is_bounded(bound: float, value_size: float, dtype: np.dtype[Any]) -> bool:
    """Whether 2^t can be summed as it stands, no row's maximum being subtracted first.

    By Cauchy and Schwarz no score exceeds the bound. With a bound of 40 and values between 2^-64
    and 2^64 every product stays 20 bits away from both ends of float32; float64 has ten times that.
    """
    limit = 40 if dtype == np.float32 else 400
    tame = value_size == 0 or abs(math.log2(value_size)) <= limit + 24
    return bound <= limit and tame


def prepare(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    copy: bool = False,
    **options: Unpack[AttentionOptions],
) -> Problem:
    """A validated problem from the arguments of attention.

    With ``copy`` it shares no memory with the caller's query, key, mask and lengths.
    """
    complete = with_defaults(**options)
    inputs = {"query": query, "key": key, "value": value}
    for name, array in (inputs | {x: complete[x] for x in ("mask", "lengths")}).items():
        refuse_masked_array(name, array)
    arrays = {name: as_array(array) for name, array in inputs.items()}
    complete["mask"] = tensor_to_array(complete["mask"])
    complete["lengths"] = tensor_to_array(complete["lengths"])
    if copy:
        arrays |= {name: _copied(arrays[name]) for name in ("query", "key")}
        mask, lengths = complete["mask"], complete["lengths"]
        complete["mask"] = _copied(mask) if isinstance(mask, np.ndarray) else mask
        complete["lengths"] = _copied(lengths) if isinstance(lengths, np.ndarray) else lengths
    return build_problem(arrays, extent_of(arrays), complete)


def _copied(array: Array) -> Array:
    """A copy in the same order of axes; a broadcast axis is copied once and broadcast again."""
    if 0 not in array.strides:
        return np.array(array, order="K")
    once = tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)
    return np.broadcast_to(np.array(array[once], order="K"), array.shape)


@dataclass(frozen=True)
class Extent:
    """Dtype, axes and magnitude of query, key and value, needed before any part is computed.

    Where a rank has a slice of the tokens, the extents of all ranks make that of the sequence.
    """

    dtype: np.dtype[Any]
    leading: tuple[int, ...]
    queries: int
    keys: int
    sizes: dict[str, float]  # a bound on the length of a row of each


def extent_of(arrays: dict[str, Array]) -> Extent:
    """The extent of validated arrays."""
    dtype = check_dtypes(arrays)
    leading = check_shapes(**arrays)
    sizes = {name: largest_norm(name, array) for name, array in arrays.items()}
    return Extent(dtype, leading, arrays["query"].shape[-2], arrays["key"].shape[-2], sizes)


def build_problem(arrays: dict[str, Array], extent: Extent, options: AttentionOptions) -> Problem:
    """A problem from arrays and validated options; dtype and bounds follow from the extent."""
    mask, sizes = options["mask"], extent.sizes
    visibility = _visibility(extent, options)
    scale, softcap = _scale_and_softcap(arrays["query"], options)
    bound = scale * sizes["query"] * sizes["key"] * LOG2_E
    check_products(bound)
    bias = largest_bias(mask)
    dtype = np.dtype(np.float64) if _is_beyond(mask, bias, 2.0**98) else extent.dtype
    if dtype == np.float64 and _is_beyond(mask, bias, 2.0**998):
        raise ArgumentError("mask has numbers beyond 1e300: to hide a key give -inf.")
    compute = compute_dtype(dtype, max(bound, sizes["value"]), scale, softcap or 1.0)
    value_scale = 1.0 if sizes["value"] < 2.0**960 else 2.0**64
    if value_scale != 1:
        arrays = arrays | {"value": arrays["value"] / value_scale}
    # An array in a file is left there where its dtype allows.
    flat = {x: a if a.dtype == compute else np.asarray(a, compute) for x, a in arrays.items()}
    flat = {x: a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:]) for x, a in flat.items()}
    bound = min(bound, softcap * LOG2_E) if softcap else bound
    return Problem(
        query_hqd=flat["query"],
        key_gkd=flat["key"],
        value_gkv=flat["value"],
        leading=extent.leading,
        visibility=visibility,
        scale=scale,
        softcap=softcap,
        output_dtype=extent.dtype,
        bounded=is_bounded(bound + bias * LOG2_E, sizes["value"], compute),
        options=options,
        value_scale=value_scale,
    )


def prepare_shapes(
    arrays: dict[str, Any], options: AttentionOptions
) -> tuple[Visibility, float, float | None]:
    """Visibility, scale and softcap from shapes alone, where numbers cannot be inspected."""
    leading = check_shapes(**arrays)
    queries, keys = arrays["query"].shape[-2], arrays["key"].shape[-2]
    visibility = _visibility(Extent(np.dtype(np.float32), leading, queries, keys, {}), options)
    return visibility, *_scale_and_softcap(arrays["query"], options)


def _scale_and_softcap(query: Array, options: AttentionOptions) -> tuple[float, float | None]:
    scale = check_positive("scale", options["scale"])
    scale = scale or 1 / math.sqrt(max(1, query.shape[-1]))
    return scale, check_positive("softcap", options["softcap"])


def _visibility(extent: Extent, options: AttentionOptions) -> Visibility:
    queries, keys = extent.queries, extent.keys
    left, right = band(options["causal"], options["window"])
    banded = left is not None or right is not None
    return Visibility(
        leading=extent.leading,
        queries=queries,
        keys=keys,
        offset=check_offset(options["offset"], queries, keys, banded),
        left=left,
        right=right,
        mask=check_mask(options["mask"], (*extent.leading, queries, keys)),
        lengths_h=_lengths_of_heads(options["lengths"], extent),
    )


def _lengths_of_heads(lengths: ArrayLike | None, extent: Extent) -> NDArray[np.int64] | None:
    """lengths, repeated for the heads of each entry of the batch."""
    lengths_b = check_lengths(lengths, extent.leading, extent.keys)
    if lengths_b is None:
        return None
    return np.repeat(lengths_b.reshape(-1), extent.leading[-1] if extent.leading else 1)
