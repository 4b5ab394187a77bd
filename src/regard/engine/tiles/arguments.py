"""Arguments of attention and observe: validated once, and the dtype they are computed in."""

import math
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.engine.tensors import as_array, tensor_to_array
from regard.engine.tiles.problem import LOG2_E, Problem, Window
from regard.engine.visibility import Mask, MaskRule, Visibility
from regard.errors import ArgumentError, ShapeError, count, expect
from regard.typing import Array


def largest_norm(name: str, array: Array) -> float:
    """A bound on the length of a row; the same pass finds NaN and infinity.

    Of value only the order of magnitude matters, so the length of all rows together will do.
    """
    if array.size == 0:
        return 0.0
    with np.errstate(all="ignore"):
        wide = array.astype(np.float32) if array.dtype == np.float16 else array
        rows = wide.reshape(1, -1) if name == "value" else wide
        largest = float(np.vecdot(rows, rows).max())
        if 2.0**-99 < largest < math.inf:  # squares of smaller numbers may have underflowed
            return math.sqrt(largest)
    bad = ~np.isfinite(array)
    if bad.any():
        place = [int(i) for i in np.unravel_index(int(bad.argmax()), array.shape)]
        found = array[tuple(place)]
        raise ArgumentError(
            f"{name} has {found} at {place}: attention needs finite numbers. "
            "If it stands for padding, use lengths or mask instead."
        )
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


def is_bounded(bound: float, value_size: float, dtype: np.dtype[Any]) -> bool:
    """Whether 2^t can be summed as it stands, no row's maximum being subtracted first.

    By Cauchy and Schwarz no score exceeds the bound. With a bound of 40 and values between 2^-64
    and 2^64 every product stays 20 bits away from both ends of float32; float64 has ten times that.
    """
    room = 40 if dtype == np.float32 else 400
    tame = value_size == 0 or abs(math.log2(value_size)) <= room + 24
    return bound <= room and tame


class AttentionOptions(TypedDict, total=False):
    """The keyword arguments that attention, observe and every backend share.

    Their meaning is told once, in the docstring of ``regard.attention``.
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
    """Every option of attention, the default where none is given.

    >>> with_defaults(causal=True)["causal"], with_defaults()["scale"]
    (True, None)
    """
    unknown = [name for name in options if name not in DEFAULT_OPTIONS]
    if unknown:
        raise TypeError(
            f"attention has no argument {unknown[0]!r}: beside query, key and value it takes "
            f"{', '.join(DEFAULT_OPTIONS)}."
        )
    return {**DEFAULT_OPTIONS, **options}


def prepare(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, **options: Unpack[AttentionOptions]
) -> Problem:
    """A validated problem from the arguments of attention."""
    arrays = {"query": as_array(query), "key": as_array(key), "value": as_array(value)}
    complete = with_defaults(**options)
    complete["mask"] = tensor_to_array(complete["mask"])
    complete["lengths"] = tensor_to_array(complete["lengths"])
    return build_problem(arrays, extent_of(arrays), complete)


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
    dtype = _check_dtypes(arrays)
    leading = _check_shapes(**arrays)
    sizes = {name: largest_norm(name, array) for name, array in arrays.items()}
    return Extent(dtype, leading, arrays["query"].shape[-2], arrays["key"].shape[-2], sizes)


def build_problem(arrays: dict[str, Array], extent: Extent, options: AttentionOptions) -> Problem:
    """A problem from arrays and validated options; dtype and bounds follow from the extent."""
    mask, sizes = options["mask"], extent.sizes
    visibility = _visibility(extent, options)
    scale, softcap = _scale_and_softcap(arrays["query"], options)
    bound = scale * sizes["query"] * sizes["key"] * LOG2_E
    if bound >= 2.0**999:
        raise ArgumentError("query and key are too large: their products overflow float64.")
    compute = compute_dtype(extent.dtype, max(bound, sizes["value"]), scale, softcap or 1.0)
    flat = {x: np.asarray(a, compute) for x, a in arrays.items()}
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
        bounded=is_bounded(bound + largest_bias(mask) * LOG2_E, sizes["value"], compute),
        options=options,
    )


def prepare_shapes(
    arrays: dict[str, Any], options: AttentionOptions
) -> tuple[Visibility, float, float | None]:
    """Visibility, scale and softcap from shapes alone, where numbers cannot be inspected."""
    leading = _check_shapes(**arrays)
    queries, keys = arrays["query"].shape[-2], arrays["key"].shape[-2]
    visibility = _visibility(Extent(np.dtype(np.float32), leading, queries, keys, {}), options)
    return visibility, *_scale_and_softcap(arrays["query"], options)


def _scale_and_softcap(query: Array, options: AttentionOptions) -> tuple[float, float | None]:
    scale = _check_positive("scale", options["scale"])
    scale = scale or 1 / math.sqrt(max(1, query.shape[-1]))
    return scale, _check_positive("softcap", options["softcap"])


def _visibility(extent: Extent, options: AttentionOptions) -> Visibility:
    queries, keys = extent.queries, extent.keys
    left, right = _band(options["causal"], options["window"])
    banded = left is not None or right is not None
    return Visibility(
        leading=extent.leading,
        queries=queries,
        keys=keys,
        offset=_check_offset(options["offset"], queries, keys, banded),
        left=left,
        right=right,
        mask=_check_mask(options["mask"], (*extent.leading, queries, keys)),
        lengths_h=_check_lengths(options["lengths"], extent.leading, keys),
    )


def _check_dtypes(arrays: dict[str, Array]) -> np.dtype[Any]:
    for name, array in arrays.items():
        if array.dtype not in (np.float16, np.float32, np.float64):
            raise ArgumentError(
                f"{name} needs float16, float32 or float64 values, but its dtype is {array.dtype}: "
                f"write {name}.astype(np.float32)."
            )
    return np.result_type(*arrays.values())


def _check_shapes(query: Array, key: Array, value: Array) -> tuple[int, ...]:
    expect("query", query, "... q d")
    axes = " ".join(["b"] * max(0, query.ndim - 3) + ["h_kv"] * (query.ndim > 2))
    expect("key", key, f"{axes} k d".strip(), d=query.shape[-1])
    expect("value", value, f"{axes} k d_v".strip(), k=key.shape[-2])
    *batch, heads = query.shape[:-2] if query.ndim > 2 else (1,)
    for name, array in {"key": key, "value": value}.items():
        if list(array.shape[:-3]) != batch:
            raise ShapeError(
                f"{name} needs the leading axes of query, {tuple(batch)}, "
                f"but its shape is {array.shape}."
            )
    if query.ndim > 2:
        expect("value", value, f"{axes} k d_v", h_kv=key.shape[-3])
        if key.shape[-3] == 0 or heads % key.shape[-3]:
            raise ShapeError(
                f"query has {count(heads, 'head')} and key has {key.shape[-3]}: "
                "the heads of key must divide the heads of query (grouped heads)."
            )
    return tuple(query.shape[:-2])


def _band(causal: bool, window: Window | None) -> Window:
    sides = (None, None) if window is None else window
    if not isinstance(sides, tuple | list) or len(sides) != 2 or not all(map(_is_side, sides)):
        raise ArgumentError(
            "window needs (left, right), each a whole number from 0 up or None for unbounded, "
            f"but it is {window!r}."
        )
    left, right = sides
    if causal:
        right = 0 if right is None else min(right, 0)
    return left, right


def _is_side(side: Any) -> bool:
    return side is None or (isinstance(side, int | np.integer) and int(side) >= 0)


def _check_offset(offset: int | None, queries: int, keys: int, needed: bool) -> int:
    if offset is not None:
        if not isinstance(offset, int | np.integer):
            raise ArgumentError(f"offset needs a whole number, but it is {offset!r}.")
        return int(offset)
    if needed and queries != keys:
        raise ArgumentError(
            f"offset is needed: there are {count(queries, 'query', 'queries')} and "
            f"{count(keys, 'key')}. Give offset=0 if query 0 stands at key 0 (top left), or "
            f"offset={keys - queries} (keys - queries) if the queries are the last ones."
        )
    return 0


def _check_mask(mask: ArrayLike | MaskRule | None, shape: tuple[int, ...]) -> Mask:
    if mask is None or callable(mask):
        return mask
    array = np.asarray(mask)
    if array.dtype != bool and not np.issubdtype(array.dtype, np.floating):
        raise ArgumentError(
            "mask needs bool values (True = may look) or float values (added to the scores), "
            f"but its dtype is {array.dtype}: write mask.astype(bool)."
        )
    # max passes NaN on, so one number tells of both.
    if array.dtype != bool and array.size and not array.max() < np.inf:
        raise ArgumentError("mask has nan or +inf in it: a float mask needs numbers or -inf.")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ShapeError(
            f"mask needs a shape that broadcasts to {shape}, but its shape is {array.shape}."
        ) from None


def _check_lengths(
    lengths: ArrayLike | None, leading: tuple[int, ...], keys: int
) -> NDArray[np.int64] | None:
    if lengths is None:
        return None
    batch, heads = leading[:-1], leading[-1] if leading else 1
    array = np.asarray(lengths)
    if not np.issubdtype(array.dtype, np.integer) or array.shape != batch:
        raise ArgumentError(
            f"lengths needs whole numbers of shape {batch}, one for each entry of the leading "
            f"batch axes, but it has dtype {array.dtype} and shape {array.shape}."
        )
    if array.size and (array.min() < 0 or array.max() > keys):
        raise ArgumentError(
            f"lengths needs values from 0 to {keys}, the number of keys, "
            f"but they go from {array.min()} to {array.max()}."
        )
    return np.repeat(array.astype(np.int64).reshape(-1), heads)


def _check_positive(name: str, number: float | None) -> float | None:
    if number is not None and not (math.isfinite(number) and number > 0):
        raise ArgumentError(f"{name} needs a finite number above 0, but it is {number!r}.")
    return None if number is None else float(number)
