"""What belongs to keys, for any sizes: attention received, and the map's rows, key by key."""

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
