"""One call of attention: its validated arguments, the facts requested and what they cost.

Every path (tiles, native, gpu, ring) computes a Problem that ``prepare`` made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.engine.native.library import native_squares
from regard.engine.tensors import Tensor, as_array, tensor_to_array
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, expect, refuse_masked_array
from regard.textbook.options import (
    AttentionOptions,
    MaskRule,
    Window,
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

if TYPE_CHECKING:
    from regard.engine.pairs import Block


LOG2_E = math.log2(math.e)
MAX_OFFSET = 2**40  # positions: beyond any text, and sums of a few of them fit int64
# A float mask is clipped at half the floor, so that different numbers beyond it would become equal.
BIAS_LIMITS = {np.dtype(np.float32): 2.0**98, np.dtype(np.float64): 2.0**998}
# Base-2 sums up to which a log-sum-exp and scores computed again fit to about 1e-5. Capped scores
# of two kernels differ in every last bit of their tanh, others seldom do.
MAX_SUM, MAX_CAPPED_SUM, MAX_FLOAT64_SUM = 2.0**11, 2.0**6, 2.0**35


@dataclass(frozen=True)
class Requested:
    """The facts to compute."""

    output: bool = True
    entropy: bool = False
    top: int = 0
    map: int = 0
    received: bool = False
    profile: bool = False
    log2_total_hq: Array | None = None  # known beforehand, over these keys and perhaps more
    # Edges of the map's blocks of keys, and of queries, where this call is a part of a larger one.
    edges: Array | None = None
    row_edges: Array | None = None

    @property
    def column_facts(self) -> bool:
        """Whether a fact of keys was requested, which needs the sum of every row first."""
        return bool(self.map or self.received or self.profile)


@dataclass(frozen=True)
class Cost:
    """The cost of a call: its plan, floating-point operations and peak working memory.

    ``kernels`` names the native kernels that served, or NumPy and the reason.
    """

    plan: str
    flops: int
    peak_bytes: int
    kernels: str = ""

    def __str__(self) -> str:
        kernels = f", {self.kernels}" if self.kernels else ""
        spent = f"{self.flops / 1e9:,.3g} GFLOP, {self.peak_bytes / 1e6:,.3g} MB at peak"
        return f"{self.plan}, {spent}{kernels}"


@cache
def exp2_is_faster(char: str) -> bool:
    """Whether exp2 of this dtype is faster than a product and exp, by what NumPy vectorises here.

    With AVX-512 exp2 takes 0.2 ns a number and exp 0.5; with AVX2 only exp is vectorised, 1.2 ns
    against 2.2. Without vectorisation they take the same time.
    """
    try:
        chosen = np.lib.introspect.opt_func_info(func_name="^exp2?$", signature=char)
    except AttributeError:  # before NumPy 2.1
        return True
    current = {name: next(iter(loops.values()))["current"] for name, loops in chosen.items()}
    baseline = {name: text.startswith("baseline") for name, text in current.items()}
    return not baseline.get("exp2", False) or baseline.get("exp", True)


@dataclass(frozen=True)
class Problem:
    """Validated arrays with one axis of heads, h for queries and g for keys and values.

    Scores are in base 2 inside the engine (weights = 2^t / sum 2^t), because exp2 is twice as fast
    as exp.
    """

    query_hqd: Array
    key_gkd: Array
    value_gkv: Array
    leading: tuple[int, ...]
    visibility: Visibility
    scale: float
    softcap: float | None
    output_dtype: np.dtype[Any]
    bounded: bool
    options: AttentionOptions = field(repr=False)
    # Values near the largest float64 are divided by this, so that their sums do not overflow.
    value_scale: float = 1.0
    clipped_bias: float | None = None  # the number of the mask that is too low for the dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the computation: float64 if the input is, else float32."""
        dtype: np.dtype[Any] = self.query_hqd.dtype
        return dtype

    @property
    def heads(self) -> int:
        return int(self.query_hqd.shape[0])

    @property
    def group(self) -> int:
        """The number of query heads that share one key head."""
        return max(1, self.heads // max(1, int(self.key_gkd.shape[0])))

    @property
    def floor(self) -> float:
        """A score below all others, finite so that arithmetic on it gives no NaN."""
        return -(2.0 ** (100 if self.dtype == np.float32 else 1000))

    @property
    def width(self) -> int:
        return int(self.query_hqd.shape[-1])

    @property
    def factor(self) -> float:
        """From query . key to base-2 scores; with a softcap, to the argument of tanh."""
        return self.scale / self.softcap if self.softcap else self.scale * LOG2_E

    @property
    def device_weights(self) -> None:
        return None

    def device_repeats(self, tokens_k: Array) -> None:
        return

    def on_host(self) -> Problem:
        return self

    def cut(self, heads: slice, rows: slice, columns: slice) -> tuple[Problem, slice, slice, slice]:
        """The problem that a rectangle of weights is computed from, and its slices in it.

        On the host that is this problem; one on a device copies the rectangle alone.
        """
        return self, heads, rows, columns

    def shared(self, array_gkx: Array, heads: slice, columns: slice) -> Array:
        """Keys or values (h, k, .) of these query heads: a view for one head, else gathered."""
        chosen: Any = heads
        if self.group > 1 and heads.stop - heads.start == 1:
            chosen = slice(heads.start // self.group, heads.start // self.group + 1)
        elif self.group > 1:
            chosen = np.arange(heads.start, heads.stop) // self.group
        shared: Array = array_gkx[chosen, columns]
        return shared

    def scaled_query(self, heads: slice, rows: slice) -> Array:
        """Queries times the factor of the scores."""
        return np.asarray(self.query_hqd[heads, rows] * self.dtype.type(self.factor))

    def scores(
        self, query_hqd: Array, heads: slice, rows: slice, columns: slice, out: Array
    ) -> Array | None:
        """Write base-2 scores of a tile, after scale, softcap and float mask.

        Equals ``log2(e) * (softcap * tanh(scale * query @ key.T / softcap) + mask)``.
        Returns visibility as 1.0 and 0.0, or None where all is visible. Hidden scores are left
        as they are where bounded (``exponential`` is slow far out), else put at the floor.
        """
        key_hkd = self.shared(self.key_gkd, heads, columns)
        np.matmul(query_hqd, key_hkd.swapaxes(-1, -2), out=out)
        self.cap_and_bias(out, self.visibility.bias(heads, rows, columns))
        visible = self.visibility.visible_as(heads, rows, columns, self.dtype)
        if visible is not None and not self.bounded:
            self.hide(out, visible)
        return visible

    def cap_and_bias(self, t: Array, bias: Array | None) -> None:
        """Apply softcap and float mask, in place, to products of scaled queries and keys."""
        if self.softcap:
            np.tanh(t, out=t)
            t *= self.dtype.type(self.softcap * LOG2_E)
        if bias is not None:
            # In the wider dtype, and clipped above the floor: finfo.min often stands for -inf.
            wide = np.multiply(bias, LOG2_E, dtype=np.result_type(bias, self.dtype))
            t += np.clip(wide, self.floor / 2, -self.floor / 2).astype(self.dtype)

    def hide(self, t: Array, visible: Array) -> None:
        """Put the scores of hidden keys at the floor."""
        np.copyto(t, self.floor, where=visible == 0)

    def weights(self, t: Array, visible: Array | None, log2_total: Array) -> None:
        """Turn base-2 scores into weights 2^(t - log2 total), in place; 0 where hidden.

        ``log2_total`` is in float64 and has the axes of ``t`` without the last.
        """
        live = np.isfinite(log2_total)
        shift = np.where(live, log2_total, np.inf).astype(self.dtype)
        t -= shift[..., None]
        self.exponential(t, visible, out=t)
        # A float32 shift of 1e6 is off by several percent of a weight: correct for its rounding.
        lost = np.where(live, log2_total - shift, 0)
        t *= np.exp2(-lost)[..., None].astype(self.dtype)

    def log2_total(self, logsumexp: Array) -> Array:
        """A natural log-sum-exp in base 2, clipped as the scores are."""
        with np.errstate(over="ignore"):
            clipped = np.maximum(logsumexp * LOG2_E, self.floor / 2)
        return np.where(logsumexp == -np.inf, logsumexp, clipped)

    def restore_clipped(self, logsumexp: Array) -> Array:
        """A natural log-sum-exp; rows of nothing but clipped numbers get the mask's own."""
        if self.clipped_bias is None:
            return logsumexp
        clipped = np.isfinite(logsumexp) & (logsumexp <= -BIAS_LIMITS[self.dtype])
        return np.where(clipped, self.clipped_bias, logsumexp)

    def is_inexact(self, log2_total: Array) -> Array:
        """Where a sum is so large that float64, or the scores, cannot hold what stands beside it.

        The weights of such a row need all its scores at once: see ``pairs.full_rows``.
        """
        limit = MAX_CAPPED_SUM if self.softcap else MAX_SUM
        if self.dtype == np.float64:
            limit = MAX_FLOAT64_SUM
        return np.isfinite(log2_total) & (np.abs(log2_total) > limit)

    def exponential(self, t: Array, visible: Array | None, out: Array) -> None:
        """2^t, and 0 where hidden.

        exp2 is a hundred times slower than exp where its result is subnormal, and on some machines
        everywhere.
        """
        if self.bounded and exp2_is_faster(self.dtype.char):
            np.exp2(t, out=out)
        else:
            np.multiply(t, self.dtype.type(math.log(2)), out=out)
            np.exp(out, out=out)
        if visible is not None:
            out *= visible


ListedWeights = Callable[[Array, "Block"], Tensor]


class ProblemLike(Protocol):
    """Query, key and visibility of one call, from which exact weights are computed on demand."""

    @property
    def visibility(self) -> Visibility:
        """The keys that each query may look at."""

    @property
    def heads(self) -> int:
        """The number of heads over every leading axis."""

    @property
    def leading(self) -> tuple[int, ...]:
        """The caller's leading axes, heads last."""

    @property
    def width(self) -> int:
        """Features of a head's query and key."""

    @property
    def device_weights(self) -> ListedWeights | None:
        """The device's function of weights at listed pairs; None: the host computes them."""

    def device_repeats(self, tokens_k: NDArray[np.int64]) -> Tensor | None:
        """Sums of ``heads.repeats`` as a device tensor; None: the host computes them."""

    def cut(self, heads: slice, rows: slice, columns: slice) -> tuple[Problem, slice, slice, slice]:
        """A problem on the host that has this rectangle, and the rectangle's slices in it."""

    def on_host(self) -> Problem:
        """The problem with all of its query and key on the host."""


def largest_norm(name: str, array: Array) -> float:
    """An upper bound of the length of a row; the same pass finds NaN and infinity.

    For value only the order of magnitude matters, so that the length of all rows together suffices.
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
    """float64 for float64; otherwise float32, unless a number would overflow or underflow there."""
    tame = max(bound, bound / softcap) < 2.0**99
    tame &= all(2.0**-99 < factor < 2.0**99 for factor in (scale, softcap, scale / softcap))
    return np.dtype(np.float32 if dtype != np.float64 and tame else np.float64)


def largest_bias(mask: ArrayLike | MaskRule | None) -> float:
    """The largest finite magnitude in a float mask."""
    if mask is None or callable(mask) or np.asarray(mask).dtype == bool:
        return 0.0
    slices = _slices(np.asarray(mask))
    return max((float(np.abs(x, where=x != -np.inf, out=np.zeros_like(x)).max()) for x in slices),
               default=0.0)  # fmt: skip


def _slices(array: Array) -> Iterator[Array]:
    """The numbers of an array in small pieces, broadcast ones once; no copy of all is made."""
    flags: Any = ["external_loop", "buffered", "zerosize_ok"]
    if array.size:
        yield from np.nditer(once(array), flags, buffersize=2**20)


def once(array: Array) -> Array:
    """The array with one entry of each broadcast axis."""
    return array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]


def _is_beyond(mask: ArrayLike | MaskRule | None, largest: float, limit: float) -> bool:
    """Whether clipping a float mask at the limit would make different numbers equal.

    A single lowest number, such as finfo.min, does not count: clipped it still hides a key, and
    every model that hides keys this way would pay for a wider dtype.
    """
    if largest < limit:
        return False
    lowest = set()
    for x in _slices(np.asarray(mask)):
        if float(x.max()) >= limit:
            return True
        low = x[(x <= -limit) & (x != -np.inf)]
        lowest |= {float(low.min()), float(low.max())} if low.size else set()
    return len(lowest) > 1


def is_bounded(bound: float, value_size: float, dtype: np.dtype[Any]) -> bool:
    """Whether 2^t can be summed without subtracting the maximum of the row first.

    By the Cauchy-Schwarz inequality no score exceeds the bound. With a bound of 40 and values
    between 2^-64 and 2^64 every product stays 20 bits away from both ends of float32; float64 has
    ten times that range.
    """
    limit = 40 if dtype == np.float32 else 400
    tame = value_size == 0 or abs(math.log2(value_size)) <= limit + 24
    return bound <= limit and tame


def gather_options(
    mask: ArrayLike | MaskRule | None,
    causal: bool,
    offset: int | None,
    window: Window | None,
    softcap: float | None,
    scale: float | None,
    lengths: ArrayLike | None,
) -> AttentionOptions:
    """The options of attention, which every path takes together."""
    return {
        "mask": mask,
        "causal": causal,
        "offset": offset,
        "window": window,
        "softcap": softcap,
        "scale": scale,
        "lengths": lengths,
    }


def prepare(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    copy: bool = False,
    **options: Unpack[AttentionOptions],
) -> Problem:
    """The validated problem of a call of attention.

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
        arrays |= {name: copied(arrays[name]) for name in ("query", "key")}
        mask, lengths = complete["mask"], complete["lengths"]
        complete["mask"] = copied(mask) if isinstance(mask, np.ndarray) else mask
        complete["lengths"] = copied(lengths) if isinstance(lengths, np.ndarray) else lengths
    return build_problem(arrays, measure_extent(arrays), complete)


def copied(array: Array) -> Array:
    """A copy in the same memory order; a broadcast axis is copied once and broadcast again."""
    if 0 not in array.strides:
        return np.array(array, order="K")
    return np.broadcast_to(np.array(once(array), order="K"), array.shape)


@dataclass(frozen=True)
class Extent:
    """Dtype, axes and magnitude of query, key and value: all that a plan depends on.

    Where a rank has a slice of the tokens, the extents of all ranks make that of the sequence.
    """

    dtype: np.dtype[Any]
    leading: tuple[int, ...]
    queries: int
    keys: int
    sizes: dict[str, float]  # a bound on the length of a row of each


def measure_extent(arrays: dict[str, Array]) -> Extent:
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
    narrow, wide = BIAS_LIMITS.values()
    dtype = np.dtype(np.float64) if _is_beyond(mask, bias, narrow) else extent.dtype
    if dtype == np.float64 and _is_beyond(mask, bias, wide):
        raise ArgumentError(
            "mask must be below 1e300, got larger numbers: give -inf to hide a key."
        )
    compute = compute_dtype(dtype, max(bound, sizes["value"]), scale, softcap or 1.0)
    value_scale = 1.0 if sizes["value"] < 2.0**960 else 2.0**64
    if value_scale != 1:
        arrays = arrays | {"value": arrays["value"] / value_scale}
    # An array in a file is not read if it has the right dtype.
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
        clipped_bias=-bias if bias >= BIAS_LIMITS[compute] else None,
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
    offset = check_offset(options["offset"], queries, keys, banded)
    if abs(offset) > MAX_OFFSET:
        raise ArgumentError(f"offset must be from -2**40 to 2**40, got {offset}.")
    return Visibility(
        leading=extent.leading,
        queries=queries,
        keys=keys,
        offset=offset,
        left=_side(left),
        right=_side(right),
        mask=check_mask(options["mask"], (*extent.leading, queries, keys)),
        lengths_h=_head_lengths(options["lengths"], extent),
    )


def _side(side: int | None) -> int | None:
    """A side of the window as a Python int, whose sums cannot wrap; None where it has no effect."""
    return None if side is None or side > 4 * MAX_OFFSET else int(side)


def _head_lengths(lengths: ArrayLike | None, extent: Extent) -> NDArray[np.int64] | None:
    """lengths, repeated for the heads of each entry of the batch."""
    lengths_b = check_lengths(lengths, extent.leading, extent.keys)
    if lengths_b is None:
        return None
    return np.repeat(lengths_b.reshape(-1), extent.leading[-1] if extent.leading else 1)


NORM_WEIGHTED_NOTE = (
    "norm-weighted: each weight times the length of the value it carries, through w_output, as a "
    "share of the row. These are not the attention weights."
)


def check_weighted(weighted: str | None) -> bool:
    """Whether weights are norm-weighted; raises where ``weighted`` is neither None nor 'norm'."""
    if weighted not in (None, "norm"):
        raise ArgumentError(f"weighted must be None or 'norm', got {weighted!r}.")
    return weighted == "norm"


def carried_norms(value: ArrayLike, w_output: ArrayLike | None, heads: int) -> Array:
    """norm_hk: the length of each value through its head's rows of w_output, (..., h, k).

    ``value`` is (..., h_kv, k, d), repeated for the heads that share it. Without w_output it is
    the length of the value itself.

    >>> carried_norms([[3.0, 4.0], [1.0, 0.0]], [[2.0], [0.0]], heads=1)
    array([6., 2.])
    """
    values = as_array(value).astype(np.float64)
    expect("value", values, "... k d")
    single = values.ndim == 2
    values = values[None] if single else values
    values = np.repeat(values, heads // max(1, values.shape[-3]), axis=-3)
    if w_output is None:
        norms = np.sqrt(np.vecdot(values, values))
    else:
        matrix = as_array(w_output).astype(np.float64)
        width = values.shape[-1]
        expect("w_output", matrix, "hd e", hd=heads * width)
        matrix_hde = matrix.reshape(heads, width, -1)
        # |v W|^2 = v (W W^T) v^T costs d x d for each key instead of d x e.
        gram_hdd = matrix_hde @ matrix_hde.swapaxes(-1, -2)
        norms = np.sqrt(np.maximum(np.vecdot(values @ gram_hdd, values), 0))
    return np.asarray(norms[0] if single else norms)


def with_norm_bias(
    query: Any, value: ArrayLike, w_output: ArrayLike | None, options: AttentionOptions
) -> AttentionOptions:
    """The options of attention with log |v_j W_O| added to the scores of each key.

    p_ij |v_j W_O| / sum_k p_ik |v_k W_O| = softmax_j(s_ij + log |v_j W_O|) (Kobayashi et al. 2020):
    with this bias every fact of an observation is the same fact of the norm-weighted weights.
    """
    heads = 1 if query.ndim == 2 else query.shape[-3]
    return norm_biased(options, carried_norms(value, w_output, heads)[..., None, :])


def norm_biased(options: AttentionOptions, norms: Array) -> AttentionOptions:
    """Options of attention with the logarithm of norms (..., h, q or 1, k) added to the scores."""
    mask = options.get("mask")
    if callable(mask):
        raise ArgumentError(
            "mask must be an array with weighted='norm', got a function: say causal, window or "
            "lengths instead, or give the mask as an array."
        )
    with np.errstate(divide="ignore"):
        bias: Array = np.log(norms)  # -inf where nothing is carried: weight 0
    return {**options, "mask": _joined(mask, bias)}


def _joined(mask: ArrayLike | MaskRule | None, bias: Array) -> Array:
    """The sum of a bias and a mask; the bias alone, one row, where there is no mask."""
    if mask is None:
        return bias
    array = as_array(mask)
    if array.dtype == bool:
        return np.where(array, bias, -np.inf)
    joined: Array = array + bias
    return joined


def blocks(positions: int, number: int) -> NDArray[np.int64]:
    """Edges that cut positions into at most ``number`` equal blocks; the last may be smaller.

    The size is the smallest power of two that suffices, so that coarser blocks consist of finer
    ones and tiles can be cut at them. Asking for the number of blocks that it gave changes nothing.

    >>> blocks(10, 4)
    array([ 0,  4,  8, 10])
    """
    return np.append(np.arange(0, max(1, positions), block_size(positions, number)), positions)


def block_size(positions: int, number: int) -> int:
    """Positions in each of at most ``number`` blocks: the smallest power of two that suffices."""
    return 1 << int((positions - 1) // max(1, number)).bit_length()
