"""Triton kernels for sums: over rows, over columns, along diagonals, and over repeated tokens."""

from typing import Any, NamedTuple

import triton
import triton.language as tl

from regard.engine.gpu.kernels.tile import (
    HIDDEN_SCORE,
    LN_2,
    head_pointers,
    load_rows,
    reach,
    scores,
    split_total,
    visible,
)

SCORE_FLOOR = tl.constexpr(-1e30)  # a score below every possible one, finite so that no NaN is made


@triton.jit
def rows_kernel(
    inputs, value_ptr, output_ptr, total_ptr, entropy_ptr, call,
    C: tl.constexpr, VALUE_WIDTH: tl.constexpr, V: tl.constexpr, OUTPUT: tl.constexpr,
    BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Output, log-sum-exp and entropy of one block of queries of one head.

    Equals ``textbook.attend``: its output, and of its weights the log-sum-exp and the entropy. The
    program walks once over the visible keys; a running maximum and sums replace the stored scores.
    A query that sees nothing gets 0, and -inf.
    """
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BQ
    length = tl.load(inputs.length + head)
    at_q = first + tl.arange(0, BQ)
    query_ptr, key_ptr = head_pointers(inputs, head, call, C)
    query = load_rows(query_ptr, at_q, call.queries, C.WIDTH, C.PADDED)
    value_ptr += head // call.group * call.keys * VALUE_WIDTH
    highest = tl.full([BQ], SCORE_FLOOR, tl.float32)
    total = tl.zeros([BQ], tl.float32)
    moment = tl.zeros([BQ], tl.float32)
    summed = tl.zeros([BQ, V], tl.float32)
    begin, full_begin, full_end, end = reach(
        first, first + BQ - 1, call.left, call.right, length, BK
    )
    for block in range(begin, end):
        at_k = block * BK + tl.arange(0, BK)
        key = load_rows(key_ptr, at_k, call.keys, C.WIDTH, C.PADDED)
        t = scores(query, key, call, C)
        if (block < full_begin) | (block >= full_end):
            t = tl.where(visible(at_q[:, None], at_k[None, :], length, call), t, SCORE_FLOOR)
        higher = tl.maximum(highest, tl.max(t, 1))
        t = tl.where(t == SCORE_FLOOR, HIDDEN_SCORE, t - higher[:, None])
        e = tl.exp2(t)
        change = tl.exp2(highest - higher)
        moment = change * (moment + (highest - higher) * total) + tl.sum(e * t, 1)
        total = change * total + tl.sum(e, 1)
        highest = higher
        if OUTPUT:
            value = load_rows(value_ptr, at_k, call.keys, VALUE_WIDTH, V)
            summed = summed * change[:, None]
            summed += tl.dot(e.to(value.dtype), value, input_precision="ieee")
    live = total != 0  # NaN must reach the log-sum-exp, by which it is detected
    safe = tl.where(live, total, 1.0)
    inside = at_q < call.queries
    row = head * call.queries + at_q
    # float64: next to a score of 1e6 float32 loses whole percents of every weight.
    exact = highest.to(tl.float64) + tl.log2(safe).to(tl.float64)
    log_total = tl.where(live, exact * LN_2, float("-inf"))
    tl.store(total_ptr + row, log_total, mask=inside)
    entropy = tl.maximum(tl.log2(safe) - moment / safe, 0.0) * LN_2
    tl.store(entropy_ptr + row, tl.where(live, entropy, 0.0), mask=inside)
    if OUTPUT:
        at_v = tl.arange(0, V)
        output = output_ptr + row[:, None] * VALUE_WIDTH + at_v[None, :]
        written = inside[:, None] & (at_v < VALUE_WIDTH)[None, :]
        tl.store(output, (summed / safe[:, None]).to(output_ptr.dtype.element_ty), mask=written)


@triton.jit
def columns_kernel(
    inputs, total_ptr, received_ptr, folded_ptr, call, first_head, rows_per_block,
    C: tl.constexpr, MAP: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Attention received by one block of keys of one head, in all and by block of the map.

    With ``weights`` those of ``textbook.attend``: received_hk = weights.sum(axis=1), and folded_hrk
    is the same for each block r of ``rows_per_block`` queries. Every sum is made by one program, in
    one order.
    """
    head = first_head + tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BK
    length = tl.load(inputs.length + head)
    at_k = first + tl.arange(0, BK)
    query_ptr, key_ptr = head_pointers(inputs, head, call, C)
    key = load_rows(key_ptr, at_k, call.keys, C.WIDTH, C.PADDED)
    total_ptr += head * call.queries
    received = tl.zeros([BQ, BK], tl.float32)
    begin, full_begin, full_end, end = reach(
        first, first + BK - 1, call.right, call.left, call.queries, BQ
    )
    if first + BK > length:
        full_end = full_begin
    for block in range(begin, end):
        at_q = block * BQ + tl.arange(0, BQ)
        query = load_rows(query_ptr, at_q, call.queries, C.WIDTH, C.PADDED)
        high, low = split_total(tl.load(total_ptr + at_q, mask=at_q < call.queries, other=0.0))
        t = scores(query, key, call, C) - high[:, None] - low[:, None]
        if (block < full_begin) | (block >= full_end):
            t = tl.where(visible(at_q[:, None], at_k[None, :], length, call), t, HIDDEN_SCORE)
        weights = tl.exp2(t)
        received += weights
        if MAP:
            row = at_q // rows_per_block
            row_end = tl.max(tl.where(at_q < call.queries, row, 0)) + 1
            rows = (head - first_head) * tl.cdiv(call.queries, rows_per_block)
            for r in range(tl.min(row), row_end):
                part = tl.sum(tl.where((row == r)[:, None], weights, 0.0), 0)
                folded = folded_ptr + (rows + r) * call.keys + at_k
                before = tl.load(folded, mask=at_k < call.keys, other=0.0)
                tl.store(folded, before + part, mask=at_k < call.keys)
    sums = tl.sum(received, 0)
    tl.store(received_ptr + head * call.keys + at_k, sums, mask=at_k < call.keys)


@triton.jit
def tile_weights(
    query_ptr, key_ptr, total_ptr, length, row_block, step, call,
    C: tl.constexpr, B: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """The weights of one tile of B x B, whose keys lie ``step`` tiles before its queries."""
    at_q = row_block * B + tl.arange(0, B)
    at_k = (row_block - step) * B + tl.arange(0, B)
    query = load_rows(query_ptr, at_q, call.queries, C.WIDTH, C.PADDED)
    key = load_rows(key_ptr, at_k, call.keys, C.WIDTH, C.PADDED)
    high, low = split_total(tl.load(total_ptr + at_q, mask=at_q < call.queries, other=0.0))
    t = scores(query, key, call, C) - high[:, None] - low[:, None]
    if MASKED:
        t = tl.where(visible(at_q[:, None], at_k[None, :], length, call), t, HIDDEN_SCORE)
    return tl.exp2(t)


@triton.jit
def distances_kernel(
    inputs, total_ptr, partial_ptr, call, highest, tiles, C: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Sums of weights along the diagonals of one diagonal of tiles, whose entries keep distance.

    The program adds whole tiles of weights and sums them along their own diagonals once at the end:
    partial[n] = sum of weights with key - query = n - (B - 1) - B * step, step being how many tiles
    the keys lie before the queries.
    """
    head = tl.program_id(2).to(tl.int64)
    step = highest - tl.program_id(0)
    length = tl.load(inputs.length + head)
    query_ptr, key_ptr = head_pointers(inputs, head, call, C)
    total_ptr += head * call.queries
    summed = tl.zeros([B, B], tl.float32)
    begin = tl.maximum(tl.program_id(1) * tiles, step)
    end = tl.minimum(tl.program_id(1) * tiles + tiles, tl.cdiv(call.queries, B))
    end = tl.minimum(end, tl.cdiv(call.keys, B) + step)
    inside = (step * B + B - 1 + call.right >= 0) & (step * B - B + 1 - call.left <= 0)
    end = tl.where(inside, tl.maximum(end, begin), begin)
    # Fully visible tiles come first; near an edge of the band or of the keys there is none.
    in_band = (step * B - B + 1 + call.right >= 0) & (step * B + B - 1 - call.left <= 0)
    full = tl.minimum(call.queries // B, length // B + step)
    full = tl.where(in_band, tl.minimum(tl.maximum(full, begin), end), begin)
    for row_block in range(begin, full):
        summed += tile_weights(
            query_ptr, key_ptr, total_ptr, length, row_block, step, call, C, B, False
        )
    for row_block in range(full, end):
        summed += tile_weights(
            query_ptr, key_ptr, total_ptr, length, row_block, step, call, C, B, True
        )
    at_n = tl.arange(0, 2 * B)[None, :]
    column = at_n + tl.arange(0, B)[:, None] - (B - 1)
    valid = (column >= 0) & (column < B)
    skewed = tl.gather(summed, tl.where(valid, column, 0), 1)
    sums = tl.sum(tl.where(valid, skewed, 0.0), 0)
    entry = (head * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)
    tl.store(partial_ptr + entry * (2 * B) + tl.arange(0, 2 * B), sums)


class TokenOrder(NamedTuple):
    """Queries of tokens that occur more than once, and key positions, both sorted by token.

    The positions of the token of query ``rows_i`` are ``positions_k[begins_i:ends_i]``.
    """

    rows_i: Any
    begins_i: Any
    ends_i: Any
    positions_k: Any


class Strides(NamedTuple):
    """Strides of query and key, which need not be contiguous: from head to head, row to row."""

    query_head: int
    query_row: int
    key_head: int
    key_row: int


@triton.jit
def gather_rows(ptr, at, valid, stride, C: tl.constexpr):
    """Rows ``at`` of an array (..., WIDTH), in any order; zeros where not valid."""
    at_d = tl.arange(0, C.PADDED)
    inside = valid[:, None] & (at_d < C.WIDTH)[None, :]
    return tl.load(ptr + at.to(tl.int64)[:, None] * stride + at_d[None, :], mask=inside, other=0.0)


@triton.jit
def repeats_kernel(
    inputs, total_ptr, order, partial_ptr, strides, call, listed, offset,
    C: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Sums of ``heads.repeats`` over some queries of one head, neighbours in the order of tokens.

    The program walks over the positions of the tokens of all its queries; it sums the weight on
    these positions, or on those one after them: program_id(2) says which. It also sums
    what uniform attention gives, and 1 for each query that sees any such key.
    """
    head, after = tl.program_id(1).to(tl.int64), tl.program_id(2)
    at_i = tl.program_id(0) * BQ + tl.arange(0, BQ)
    valid = at_i < listed
    at_q = tl.load(order.rows_i + at_i, mask=valid, other=0)
    begin = tl.load(order.begins_i + at_i, mask=valid, other=call.keys)
    end = tl.load(order.ends_i + at_i, mask=valid, other=0)
    query_ptr = inputs.query + head * strides.query_head
    query = gather_rows(query_ptr, at_q, valid, strides.query_row, C)
    key_ptr = inputs.key + head // call.group * strides.key_head
    total = tl.load(total_ptr + head * call.queries + at_q).to(tl.float64)
    # A query of total -inf sees nothing anyway.
    high, low = split_total(tl.where(total > float("-inf"), total, 0.0))
    length = tl.load(inputs.length + head)
    own = (at_q + offset)[:, None]
    summed = tl.zeros([BQ], tl.float64)
    number = tl.zeros([BQ], tl.int32)
    for first in range(tl.min(begin), tl.max(end), BK):
        at_n = first + tl.arange(0, BK)
        position = tl.load(order.positions_k + at_n, mask=at_n < call.keys, other=call.keys)
        at_k = position + after
        counted = (at_n[None, :] >= begin[:, None]) & (at_n[None, :] < end[:, None])
        # Neither a query's own position counts, nor what follows it, nor what follows the last.
        counted &= (at_k[None, :] != own) & (position[None, :] != own) & (at_k < call.keys)[None, :]
        counted &= visible(at_q[:, None], at_k[None, :], length, call)
        if tl.max(counted.to(tl.int32)) > 0:
            key = gather_rows(key_ptr, at_k, at_k < call.keys, strides.key_row, C)
            t = scores(query, key, call, C) - high[:, None] - low[:, None]
            weights = tl.exp2(tl.where(counted, t, HIDDEN_SCORE))
            summed += tl.sum(weights, 1).to(tl.float64)
            number += tl.sum(counted.to(tl.int32), 1)
    last = tl.minimum(at_q + call.right + 1, length)
    choices = tl.maximum(last - tl.maximum(at_q - call.left, 0), 1)
    uniform = number.to(tl.float64) / choices.to(tl.float64)
    entry = ((head * 2 + after) * 3).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
    tl.store(partial_ptr + entry, tl.sum(summed))
    tl.store(partial_ptr + entry + tl.num_programs(0), tl.sum(uniform))
    seeing = tl.sum((number > 0).to(tl.int32)).to(tl.float64)
    tl.store(partial_ptr + entry + 2 * tl.num_programs(0), seeing)
