"""From candidates to the best keys of each query: exact scores of the few, and second looks."""

import triton
import triton.language as tl

from regard.self_attention.backends.device.kernels.best import LOWEST
from regard.self_attention.backends.device.kernels.sight import (
    LOG2_E,
    capped,
    visible,
)

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
