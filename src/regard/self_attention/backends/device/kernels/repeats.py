"""Weight on the same token elsewhere, and on what followed it there."""

import triton
import triton.language as tl

from regard.self_attention.backends.device.kernels.sight import HIDDEN, LOG2_E, scores, visible


@triton.jit
def gather_rows(ptr, at, there, stride, WIDTH: tl.constexpr, D: tl.constexpr):
    """Rows ``at`` of an array (..., WIDTH), wherever they stand; zeros where there is none."""
    at_d = tl.arange(0, D)
    inside = there[:, None] & (at_d < WIDTH)[None, :]
    return tl.load(ptr + at.to(tl.int64)[:, None] * stride + at_d[None, :], mask=inside, other=0.0)


@triton.jit
def repeats_kernel(
    query_ptr, key_ptr, total_ptr, row_ptr, begin_ptr, end_ptr, place_ptr, length_ptr, partial_ptr,
    query_head, query_row, key_head, key_row, queries, keys, group, listed, offset,
    factor, cap, left, right,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr, BQ: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """One program owns some queries of one head, neighbours in the order of their tokens.

    ``place`` lists the keys in that order: the token of listed query i stands at place[begin[i]]
    ... place[end[i] - 1], and its program walks over those of all its queries. It looks at these
    places, or one after them: program_id(2) says which. Equals ``repeats``: sums over its queries
    of their weight, of what even attention gives, and of 1 where any such key is seen.
    ``query_head`` to ``key_row`` are strides.
    """
    head, after = tl.program_id(1).to(tl.int64), tl.program_id(2)
    at_i = tl.program_id(0) * BQ + tl.arange(0, BQ)
    there = at_i < listed
    at_q = tl.load(row_ptr + at_i, mask=there, other=0)
    begin = tl.load(begin_ptr + at_i, mask=there, other=keys)
    end = tl.load(end_ptr + at_i, mask=there, other=0)
    query = gather_rows(query_ptr + head * query_head, at_q, there, query_row, WIDTH, D)
    key_ptr += head // group * key_head
    total = tl.load(total_ptr + head * queries + at_q).to(tl.float64) * LOG2_E
    total = tl.where(total > float("-inf"), total, 0.0)  # such a query sees nothing anyway
    high = total.to(tl.float32)
    low = (total - high).to(tl.float32)
    length = tl.load(length_ptr + head)
    own = (at_q + offset)[:, None]
    summed = tl.zeros([BQ], tl.float64)
    number = tl.zeros([BQ], tl.int32)
    for first in range(tl.min(begin), tl.max(end), BK):
        at_n = first + tl.arange(0, BK)
        place = tl.load(place_ptr + at_n, mask=at_n < keys, other=keys)
        at_k = place + after
        kept = (at_n[None, :] >= begin[:, None]) & (at_n[None, :] < end[:, None])
        # A query's own place does not count, nor what follows it, nor what would follow the last.
        kept &= (at_k[None, :] != own) & (place[None, :] != own) & (at_k < keys)[None, :]
        kept &= visible(at_q[:, None], at_k[None, :], left, right, length, queries)
        if tl.max(kept.to(tl.int32)) > 0:
            key = gather_rows(key_ptr, at_k, at_k < keys, key_row, WIDTH, D)
            t = scores(query, key.T, factor, cap, CAPPED) - high[:, None] - low[:, None]
            weights = tl.exp2(tl.where(kept, t, HIDDEN))
            summed += tl.sum(weights, 1).to(tl.float64)
            number += tl.sum(kept.to(tl.int32), 1)
    highest = tl.minimum(at_q + right + 1, length)
    choices = tl.maximum(highest - tl.maximum(at_q - left, 0), 1)
    even = number.to(tl.float64) / choices.to(tl.float64)
    place = ((head * 2 + after) * 3).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
    tl.store(partial_ptr + place, tl.sum(summed))
    tl.store(partial_ptr + place + tl.num_programs(0), tl.sum(even))
    seeing = tl.sum((number > 0).to(tl.int32)).to(tl.float64)
    tl.store(partial_ptr + place + 2 * tl.num_programs(0), seeing)
