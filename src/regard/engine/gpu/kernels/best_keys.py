"""Triton kernels for the best keys of each query: candidate pairs, then exact scores of the few."""

from typing import Any, NamedTuple

import triton
import triton.language as tl

from regard.engine.gpu.kernels.tile import (
    HIDDEN_SCORE,
    capped,
    head_pointers,
    load_rows,
    reach,
    scores,
    split_total,
    visible,
)

# The low 6 bits of a pair's score hold a flag and the index of the pair among its group's 32. 17
# bits of the mantissa are left: enough to choose by, for the scores of the chosen are recomputed.
SCORE_BITS = ~63


SCORE_FLOOR = tl.constexpr(-1e30)


@triton.jit
def halve(x, ROWS: tl.constexpr, N: tl.constexpr):
    """(rows, N, 4) as two of (rows, N / 2, 4)."""
    return tl.split(tl.permute(tl.reshape(x, [ROWS, N // 2, 2, 4]), [0, 1, 3, 2]))


@triton.jit
def fold(high, low, ROWS: tl.constexpr, N: tl.constexpr):
    """Best, second and third of pairs of groups, each given by its best and second."""
    high_a, high_b = halve(high, ROWS, N)
    low_a, low_b = halve(low, ROWS, N)
    least = tl.minimum(high_a, high_b)
    lows = tl.maximum(low_a, low_b)
    return tl.maximum(high_a, high_b), tl.maximum(least, lows), tl.minimum(least, lows)


@triton.jit
def best_two(t, score_bits, ROWS: tl.constexpr, N: tl.constexpr):
    """The best and second best pair of each of 4 groups of N / 8, (rows, 4), indices packed in.

    Also the best that the last step dropped, from 2 x 8 pairs to 16. A pair that an earlier step
    dropped is third among 8 pairs: that may matter only where the best two are both among these
    8, and then the second is flagged.
    """
    a, b = tl.split(tl.reshape(t, [ROWS, N // 8, 4, 2]))
    index = tl.arange(0, N // 8)[None, :, None] * 2
    bits = (tl.maximum(a, b).to(tl.int32, bitcast=True) & score_bits) | index
    a, b = halve(bits.to(tl.float32, bitcast=True), ROWS, N // 8)
    high = tl.maximum(a, b)
    low = tl.minimum(a, b)
    if N == 128:
        high, low, dropped = fold(high, low, ROWS, 8)
    high, low, dropped = fold(high, low, ROWS, 4)
    high, low, dropped = fold(high, low, ROWS, 2)
    if N == 64:
        dropped = tl.full([ROWS, 1, 4], SCORE_FLOOR, tl.float32)
    high, low = flag_neighbours(high, low)
    return tl.reshape(high, [ROWS, 4]), tl.reshape(low, [ROWS, 4]), tl.reshape(dropped, [ROWS, 4])


@triton.jit
def flag_neighbours(high, low):
    """The last bit of the second, set if it is of the same 8 pairs as the best."""
    bits = low.to(tl.int32, bitcast=True)
    apart = (high.to(tl.int32, bitcast=True) ^ bits) & 48
    return high, (bits | (apart == 0).to(tl.int32)).to(tl.float32, bitcast=True)


class Candidates(NamedTuple):
    """Pointers to each query's lists of pairs of keys.

    Scores with indices packed in and blocks of keys, both (h, q, lists), and for each list the best
    score that it may lack, (h, q, 4).
    """

    scores: Any
    blocks: Any
    dropped: Any


class BestKeys(NamedTuple):
    """Pointers to the best weights of each query and their keys, high to low, (h, q, TOP)."""

    weights: Any
    keys: Any


class Rechecks(NamedTuple):
    """Pointers to rows whose lists may lack a key, doubled and with a flag, and to their count."""

    rows: Any
    count: Any


@triton.jit
def exchange(v, i, list_v, list_i):
    """The better of two entries, then the worse."""
    better = v > list_v
    return (tl.maximum(v, list_v), tl.where(better, i, list_i),
            tl.minimum(v, list_v), tl.where(better, list_i, i))  # fmt: skip


@triton.jit
def insert(v, i, list_v, list_i):
    """An entry put into a list of eight, high to low; the last element returned is dropped."""
    v0, i0, v, i = exchange(v, i, list_v[0], list_i[0])
    v1, i1, v, i = exchange(v, i, list_v[1], list_i[1])
    v2, i2, v, i = exchange(v, i, list_v[2], list_i[2])
    v3, i3, v, i = exchange(v, i, list_v[3], list_i[3])
    v4, i4, v, i = exchange(v, i, list_v[4], list_i[4])
    v5, i5, v, i = exchange(v, i, list_v[5], list_i[5])
    v6, i6, v, i = exchange(v, i, list_v[6], list_i[6])
    v7, i7, v, i = exchange(v, i, list_v[7], list_i[7])
    return (v0, v1, v2, v3, v4, v5, v6, v7), (i0, i1, i2, i3, i4, i5, i6, i7), v, i


@triton.jit
def candidates_kernel(
    inputs, total_ptr, candidates, call, score_bits,
    C: tl.constexpr, DEEP: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Candidates for the best keys of one block of queries of one head.

    The program walks once over the visible keys and leaves for each query 4 lists of 8 (16 if
    deep): the best among the best two pairs of every group of BK / 8, as base-2 logarithms of
    weights with indices packed in, and their blocks of keys; and for each list the best score that
    was dropped between groups of 8.
    """
    head = tl.program_id(1).to(tl.int64)
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BQ  # the longest walks first
    length = tl.load(inputs.length + head)
    at_q = first + tl.arange(0, BQ)
    query_ptr, key_ptr = head_pointers(inputs, head, call, C)
    query = load_rows(query_ptr, at_q, call.queries, C.WIDTH, C.PADDED)
    total = tl.load(total_ptr + head * call.queries + at_q, mask=at_q < call.queries, other=0.0)
    high, low = split_total(total)
    v = tl.full([BQ, 4], SCORE_FLOOR, tl.float32)
    i = tl.zeros([BQ, 4], tl.int32)
    dropped = v
    list_v, list_i = (v, v, v, v, v, v, v, v), (i, i, i, i, i, i, i, i)
    more_v, more_i = list_v, list_i
    begin, full_begin, full_end, end = reach(
        first, first + BQ - 1, call.left, call.right, length, BK
    )
    for part in tl.static_range(3):
        start = begin if part == 0 else (full_begin if part == 1 else full_end)
        stop = full_begin if part == 0 else (full_end if part == 1 else end)
        for block in tl.range(start, stop, num_stages=STAGES):
            at_k = block * BK + tl.arange(0, BK)
            key = load_rows(key_ptr, at_k, call.keys, C.WIDTH, C.PADDED)
            t = scores(query, key, call, C) - high[:, None] - low[:, None]
            if part != 1:
                t = tl.where(visible(at_q[:, None], at_k[None, :], length, call), t, HIDDEN_SCORE)
            one, two, third = best_two(t, score_bits, BQ, BK)
            dropped = tl.maximum(dropped, third)
            index = tl.zeros([BQ, 4], tl.int32) + block
            list_v, list_i, last_v, last_i = insert(one, index, list_v, list_i)
            if DEEP:
                more_v, more_i, last_v, last_i = insert(last_v, last_i, more_v, more_i)
            list_v, list_i, last_v, last_i = insert(two, index, list_v, list_i)
            if DEEP:
                more_v, more_i, last_v, last_i = insert(last_v, last_i, more_v, more_i)
    COUNT: tl.constexpr = 64 if DEEP else 32
    row = head * call.queries + at_q[:, None]
    at_g = tl.arange(0, 4)[None, :]
    inside = (at_q < call.queries)[:, None]
    tl.store(candidates.dropped + row * 4 + at_g, dropped, mask=inside)
    entry = row * COUNT + at_g * 8
    for n in tl.static_range(8):
        tl.store(candidates.scores + entry + n, list_v[n], mask=inside)
        tl.store(candidates.blocks + entry + n, list_i[n], mask=inside)
        if DEEP:
            tl.store(candidates.scores + entry + 32 + n, more_v[n], mask=inside)
            tl.store(candidates.blocks + entry + 32 + n, more_i[n], mask=inside)


MIN_VISIBLE_SCORE = tl.constexpr(
    -9000.0
)  # below it lie HIDDEN_SCORE and entries that were never filled


# Candidates are compared with exact scores: 6 bits of theirs were used, and sums differ in order.
ROUNDING_SLACK = tl.constexpr(2.0**-14)


@triton.jit
def sortable(v, key):
    """Score and key in one integer: greater is better, and of equal scores the smaller key."""
    bits = v.to(tl.int32, bitcast=True)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.to(tl.int64) << 32) | (0x7FFFFFFF - key).to(tl.int64)


@triton.jit
def score_and_key(number):
    """The inverse of sortable."""
    ordered = (number >> 32).to(tl.int32)
    bits = ordered ^ ((ordered >> 31) & 0x7FFFFFFF)
    key = 0x7FFFFFFF - (number & 0x7FFFFFFF).to(tl.int32)
    return bits.to(tl.float32, bitcast=True), key


@triton.jit
def products(
    query_ptr, key_ptr, row, at_k, valid,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Products of each row (r) of queries with its own keys (r, n), some features at a time."""
    # A field of a constexpr tuple is a plain number to Triton 3.6, which static_range refuses.
    s = tl.zeros(at_k.shape, tl.float32)
    for first in tl.static_range(0, PADDED, CHUNK):
        at_d = first + tl.arange(0, CHUNK)
        inside = (at_d < WIDTH)[None, :]
        query = tl.load(query_ptr + row[:, None] * WIDTH + at_d[None, :], mask=inside, other=0.0)
        element = at_k.to(tl.int64)[:, :, None] * WIDTH + at_d[None, None, :]
        key = tl.load(key_ptr + element, mask=valid[:, :, None] & inside[:, None, :], other=0.0)
        s += tl.sum(key.to(tl.float32) * query.to(tl.float32)[:, None, :], 2)
    return s


@triton.jit
def refine_kernel(
    inputs, total_ptr, candidates, best, rechecks, call, listed,
    C: tl.constexpr, COUNT: tl.constexpr, TOP: tl.constexpr, PAIRS: tl.constexpr,
    BK: tl.constexpr, ROWS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """The best TOP keys of some queries, high to low, from both keys of their candidate pairs.

    Equals ``-sort(-weights, axis=-1)[:, :TOP]`` and its keys, except where a pair may be missing
    from the lists, which hold two of every group. The rows of those queries go into ``rechecks``,
    doubled, plus 1 where the pair need not be among the 8 neighbours of a flagged one. ``listed``
    is how many queries have lists.
    """
    head = tl.program_id(1).to(tl.int64)
    at_q = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    q = tl.minimum(at_q, call.queries - 1)[:, None]
    at_n = tl.arange(0, COUNT)[None, :]
    entry = (head * listed + q) * COUNT + at_n
    v = tl.load(candidates.scores + entry)
    pair = (v.to(tl.int32, bitcast=True) >> 1) & 31
    first = tl.load(candidates.blocks + entry) * BK + pair * 8 + at_n % 32 // 8 * 2
    v, first = score_and_key(tl.topk(sortable(v, first), PAIRS))
    row = head * call.queries + tl.minimum(at_q, call.queries - 1)
    at_k = tl.reshape(tl.join(first, first + 1), [ROWS, 2 * PAIRS])
    valid = tl.reshape(tl.join(v > MIN_VISIBLE_SCORE, v > MIN_VISIBLE_SCORE), [ROWS, 2 * PAIRS])
    valid &= visible(q, at_k, tl.load(inputs.length + head), call)
    _, key_ptr = head_pointers(inputs, head, call, C)
    s = products(inputs.query, key_ptr, row, at_k, valid, C.WIDTH, C.PADDED, CHUNK)
    high, low = split_total(tl.load(total_ptr + row))
    t = capped(s * call.factor, call, C) - high[:, None] - low[:, None]
    t, key = score_and_key(
        tl.sort(sortable(tl.where(valid, t, SCORE_FLOOR), at_k), descending=True)
    )
    at_m = tl.arange(0, 2 * PAIRS)[None, :]
    written = (at_q < call.queries)[:, None] & (at_m < TOP)
    entry = row[:, None] * TOP + at_m
    weights = tl.where(t > MIN_VISIBLE_SCORE, tl.exp2(t), 0.0)
    tl.store(best.weights + entry, weights, mask=written)
    tl.store(best.keys + entry, tl.where(weights > 0, key, -1).to(tl.int64), mask=written)
    worst = tl.min(tl.where(at_m < TOP, t, 0.0), 1)
    worst = tl.maximum(worst - (1.0 - worst) * ROUNDING_SLACK, MIN_VISIBLE_SCORE)
    dropped = tl.load(candidates.dropped + (head * listed + q) * 4 + tl.arange(0, 4)[None, :])
    flagged = (v > worst[:, None]) & (v.to(tl.int32, bitcast=True) & 1 > 0)
    level = tl.where(tl.max(dropped, 1) > worst, 2, tl.max(flagged.to(tl.int32), 1))
    unsure = ((level > 0) & (at_q < call.queries)).to(tl.int32)
    # The order of the listed rows is left to chance: none of them touches another.
    index = tl.atomic_add(rechecks.count, tl.sum(unsure)) + tl.cumsum(unsure, 0) - 1
    tl.store(rechecks.rows + index, row * 2 + (level > 1).to(tl.int64), mask=unsure > 0)


@triton.jit
def recheck_kernel(
    inputs, total_ptr, best, rechecks, call,
    C: tl.constexpr, TOP: tl.constexpr, PAIRS: tl.constexpr, BK: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """The best keys of listed rows, corrected: all keys near two of the best are scored.

    There may be a third. Near means the same 8 pairs or, where the flag is set, the same group.
    """
    at_n = tl.arange(0, PAIRS)
    for i in range(tl.program_id(0), tl.load(rechecks.count), tl.num_programs(0)):
        listed = tl.load(rechecks.rows + i)
        row = listed // 2 + tl.zeros([1], tl.int64)
        head = listed // 2 // call.queries
        span = tl.where(listed % 2 > 0, BK, 64)
        entry = listed // 2 * TOP + at_n
        known = tl.load(best.keys + entry, mask=at_n < TOP, other=-1).to(tl.int32)
        weights = tl.load(best.weights + entry, mask=at_n < TOP, other=0.0)
        t = tl.where(weights > 0, tl.log2(tl.maximum(weights, 1.2e-38)), SCORE_FLOOR)
        worst = tl.min(tl.where(at_n < TOP, t, 0.0))
        ranked = sortable(t, tl.maximum(known, 0))
        high, low = split_total(tl.load(total_ptr + row))
        groups = tl.where(known >= 0, known // span * 4 + known % 8 // 2, -1 - at_n)
        before = (groups[:, None] == groups[None, :]) & (at_n[None, :] < at_n[:, None])
        second = tl.sum(before.to(tl.int32), 1) == 1  # so that each group is scored once
        for m in range(1, TOP):
            one = tl.max(tl.where(second & (at_n == m), groups, -1))
            for part in range(0, tl.where(one >= 0, span // 4, 0), 16):
                near = (part + tl.arange(0, 16))[None, :]
                at_k = one // 4 * span + one % 4 * 2 + near // 2 * 8 + near % 2
                valid = tl.max((at_k == known[:, None]).to(tl.int32), 0)[None, :] == 0
                length = tl.load(inputs.length + head)
                valid &= visible(row[:, None] % call.queries, at_k, length, call)
                _, key_ptr = head_pointers(inputs, head, call, C)
                s = products(inputs.query, key_ptr, row, at_k, valid, C.WIDTH, C.PADDED, CHUNK)
                s = capped(s * call.factor, call, C) - high[:, None] - low[:, None]
                s = tl.where(valid, s, SCORE_FLOOR)
                if tl.max(s) > worst:
                    more = tl.reshape(tl.topk(sortable(s, at_k), PAIRS), [PAIRS])
                    ranked = tl.topk(tl.reshape(tl.join(ranked, more), [2 * PAIRS]), PAIRS)
        t, key = score_and_key(ranked)
        weights = tl.where(t > MIN_VISIBLE_SCORE, tl.exp2(t), 0.0)
        tl.store(best.weights + entry, weights, mask=at_n < TOP)
        tl.store(best.keys + entry, tl.where(weights > 0, key, -1).to(tl.int64), mask=at_n < TOP)
