"""Triton kernels for the best keys of each query: candidate pairs, then exact scores of the few."""

import triton
import triton.language as tl

from regard.engine.gpu.kernels.tile import (
    HIDDEN,
    LOG2_E,
    capped,
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


SEEN = tl.constexpr(-9000.0)  # below it lie HIDDEN and what was never filled in


# Candidates are compared with exact scores: 6 bits of theirs were used, and sums differ in order.
SLACK = tl.constexpr(2.0**-14)


@triton.jit
def sortable(v, key):
    """Score and key in one whole number: greater is better, and of equals the smaller key."""
    bits = v.to(tl.int32, bitcast=True)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.to(tl.int64) << 32) | (0x7FFFFFFF - key).to(tl.int64)


@triton.jit
def unsorted(number):
    """Score and key back from sortable."""
    ordered = (number >> 32).to(tl.int32)
    bits = ordered ^ ((ordered >> 31) & 0x7FFFFFFF)
    key = 0x7FFFFFFF - (number & 0x7FFFFFFF).to(tl.int32)
    return bits.to(tl.float32, bitcast=True), key


@triton.jit
def products(query_ptr, key_ptr, row, at_k, there, WIDTH: tl.constexpr, D: tl.constexpr,
             CHUNK: tl.constexpr):  # fmt: skip
    """Of each row (r) of queries with its own keys (r, n), some columns at a time."""
    s = tl.zeros(at_k.shape, tl.float32)
    for first in tl.static_range(0, D, CHUNK):
        at_d = first + tl.arange(0, CHUNK)
        inside = (at_d < WIDTH)[None, :]
        query = tl.load(query_ptr + row[:, None] * WIDTH + at_d[None, :], mask=inside, other=0.0)
        place = at_k.to(tl.int64)[:, :, None] * WIDTH + at_d[None, None, :]
        key = tl.load(key_ptr + place, mask=there[:, :, None] & inside[:, None, :], other=0.0)
        s += tl.sum(key.to(tl.float32) * query.to(tl.float32)[:, None, :], 2)
    return s


@triton.jit
def settle_kernel(
    list_ptr, block_ptr, lost_ptr, query_ptr, key_ptr, total_ptr, length_ptr,
    weights_ptr, keys_ptr, doubt_ptr, number_ptr,
    listed, queries, keys, group, factor, cap, left, right,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr, COUNT: tl.constexpr,
    TOP: tl.constexpr, PAIRS: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr,
    CHUNK: tl.constexpr,
):  # fmt: skip
    """The best TOP of a query's keys, high to low, from both keys of its best pairs.

    Equals ``-sort(-weights, axis=-1)[:, :TOP]`` and its keys, but where a pair may be missing from
    the lists, which hold two of every group: those queries are listed in ``doubt``, times two and
    one more where it need not be among the 8 neighbours of a marked pair. ``listed`` is how many
    queries have lists.
    """
    head = tl.program_id(1).to(tl.int64)
    at_q = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    q = tl.minimum(at_q, queries - 1)[:, None]
    at_n = tl.arange(0, COUNT)[None, :]
    place = (head * listed + q) * COUNT + at_n
    v = tl.load(list_ptr + place)
    pair = (v.to(tl.int32, bitcast=True) >> 1) & 31
    first = tl.load(block_ptr + place) * BK + pair * 8 + at_n % 32 // 8 * 2
    v, first = unsorted(tl.topk(sortable(v, first), PAIRS))
    row = head * queries + tl.minimum(at_q, queries - 1)
    at_k = tl.reshape(tl.join(first, first + 1), [ROWS, 2 * PAIRS])
    there = tl.reshape(tl.join(v > SEEN, v > SEEN), [ROWS, 2 * PAIRS])
    there &= visible(q, at_k, left, right, tl.load(length_ptr + head), queries)
    key_ptr += head // group * keys * WIDTH
    s = products(query_ptr, key_ptr, row, at_k, there, WIDTH, D, CHUNK)
    total = tl.load(total_ptr + row) * LOG2_E
    high = total.to(tl.float32)
    low = (total - high).to(tl.float32)
    t = capped(s * factor, cap, CAPPED) - high[:, None] - low[:, None]
    t, key = unsorted(tl.sort(sortable(tl.where(there, t, LOWEST), at_k), descending=True))
    at_m = tl.arange(0, 2 * PAIRS)[None, :]
    kept = (at_q < queries)[:, None] & (at_m < TOP)
    place = row[:, None] * TOP + at_m
    weights = tl.where(t > SEEN, tl.exp2(t), 0.0)
    tl.store(weights_ptr + place, weights, mask=kept)
    tl.store(keys_ptr + place, tl.where(weights > 0, key, -1).to(tl.int64), mask=kept)
    worst = tl.min(tl.where(at_m < TOP, t, 0.0), 1)
    worst = tl.maximum(worst - (1.0 - worst) * SLACK, SEEN)
    lost = tl.load(lost_ptr + (head * listed + q) * 4 + tl.arange(0, 4)[None, :])
    marked = (v > worst[:, None]) & (v.to(tl.int32, bitcast=True) & 1 > 0)
    doubt = tl.where(tl.max(lost, 1) > worst, 2, tl.max(marked.to(tl.int32), 1))
    doubted = ((doubt > 0) & (at_q < queries)).to(tl.int32)
    # The order in which queries come to be listed is left to chance: none touches another.
    place = tl.atomic_add(number_ptr, tl.sum(doubted)) + tl.cumsum(doubted, 0) - 1
    tl.store(doubt_ptr + place, row * 2 + (doubt > 1).to(tl.int64), mask=doubted > 0)


@triton.jit
def doubt_kernel(
    query_ptr, key_ptr, total_ptr, weights_ptr, keys_ptr, doubt_ptr, number_ptr, length_ptr,
    queries, keys, group, factor, cap, left, right,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr, TOP: tl.constexpr,
    PAIRS: tl.constexpr, BK: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Looks at all keys near two of a query's best: there may be a third.

    These are 8 pairs or, where more is in doubt, the group.
    """
    at_n = tl.arange(0, PAIRS)
    for i in range(tl.program_id(0), tl.load(number_ptr), tl.num_programs(0)):
        entry = tl.load(doubt_ptr + i)
        row = entry // 2 + tl.zeros([1], tl.int64)
        head = entry // 2 // queries
        span = tl.where(entry % 2 > 0, BK, 64)
        place = entry // 2 * TOP + at_n
        held = tl.load(keys_ptr + place, mask=at_n < TOP, other=-1).to(tl.int32)
        weights = tl.load(weights_ptr + place, mask=at_n < TOP, other=0.0)
        t = tl.where(weights > 0, tl.log2(tl.maximum(weights, 1.2e-38)), LOWEST)
        worst = tl.min(tl.where(at_n < TOP, t, 0.0))
        best = sortable(t, tl.maximum(held, 0))
        total = tl.load(total_ptr + row) * LOG2_E
        high = total.to(tl.float32)
        low = (total - high).to(tl.float32)
        groups = tl.where(held >= 0, held // span * 4 + held % 8 // 2, -1 - at_n)
        before = (groups[:, None] == groups[None, :]) & (at_n[None, :] < at_n[:, None])
        second = tl.sum(before.to(tl.int32), 1) == 1  # so that each group is looked at once
        for m in range(1, TOP):
            one = tl.max(tl.where(second & (at_n == m), groups, -1))
            for part in range(0, tl.where(one >= 0, span // 4, 0), 16):
                near = (part + tl.arange(0, 16))[None, :]
                at_k = one // 4 * span + one % 4 * 2 + near // 2 * 8 + near % 2
                there = tl.max((at_k == held[:, None]).to(tl.int32), 0)[None, :] == 0
                limit = tl.load(length_ptr + head)
                there &= visible(row[:, None] % queries, at_k, left, right, limit, queries)
                own_ptr = key_ptr + head // group * keys * WIDTH
                s = products(query_ptr, own_ptr, row, at_k, there, WIDTH, D, CHUNK)
                s = capped(s * factor, cap, CAPPED) - high[:, None] - low[:, None]
                s = tl.where(there, s, LOWEST)
                if tl.max(s) > worst:
                    more = tl.reshape(tl.topk(sortable(s, at_k), PAIRS), [PAIRS])
                    best = tl.topk(tl.reshape(tl.join(best, more), [2 * PAIRS]), PAIRS)
        t, key = unsorted(best)
        weights = tl.where(t > SEEN, tl.exp2(t), 0.0)
        tl.store(weights_ptr + place, weights, mask=at_n < TOP)
        tl.store(keys_ptr + place, tl.where(weights > 0, key, -1).to(tl.int64), mask=at_n < TOP)
