"""What every kernel does to a tile: scores in base 2, and where one may look."""

import triton
import triton.language as tl

HIDDEN = tl.constexpr(-10000.0)  # 2^HIDDEN is 0, and 0 * HIDDEN is still a number
LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def load_rows(ptr, at, size, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    """Rows ``at`` of an array (size, WIDTH), zeros past its ends; (rows, PADDED)."""
    at_d = tl.arange(0, PADDED)
    inside = (at < size)[:, None] & (at_d < WIDTH)[None, :]
    return tl.load(ptr + at.to(tl.int64)[:, None] * WIDTH + at_d[None, :], mask=inside, other=0.0)


@triton.jit
def capped(t, cap, CAPPED: tl.constexpr):
    """Products times factor as base-2 scores, by softcap where there is one."""
    if CAPPED:
        # tanh by one exponential; beyond 15 it is 1 in float32.
        e = tl.exp2(tl.minimum(tl.maximum(t, -15.0), 15.0) * (2.0 * LOG2_E))
        t = (e - 1.0) / (e + 1.0) * cap
    return t


@triton.jit
def scores(left, right, factor, cap, CAPPED: tl.constexpr):
    """Base-2 scores of a tile: ``log2(e) * softcap * tanh(scale * left @ right / softcap)``.

    Products of float32 are exact to float32 (no TF32).
    """
    return capped(tl.dot(left, right, input_precision="ieee") * factor, cap, CAPPED)


@triton.jit
def visible(at_q, at_k, left, right, length, queries):
    """Where these queries may look; both positions broadcast to the tile."""
    inside = (at_k < length) & (at_q < queries)
    return inside & (at_k <= at_q + right) & (at_k >= at_q - left)


@triton.jit
def reach(first, last, left, right, size, BLOCK: tl.constexpr):
    """Blocks of the other axis that positions first ... last meet: begin, full ones, end.

    The other axis is seen from ``position - left`` to ``position + right``. Blocks from full begin
    to full end are seen whole by every one of the positions.
    """
    begin = tl.minimum(tl.maximum(first - left, 0), size) // BLOCK
    end = tl.cdiv(tl.maximum(tl.minimum(last + right + 1, size), 0), BLOCK)
    full_begin = tl.cdiv(tl.maximum(last - left, 0), BLOCK)
    full_end = tl.maximum(tl.minimum(first + right + 1, size), 0) // BLOCK
    end = tl.maximum(end, begin)
    full_begin = tl.minimum(tl.maximum(full_begin, begin), end)
    full_end = tl.minimum(tl.maximum(full_end, full_begin), end)
    return begin, full_begin, full_end, end
