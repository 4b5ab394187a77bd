"""Candidates for the best keys of each query: lists of the best pairs of neighbouring keys.

Keys 8 j + 2 g and 8 j + 2 g + 1 make a pair: a thread of a tensor core's warp holds both. The best
``n`` keys of a query lie in its best ``n`` pairs, a pair being as good as the better of the two, so
pairs are searched for, and settle.settle_kernel looks at both keys of the best of them.
"""

import triton
import triton.language as tl

from regard.self_attention.backends.device.kernels.sight import (
    HIDDEN,
    LOG2_E,
    load_rows,
    reach,
    scores,
    visible,
)

# The low 6 bits of a pair's score hold a mark and which of a group's 32 pairs it is. 17 bits of the
# mantissa are left: enough to choose by, for scores are computed again where they are shown.
KEPT_BITS = ~63
LOWEST = tl.constexpr(-1e30)


@triton.jit
def halve(x, ROWS: tl.constexpr, N: tl.constexpr):
    """(rows, N, 4) as two of (rows, N / 2, 4)."""
    return tl.split(tl.permute(tl.reshape(x, [ROWS, N // 2, 2, 4]), [0, 1, 3, 2]))


@triton.jit
def fold(high, low, ROWS: tl.constexpr, N: tl.constexpr):
    """Best and second of pairs of groups, each given by its best and second; and the next best."""
    high_a, high_b = halve(high, ROWS, N)
    low_a, low_b = halve(low, ROWS, N)
    least = tl.minimum(high_a, high_b)
    lows = tl.maximum(low_a, low_b)
    return tl.maximum(high_a, high_b), tl.maximum(least, lows), tl.minimum(least, lows)


@triton.jit
def best_two(t, kept_bits, ROWS: tl.constexpr, N: tl.constexpr):
    """The best and second best pair of each of 4 groups of N / 8, (rows, 4), places packed in.

    Also the best that was left out by the last step, from 2 x 8 pairs to 16. What an earlier step
    leaves out is third among 8 pairs: that may matter only where the best two are both among these
    8, and then the second is marked.
    """
    a, b = tl.split(tl.reshape(t, [ROWS, N // 8, 4, 2]))
    place = tl.arange(0, N // 8)[None, :, None] * 2
    bits = (tl.maximum(a, b).to(tl.int32, bitcast=True) & kept_bits) | place
    a, b = halve(bits.to(tl.float32, bitcast=True), ROWS, N // 8)
    high = tl.maximum(a, b)
    low = tl.minimum(a, b)
    if N == 128:
        high, low, lost = fold(high, low, ROWS, 8)
    high, low, lost = fold(high, low, ROWS, 4)
    high, low, lost = fold(high, low, ROWS, 2)
    if N == 64:
        lost = tl.full([ROWS, 1, 4], LOWEST, tl.float32)
    high, low = mark(high, low)
    return tl.reshape(high, [ROWS, 4]), tl.reshape(low, [ROWS, 4]), tl.reshape(lost, [ROWS, 4])


@triton.jit
def mark(high, low):
    """The last bit of the second says whether it is of the same 8 pairs as the best."""
    bits = low.to(tl.int32, bitcast=True)
    apart = (high.to(tl.int32, bitcast=True) ^ bits) & 48
    return high, (bits | (apart == 0).to(tl.int32)).to(tl.float32, bitcast=True)


@triton.jit
def step(v, i, held_v, held_i):
    """Keep the better of two, pass the other on."""
    better = v > held_v
    return (tl.maximum(v, held_v), tl.where(better, i, held_i),
            tl.minimum(v, held_v), tl.where(better, held_i, i))  # fmt: skip


@triton.jit
def insert(v, i, list_v, list_i):
    """Put an entry into a list of eight, high to low; what falls out comes back."""
    v0, i0, v, i = step(v, i, list_v[0], list_i[0])
    v1, i1, v, i = step(v, i, list_v[1], list_i[1])
    v2, i2, v, i = step(v, i, list_v[2], list_i[2])
    v3, i3, v, i = step(v, i, list_v[3], list_i[3])
    v4, i4, v, i = step(v, i, list_v[4], list_i[4])
    v5, i5, v, i = step(v, i, list_v[5], list_i[5])
    v6, i6, v, i = step(v, i, list_v[6], list_i[6])
    v7, i7, v, i = step(v, i, list_v[7], list_i[7])
    return (v0, v1, v2, v3, v4, v5, v6, v7), (i0, i1, i2, i3, i4, i5, i6, i7), v, i


@triton.jit
def best_kernel(
    query_ptr, key_ptr, total_ptr, list_ptr, block_ptr, lost_ptr, length_ptr,
    queries, keys, group, factor, cap, left, right, kept_bits,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr, DEEP: tl.constexpr,
    BQ: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """One program owns a block of queries of one head and walks once over the keys they see.

    Leaves for each query 4 lists of 8 (16 if deep): the best among the best two pairs of every
    group of BK / 8, as base-2 logarithms of weights with places packed in, and their blocks of
    keys; and for each list the best that was left out between groups of 8.
    """
    head = tl.program_id(1).to(tl.int64)
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BQ  # the longest walks first
    length = tl.load(length_ptr + head)
    at_q = first + tl.arange(0, BQ)
    query = load_rows(query_ptr + head * queries * WIDTH, at_q, queries, WIDTH, D)
    total = tl.load(total_ptr + head * queries + at_q, mask=at_q < queries, other=0.0) * LOG2_E
    high = total.to(tl.float32)
    low = (total - high).to(tl.float32)
    key_ptr += head // group * keys * WIDTH
    v = tl.full([BQ, 4], LOWEST, tl.float32)
    i = tl.zeros([BQ, 4], tl.int32)
    lost = v
    list_v, list_i = (v, v, v, v, v, v, v, v), (i, i, i, i, i, i, i, i)
    more_v, more_i = list_v, list_i
    begin, full_begin, full_end, end = reach(first, first + BQ - 1, left, right, length, BK)
    for part in tl.static_range(3):
        start = begin if part == 0 else (full_begin if part == 1 else full_end)
        stop = full_begin if part == 0 else (full_end if part == 1 else end)
        for block in tl.range(start, stop, num_stages=STAGES):
            at_k = block * BK + tl.arange(0, BK)
            key = load_rows(key_ptr, at_k, keys, WIDTH, D)
            t = scores(query, key.T, factor, cap, CAPPED) - high[:, None] - low[:, None]
            if part != 1:
                seen = visible(at_q[:, None], at_k[None, :], left, right, length, queries)
                t = tl.where(seen, t, HIDDEN)
            one, two, left_out = best_two(t, kept_bits, BQ, BK)
            lost = tl.maximum(lost, left_out)
            here = tl.zeros([BQ, 4], tl.int32) + block
            list_v, list_i, fell_v, fell_i = insert(one, here, list_v, list_i)
            if DEEP:
                more_v, more_i, fell_v, fell_i = insert(fell_v, fell_i, more_v, more_i)
            list_v, list_i, fell_v, fell_i = insert(two, here, list_v, list_i)
            if DEEP:
                more_v, more_i, fell_v, fell_i = insert(fell_v, fell_i, more_v, more_i)
    COUNT: tl.constexpr = 64 if DEEP else 32
    row = head * queries + at_q[:, None]
    at_g = tl.arange(0, 4)[None, :]
    inside = (at_q < queries)[:, None]
    tl.store(lost_ptr + row * 4 + at_g, lost, mask=inside)
    place = row * COUNT + at_g * 8
    for n in tl.static_range(8):
        tl.store(list_ptr + place + n, list_v[n], mask=inside)
        tl.store(block_ptr + place + n, list_i[n], mask=inside)
        if DEEP:
            tl.store(list_ptr + place + 32 + n, more_v[n], mask=inside)
            tl.store(block_ptr + place + 32 + n, more_i[n], mask=inside)
