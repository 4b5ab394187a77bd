"""Operations on one tile that all kernels share: loads, base-2 scores and visibility."""

from typing import Any, NamedTuple

import triton
import triton.language as tl

HIDDEN_SCORE = tl.constexpr(-10000.0)  # 2^HIDDEN_SCORE is 0, and 0 * HIDDEN_SCORE is still a number
LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)


class Inputs(NamedTuple):
    """Pointers that every kernel reads: query_hqd, key_gkd and lengths_h."""

    query: Any
    key: Any
    length: Any


class Scalars(NamedTuple):
    """Numbers of a call: sizes, query heads to a key head, score factors and the visible band."""

    queries: int
    keys: int
    group: int
    factor: float
    cap: float
    left: int
    right: int


class Constants(NamedTuple):
    """Compile-time constants of a call: features of a head, padded to a power of 2; softcap."""

    WIDTH: int
    PADDED: int
    CAPPED: bool


@triton.jit
def load_rows(ptr, at, size, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    """Rows ``at`` of an array (size, WIDTH), zeros past its ends; (rows, PADDED)."""
    at_d = tl.arange(0, PADDED)
    inside = (at < size)[:, None] & (at_d < WIDTH)[None, :]
    return tl.load(ptr + at.to(tl.int64)[:, None] * WIDTH + at_d[None, :], mask=inside, other=0.0)


@triton.jit
def head_pointers(inputs, head, call, C: tl.constexpr):
    """The first query of a head, and the first key of the head that it shares keys with."""
    query_ptr = inputs.query + head * call.queries * C.WIDTH
    return query_ptr, inputs.key + head // call.group * call.keys * C.WIDTH


@triton.jit
def split_total(total):
    """A float64 log-sum-exp in base 2 as two float32 numbers, high and low part."""
    total = total * LOG2_E
    high = total.to(tl.float32)
    low = (total - high).to(tl.float32)
    return high, low


@triton.jit
def capped(t, call, C: tl.constexpr):
    """Products times factor as base-2 scores, by softcap where there is one."""
    if C.CAPPED:
        # tanh by one exponential; beyond 15 it is 1 in float32.
        e = tl.exp2(tl.minimum(tl.maximum(t, -15.0), 15.0) * (2.0 * LOG2_E))
        t = (e - 1.0) / (e + 1.0) * call.cap
    return t


@triton.jit
def scores(query, key, call, C: tl.constexpr):
    """Base-2 scores of a tile: ``log2(e) * softcap * tanh(scale * query @ key.T / softcap)``.

    Products of float32 are exact to float32 (no TF32).
    """
    return capped(tl.dot(query, key.T, input_precision="ieee") * call.factor, call, C)


@triton.jit
def visible(at_q, at_k, length, call):
    """Whether these queries may look at these keys; both positions broadcast to the tile."""
    inside = (at_k < length) & (at_q < call.queries)
    return inside & (at_k <= at_q + call.right) & (at_k >= at_q - call.left)


@triton.jit
def reach(first, last, left, right, size, BLOCK: tl.constexpr):
    """Blocks of the other axis that positions first ... last meet: begin, full ones, end.

    The other axis is visible from ``position - left`` to ``position + right``. Blocks from full
    begin to full end are visible entirely to every one of the positions.
    """
    begin = tl.minimum(tl.maximum(first - left, 0), size) // BLOCK
    end = tl.cdiv(tl.maximum(tl.minimum(last + right + 1, size), 0), BLOCK)
    full_begin = tl.cdiv(tl.maximum(last - left, 0), BLOCK)
    full_end = tl.maximum(tl.minimum(first + right + 1, size), 0) // BLOCK
    end = tl.maximum(end, begin)
    full_begin = tl.minimum(tl.maximum(full_begin, begin), end)
    full_end = tl.minimum(tl.maximum(full_end, full_begin), end)
    return begin, full_begin, full_end, end
