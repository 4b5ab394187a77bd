"""Triton kernels for sums: over rows, over columns, along diagonals, and over repeated tokens."""

import triton
import triton.language as tl

from regard.engine.gpu.kernels.tile import (
    HIDDEN,
    LN_2,
    LOG2_E,
    load_rows,
    reach,
    scores,
    visible,
)

FLOOR = tl.constexpr(-1e30)  # a score below every possible one, finite so that no NaN is made


@triton.jit
def rows_kernel(
    query_ptr, key_ptr, value_ptr, output_ptr, total_ptr, entropy_ptr, length_ptr,
    queries, keys, group, factor, cap, left, right,
    WIDTH: tl.constexpr, D: tl.constexpr, VALUE_WIDTH: tl.constexpr, V: tl.constexpr,
    CAPPED: tl.constexpr, OUTPUT: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """One program owns a block of queries of one head and walks once over the keys they see.

    Equals ``steps.attend``: output, and of its weights the log-sum-exp and the entropy. A running
    maximum and sums replace the stored scores. A query that sees nothing gets 0, and -inf.
    """
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BQ
    length = tl.load(length_ptr + head)
    at_q = first + tl.arange(0, BQ)
    query = load_rows(query_ptr + head * queries * WIDTH, at_q, queries, WIDTH, D)
    key_ptr += head // group * keys * WIDTH
    value_ptr += head // group * keys * VALUE_WIDTH
    highest = tl.full([BQ], FLOOR, tl.float32)
    total = tl.zeros([BQ], tl.float32)
    moment = tl.zeros([BQ], tl.float32)
    summed = tl.zeros([BQ, V], tl.float32)
    begin, full_begin, full_end, end = reach(first, first + BQ - 1, left, right, length, BK)
    for block in range(begin, end):
        at_k = block * BK + tl.arange(0, BK)
        key = load_rows(key_ptr, at_k, keys, WIDTH, D)
        t = scores(query, key.T, factor, cap, CAPPED)
        if (block < full_begin) | (block >= full_end):
            seen = visible(at_q[:, None], at_k[None, :], left, right, length, queries)
            t = tl.where(seen, t, FLOOR)
        higher = tl.maximum(highest, tl.max(t, 1))
        t = tl.where(t == FLOOR, HIDDEN, t - higher[:, None])
        e = tl.exp2(t)
        change = tl.exp2(highest - higher)
        moment = change * (moment + (highest - higher) * total) + tl.sum(e * t, 1)
        total = change * total + tl.sum(e, 1)
        highest = higher
        if OUTPUT:
            value = load_rows(value_ptr, at_k, keys, VALUE_WIDTH, V)
            summed = summed * change[:, None]
            summed += tl.dot(e.to(value.dtype), value, input_precision="ieee")
    live = total != 0  # NaN is to be seen in the log-sum-exp
    safe = tl.where(live, total, 1.0)
    inside = at_q < queries
    # float64: next to a score of 1e6 float32 loses whole percents of every weight.
    exact = highest.to(tl.float64) + tl.log2(safe).to(tl.float64)
    log_total = tl.where(live, exact * LN_2, float("-inf"))
    tl.store(total_ptr + head * queries + at_q, log_total, mask=inside)
    entropy = tl.maximum(tl.log2(safe) - moment / safe, 0.0) * LN_2
    tl.store(entropy_ptr + head * queries + at_q, tl.where(live, entropy, 0.0), mask=inside)
    if OUTPUT:
        at_v = tl.arange(0, V)
        output = output_ptr + (head * queries + at_q[:, None]) * VALUE_WIDTH + at_v[None, :]
        kept = inside[:, None] & (at_v < VALUE_WIDTH)[None, :]
        tl.store(output, (summed / safe[:, None]).to(output_ptr.dtype.element_ty), mask=kept)


@triton.jit
def columns_kernel(
    query_ptr, key_ptr, total_ptr, received_ptr, folded_ptr, length_ptr,
    queries, keys, group, first_head, each, factor, cap, left, right,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr,
    MAP: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """One program owns a block of keys of one head and walks over the queries that see them.

    With ``weights`` those of ``steps.attend``: received_hk = weights.sum(axis=1); folded_hrk, the
    same for each block r of the map, of ``each`` queries. Every sum is made by one program, in one
    order.
    """
    head = first_head + tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BK
    length = tl.load(length_ptr + head)
    at_k = first + tl.arange(0, BK)
    key = load_rows(key_ptr + head // group * keys * WIDTH, at_k, keys, WIDTH, D)
    query_ptr += head * queries * WIDTH
    total_ptr += head * queries
    received = tl.zeros([BQ, BK], tl.float32)
    begin, full_begin, full_end, end = reach(first, first + BK - 1, right, left, queries, BQ)
    if first + BK > length:
        full_end = full_begin
    for block in range(begin, end):
        at_q = block * BQ + tl.arange(0, BQ)
        query = load_rows(query_ptr, at_q, queries, WIDTH, D)
        total = tl.load(total_ptr + at_q, mask=at_q < queries, other=0.0) * LOG2_E
        high = total.to(tl.float32)
        low = (total - high).to(tl.float32)
        t = scores(query, key.T, factor, cap, CAPPED) - high[:, None] - low[:, None]
        if (block < full_begin) | (block >= full_end):
            seen = visible(at_q[:, None], at_k[None, :], left, right, length, queries)
            t = tl.where(seen, t, HIDDEN)
        weights = tl.exp2(t)
        received += weights
        if MAP:
            row = at_q // each
            row_end = tl.max(tl.where(at_q < queries, row, 0)) + 1
            for r in range(tl.min(row), row_end):
                part = tl.sum(tl.where((row == r)[:, None], weights, 0.0), 0)
                place = (
                    folded_ptr + ((head - first_head) * tl.cdiv(queries, each) + r) * keys + at_k
                )
                before = tl.load(place, mask=at_k < keys, other=0.0)
                tl.store(place, before + part, mask=at_k < keys)
    tl.store(received_ptr + head * keys + at_k, tl.sum(received, 0), mask=at_k < keys)


@triton.jit
def weights_of(
    query_ptr, key_ptr, total_ptr, block, step, queries, keys, length, factor, cap, left, right,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr, B: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    """The weights of one tile."""
    at_q = block * B + tl.arange(0, B)
    at_k = (block - step) * B + tl.arange(0, B)
    query = load_rows(query_ptr, at_q, queries, WIDTH, D)
    key = load_rows(key_ptr, at_k, keys, WIDTH, D)
    total = tl.load(total_ptr + at_q, mask=at_q < queries, other=0.0) * LOG2_E
    high = total.to(tl.float32)
    low = (total - high).to(tl.float32)
    t = scores(query, key.T, factor, cap, CAPPED) - high[:, None] - low[:, None]
    if MASKED:
        seen = visible(at_q[:, None], at_k[None, :], left, right, length, queries)
        t = tl.where(seen, t, HIDDEN)
    return tl.exp2(t)


@triton.jit
def distances_kernel(
    query_ptr, key_ptr, total_ptr, partial_ptr, length_ptr,
    queries, keys, group, factor, cap, left, right, highest, tiles,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """One program walks down one diagonal of tiles, whose entries keep their distance.

    So whole tiles of weights are added, and summed along their own diagonals once at the end:
    partial[n] = sum of weights with key - query = n - (B - 1) - B * step, step being how many tiles
    the keys lie before the queries.
    """
    head = tl.program_id(2).to(tl.int64)
    step = highest - tl.program_id(0)
    length = tl.load(length_ptr + head)
    query_ptr += head * queries * WIDTH
    key_ptr += head // group * keys * WIDTH
    total_ptr += head * queries
    summed = tl.zeros([B, B], tl.float32)
    begin = tl.maximum(tl.program_id(1) * tiles, step)
    end = tl.minimum(tl.program_id(1) * tiles + tiles, tl.cdiv(queries, B))
    end = tl.minimum(end, tl.cdiv(keys, B) + step)
    inside = (step * B + B - 1 + right >= 0) & (step * B - B + 1 - left <= 0)
    end = tl.where(inside, tl.maximum(end, begin), begin)
    # Tiles that are seen whole come first; near an edge of the band or of the keys, none is.
    whole = (step * B - B + 1 + right >= 0) & (step * B + B - 1 - left <= 0)
    full = tl.minimum(queries // B, length // B + step)
    full = tl.where(whole, tl.minimum(tl.maximum(full, begin), end), begin)
    for block in range(begin, full):
        summed += weights_of(query_ptr, key_ptr, total_ptr, block, step, queries, keys, length,
                             factor, cap, left, right, WIDTH, D, CAPPED, B, False)  # fmt: skip
    for block in range(full, end):
        summed += weights_of(query_ptr, key_ptr, total_ptr, block, step, queries, keys, length,
                             factor, cap, left, right, WIDTH, D, CAPPED, B, True)  # fmt: skip
    at_n = tl.arange(0, 2 * B)[None, :]
    column = at_n + tl.arange(0, B)[:, None] - (B - 1)
    there = (column >= 0) & (column < B)
    skewed = tl.gather(summed, tl.where(there, column, 0), 1)
    sums = tl.sum(tl.where(there, skewed, 0.0), 0)
    place = (head * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)
    tl.store(partial_ptr + place * (2 * B) + tl.arange(0, 2 * B), sums)


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
