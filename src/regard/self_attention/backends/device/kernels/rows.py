"""What belongs to each query: log-sum-exp, entropy and output, in one pass over the keys."""

import triton
import triton.language as tl

from regard.self_attention.backends.device.kernels.sight import (
    HIDDEN,
    LN_2,
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
