"""Triton kernels for a training's monitor: sums over the rows of a head, and its largest score."""

import triton
import triton.language as tl

from regard.engine.gpu.kernels.tile import HIDDEN_SCORE, LN_2, LOG2_E

SUMS = tl.constexpr(16)  # numbers that a program writes; see regard.engine.gpu.health
LOWEST_BIAS = tl.constexpr(-1e4)  # an added mask below it hides its key


@triton.jit
def load_mask(mask_ptr, at_q, at_k, strides, inside):
    """Numbers of a mask (q, k) as float32: 0 or 1 of a bool one."""
    at = at_q.to(tl.int64) * strides.mask_query + at_k.to(tl.int64) * strides.mask_key
    return tl.load(mask_ptr + at, mask=inside, other=0).to(tl.float32)


@triton.jit
def masked(t, seen, mask_ptr, at_q, at_k, strides, MASK: tl.constexpr):
    """Base-2 scores with the mask, and which pairs are visible; MASK 0: none, 1: bool, 2: added."""
    if MASK == 1:
        seen = seen & (load_mask(mask_ptr, at_q, at_k, strides, seen) != 0.0)
    if MASK == 2:
        bias = load_mask(mask_ptr, at_q, at_k, strides, seen)
        seen = seen & (bias > LOWEST_BIAS)
        t = t + bias * LOG2_E
    return t, seen


@triton.jit
def one_key(
    query, key_ptr, mask_ptr, at_q, at_k, minus, live, strides, call,
    C: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """The weight of one key of each query; 0 where the query may not look at it."""
    at_d = tl.arange(0, C.PADDED)
    seen = live & (at_k >= 0) & (at_k < call.keys)
    if C.CAUSAL:
        seen = seen & (at_k <= at_q)
    at = tl.where(seen, at_k, 0).to(tl.int64)
    inside = seen[:, None] & (at_d < C.WIDTH)[None, :]
    key = tl.load(key_ptr + at[:, None] * strides.key_row + at_d[None, :], mask=inside, other=0.0)
    t = tl.sum(query.to(tl.float32) * key.to(tl.float32), 1) * call.factor
    t, seen = masked(t, seen, mask_ptr, at_q, at, strides, MASK)
    return tl.exp2(tl.where(seen, t + minus, HIDDEN_SCORE))


@triton.jit
def health_kernel(
    query_ptr, key_ptr, total_ptr, mask_ptr, rows_ptr, sums_ptr, strides, call,
    C: tl.constexpr, MASK: tl.constexpr, SAMPLED: tl.constexpr,
    BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Sums over one block of queries of one head, from the log-sum-exp of the model's own kernel.

    Equals ``regard.monitoring.health.sums_in_chunks``: with ``weights`` those of
    ``textbook.attend``, the sums over queries of the entropy, of its share of log(visible keys), of
    the largest weight, of the weight on the first key, on the query itself and on the key before
    it, of exp(entropy) and of the query's norm; the largest score, and the smallest entropy of
    queries that see several keys.
    """
    program, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    sentence, h = head // call.heads, head % call.heads
    at_i = program * BQ + tl.arange(0, BQ)
    live = at_i < call.listed
    at_q = tl.load(rows_ptr + at_i, mask=live, other=0) if SAMPLED else at_i
    at_d = tl.arange(0, C.PADDED)
    query_ptr += sentence * strides.query_sentence + h * strides.query_head
    key_ptr += sentence * strides.key_sentence + h // call.group * strides.key_head
    mask_ptr += sentence * strides.mask_sentence + h * strides.mask_head
    total_ptr += sentence * strides.total_sentence + h * strides.total_head
    total = tl.load(total_ptr + at_q * strides.total_row, mask=live, other=float("-inf"))
    live = live & (total != float("-inf"))
    minus = tl.where(live, -total * LOG2_E, 0.0)
    inside = live[:, None] & (at_d < C.WIDTH)[None, :]
    at = at_q.to(tl.int64)[:, None] * strides.query_row + at_d[None, :]
    query = tl.load(query_ptr + at, mask=inside, other=0.0)
    highest = tl.full([BQ], HIDDEN_SCORE, tl.float32)
    moment = tl.zeros([BQ], tl.float32)
    visible = tl.zeros([BQ], tl.float32)
    first, last = tl.min(tl.where(at_i < call.listed, at_q, call.queries)), tl.max(at_q)
    end = tl.cdiv(tl.minimum(last + 1, call.keys), BK) if C.CAUSAL else tl.cdiv(call.keys, BK)
    full = call.keys // BK
    if C.CAUSAL:
        full = tl.minimum(full, (first + 1) // BK)
    if MASK:
        full = 0
    for block in range(full):
        at_k = block * BK + tl.arange(0, BK)
        key = _columns(key_ptr, at_k, at_k < call.keys, strides, C)
        t = tl.dot(query, key, input_precision="ieee") * call.factor + minus[:, None]
        highest = tl.maximum(highest, tl.max(t, 1))
        moment += tl.sum(tl.exp2(t) * t, 1)
    for block in range(full, end):
        at_k = block * BK + tl.arange(0, BK)
        key = _columns(key_ptr, at_k, at_k < call.keys, strides, C)
        t = tl.dot(query, key, input_precision="ieee") * call.factor + minus[:, None]
        seen = live[:, None] & (at_k < call.keys)[None, :]
        if C.CAUSAL:
            seen = seen & (at_k[None, :] <= at_q[:, None])
        t, seen = masked(t, seen, mask_ptr, at_q[:, None], at_k[None, :], strides, MASK)
        t = tl.where(seen, t, HIDDEN_SCORE)
        highest = tl.maximum(highest, tl.max(t, 1))
        moment += tl.sum(tl.exp2(t) * t, 1)
        if MASK:
            visible += tl.sum(seen.to(tl.float32), 1)
    if MASK:
        live = live & (visible > 0.0)  # kernels return anything for a query that sees nothing
    else:
        visible += tl.minimum(at_q + 1, call.keys).to(tl.float32) if C.CAUSAL else call.keys
    entropy = tl.maximum(-moment * LN_2, 0.0)
    entropy = tl.where(total == total, entropy, total)  # NaN stays NaN
    several = live & (visible > 1.0)
    share = tl.where(several, entropy / tl.log(tl.maximum(visible, 2.0)), 0.0)
    own = one_key(query, key_ptr, mask_ptr, at_q, at_q, minus, live, strides, call, C, MASK)
    at_p, at_0 = at_q - 1, at_q * 0
    before = one_key(query, key_ptr, mask_ptr, at_q, at_p, minus, live, strides, call, C, MASK)
    at_first = one_key(query, key_ptr, mask_ptr, at_q, at_0, minus, live, strides, call, C, MASK)
    wide = query.to(tl.float32)
    norm = tl.sqrt(tl.sum(wide * wide, 1))
    sums_ptr += (head * tl.num_programs(0) + program) * SUMS
    largest = tl.where(live, tl.exp2(highest), 0.0)
    score = tl.where(live, (highest - minus) * LN_2, float("-inf"))
    tl.store(sums_ptr, tl.sum(live.to(tl.float32)))
    tl.store(sums_ptr + 1, tl.sum(tl.where(live, entropy, 0.0)))
    tl.store(sums_ptr + 2, tl.sum(share))
    tl.store(sums_ptr + 3, tl.sum(several.to(tl.float32)))
    tl.store(sums_ptr + 4, tl.sum(largest))
    tl.store(sums_ptr + 5, tl.sum(at_first))
    tl.store(sums_ptr + 6, tl.sum(own))
    tl.store(sums_ptr + 7, tl.sum(before))
    tl.store(sums_ptr + 8, tl.sum(tl.where(live, tl.exp(entropy), 0.0)))
    tl.store(sums_ptr + 9, tl.sum(tl.where(live, norm, 0.0)))
    tl.store(sums_ptr + 10, tl.max(score))
    tl.store(sums_ptr + 11, tl.max(tl.where(several, -entropy, float("-inf"))))


@triton.jit
def _columns(ptr, at, inside, strides, C: tl.constexpr):
    """Rows ``at`` of the keys as columns, (PADDED, BK)."""
    at_d = tl.arange(0, C.PADDED)
    addresses = ptr + at.to(tl.int64)[None, :] * strides.key_row + at_d[:, None]
    return tl.load(addresses, mask=inside[None, :] & (at_d < C.WIDTH)[:, None], other=0.0)


@triton.jit
def largest_kernel(
    query_ptr, key_ptr, mask_ptr, bound_ptr, largest_ptr, strides, call, threshold,
    C: tl.constexpr, MASK: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The largest score of one block of queries, joined to ``largest_h``: the scores' maximum.

    A head whose largest log-sum-exp is not above the threshold has no score above it, and its
    programs end at once: the host need not know which heads these are.
    """
    program, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    sentence, h = head // call.heads, head % call.heads
    if tl.load(bound_ptr + h) > threshold:
        at_q = program * BQ + tl.arange(0, BQ)
        live = at_q < call.queries
        at_d = tl.arange(0, C.PADDED)
        query_ptr += sentence * strides.query_sentence + h * strides.query_head
        key_ptr += sentence * strides.key_sentence + h // call.group * strides.key_head
        mask_ptr += sentence * strides.mask_sentence + h * strides.mask_head
        inside = live[:, None] & (at_d < C.WIDTH)[None, :]
        at = at_q.to(tl.int64)[:, None] * strides.query_row + at_d[None, :]
        query = tl.load(query_ptr + at, mask=inside, other=0.0)
        highest = tl.full([BQ, BK], -1e30, tl.float32)
        end = tl.cdiv(call.keys, BK)
        full = call.keys // BK
        if C.CAUSAL:
            end = tl.cdiv(tl.minimum((program + 1) * BQ, call.keys), BK)
            full = tl.minimum(full, (program * BQ + 1) // BK)
        if MASK:
            full = 0
        for block in range(full):
            at_k = block * BK + tl.arange(0, BK)
            key = _columns(key_ptr, at_k, at_k < call.keys, strides, C)
            highest = tl.maximum(highest, tl.dot(query, key, input_precision="ieee") * call.factor)
        for block in range(full, end):
            at_k = block * BK + tl.arange(0, BK)
            key = _columns(key_ptr, at_k, at_k < call.keys, strides, C)
            t = tl.dot(query, key, input_precision="ieee") * call.factor
            seen = live[:, None] & (at_k < call.keys)[None, :]
            if C.CAUSAL:
                seen = seen & (at_k[None, :] <= at_q[:, None])
            t, seen = masked(t, seen, mask_ptr, at_q[:, None], at_k[None, :], strides, MASK)
            highest = tl.maximum(highest, tl.where(seen, t, -1e30))
        found = tl.max(tl.max(tl.where(live[:, None], highest, -1e30), 1), 0)
        tl.atomic_max(largest_ptr + h, found * LN_2)
