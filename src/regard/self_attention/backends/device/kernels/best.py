"""The best keys of each query: a running list of the best two of every 32 keys."""

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

# The low 6 bits of a score hold where it stood among the 32 keys, and whether it was their second.
# 17 bits of the mantissa are left: a weight of 2^-100 is off by less than 1e-3 of itself.
KEPT_BITS = ~63
LOWEST = tl.constexpr(-1e30)


@triton.jit
def pack(t, kept_bits, N: tl.constexpr):
    """Scores (rows, N) with their places in the low bits.

    Columns 8 j + 2 g + b, for all j and b, make group g of 4: one thread holds them all. kept_bits
    (~63) comes in as an argument: held in a register it makes this one instruction.
    """
    at_j = tl.arange(0, N // 8)[:, None, None] * 2
    at_b = tl.arange(0, 2)[None, None, :]
    place = tl.broadcast_to((at_j + at_b) * 2, [N // 8, 4, 2])
    place = tl.reshape(place, [1, N])
    bits = (t.to(tl.int32, bitcast=True) & kept_bits) | place
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def halve(x, ROWS: tl.constexpr, N: tl.constexpr):
    """(rows, N, 4) as two of (rows, N / 2, 4)."""
    return tl.split(tl.permute(tl.reshape(x, [ROWS, N // 2, 2, 4]), [0, 1, 3, 2]))


@triton.jit
def fold(high, low, ROWS: tl.constexpr, N: tl.constexpr):
    """The best and second best of pairs of groups, each given by its best and second best."""
    high_a, high_b = halve(high, ROWS, N)
    low_a, low_b = halve(low, ROWS, N)
    second = tl.maximum(tl.minimum(high_a, high_b), tl.maximum(low_a, low_b))
    return tl.maximum(high_a, high_b), second


@triton.jit
def best_two(t, kept_bits, ROWS: tl.constexpr, N: tl.constexpr):
    """The best and second best of each of 4 groups of N / 4 columns, (rows, 4), places packed."""
    packed = tl.reshape(pack(t, kept_bits, N), [ROWS, N // 8, 4, 2])
    a, b = tl.split(packed)
    high = tl.maximum(a, b)
    low = tl.minimum(a, b)
    if N == 128:
        high, low = fold(high, low, ROWS, 16)
    high, low = fold(high, low, ROWS, 8)
    high, low = fold(high, low, ROWS, 4)
    high, low = fold(high, low, ROWS, 2)
    second = tl.reshape(low, [ROWS, 4]).to(tl.int32, bitcast=True) | 1
    return tl.reshape(high, [ROWS, 4]), second.to(tl.float32, bitcast=True)


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
def best_kernel(
    query_ptr, key_ptr, total_ptr, list_ptr, block_ptr, length_ptr,
    queries, keys, group, factor, cap, left, right, kept_bits,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr, DEEP: tl.constexpr,
    BQ: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """One program owns a block of queries of one head and walks once over the keys they see.

    Leaves for each query 4 lists of 8 (16 if deep): the best among the best two of every group of
    BK / 4 keys, as base-2 logarithms of weights with places packed in, and their blocks of keys.
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
            one, two = best_two(t, kept_bits, BQ, BK)
            here = tl.zeros([BQ, 4], tl.int32) + block
            list_v, list_i, fell_v, fell_i = insert(one, here, list_v, list_i)
            if DEEP:
                more_v, more_i, fell_v, fell_i = insert(fell_v, fell_i, more_v, more_i)
            list_v, list_i, fell_v, fell_i = insert(two, here, list_v, list_i)
            if DEEP:
                more_v, more_i, fell_v, fell_i = insert(fell_v, fell_i, more_v, more_i)
    COUNT: tl.constexpr = 64 if DEEP else 32
    place = (head * queries + at_q[:, None]) * COUNT + tl.arange(0, 4)[None, :] * 8
    inside = (at_q < queries)[:, None]
    for n in tl.static_range(8):
        tl.store(list_ptr + place + n, list_v[n], mask=inside)
        tl.store(block_ptr + place + n, list_i[n], mask=inside)
        if DEEP:
            tl.store(list_ptr + place + 32 + n, more_v[n], mask=inside)
            tl.store(block_ptr + place + 32 + n, more_i[n], mask=inside)


@triton.jit
def settle_kernel(
    list_ptr, block_ptr, weights_ptr, keys_ptr, doubt_ptr, rows,
    COUNT: tl.constexpr, TOP: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The best TOP of a query's lists, high to low.

    Equals ``-sort(-weights, axis=-1)[:, :TOP]`` and its keys, but where a group may hold three of a
    query's best (two are kept of each): those queries are marked in ``doubt`` for doubt_kernel.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    at_n = tl.arange(0, COUNT)[None, :]
    place = row.to(tl.int64) * COUNT + at_n
    v = tl.load(list_ptr + place, mask=row < rows, other=LOWEST)
    block = tl.load(block_ptr + place, mask=row < rows, other=0)
    within = (v.to(tl.int32, bitcast=True) >> 1) & 31
    key = block * BK + (within >> 1) * 8 + at_n % 32 // 8 * 2 + (within & 1)
    t, key = unsorted(tl.sort(sortable(v, key), dim=1, descending=True))
    weights = tl.where(t > HIDDEN + 1000.0, tl.exp2(t), 0.0)
    kept = (row < rows) & (at_n < TOP)
    place = row.to(tl.int64) * TOP + at_n
    tl.store(weights_ptr + place, weights, mask=kept)
    tl.store(keys_ptr + place, tl.where(weights > 0, key, -1).to(tl.int64), mask=kept)
    second = (t.to(tl.int32, bitcast=True) & 1) * (kept & (weights > 0)).to(tl.int32)
    one = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    tl.store(doubt_ptr + one, tl.max(second, 1), mask=one < rows)


@triton.jit
def doubt_kernel(
    query_ptr, key_ptr, total_ptr, weights_ptr, keys_ptr, doubt_ptr, length_ptr,
    queries, keys, group, factor, cap, left, right,
    WIDTH: tl.constexpr, D: tl.constexpr, CAPPED: tl.constexpr, TOP: tl.constexpr,
    BK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Looks at all keys of every group that holds two of a query's best: there may be a third."""
    head = tl.program_id(1).to(tl.int64)
    length = tl.load(length_ptr + head)
    key_ptr += head // group * keys * WIDTH
    at_d = tl.arange(0, D)
    at_n = tl.arange(0, 32)
    # Early queries see few keys and are often in doubt, so each program takes some from everywhere.
    for n in range(ROWS):
        q = n * tl.num_programs(0) + tl.program_id(0)
        row = head * queries + q
        if tl.load(doubt_ptr + row, mask=q < queries, other=0) > 0:
            query = tl.load(query_ptr + row * WIDTH + at_d, mask=at_d < WIDTH, other=0.0)
            total = tl.load(total_ptr + row) * LOG2_E
            high = total.to(tl.float32)
            low = (total - high).to(tl.float32)
            held = tl.load(keys_ptr + row * TOP + at_n, mask=at_n < TOP, other=-1).to(tl.int32)
            weights = tl.load(weights_ptr + row * TOP + at_n, mask=held >= 0, other=0.0)
            groups = tl.where(held >= 0, held // BK * 4 + held % 8 // 2, -1 - at_n)
            t = tl.where(weights > 0, tl.log2(tl.maximum(weights, 1e-45)), LOWEST)
            worst = tl.min(tl.where(at_n < TOP, t, 0.0))
            numbers = sortable(t, tl.maximum(held, 0))
            for m in range(1, TOP):
                one = tl.sum(tl.where(at_n == m, groups, 0))
                if tl.sum(((groups == one) & (at_n < m)).to(tl.int32)) > 0:
                    at_k = one // 4 * BK + at_n // 2 * 8 + one % 4 * 2 + at_n % 2
                    key = load_rows(key_ptr, at_k, keys, WIDTH, D).to(tl.float32)
                    s = tl.sum(key * query.to(tl.float32)[None, :], 1) * factor
                    if CAPPED:
                        e = tl.exp2(tl.minimum(tl.maximum(s, -15.0), 15.0) * (2.0 * LOG2_E))
                        s = (e - 1.0) / (e + 1.0) * cap
                    seen = visible(q, at_k, left, right, length, queries) & (at_n < BK // 4)
                    s = tl.where(seen, s - high - low, LOWEST)
                    known = tl.max((at_k[:, None] == held[None, :]).to(tl.int32), 1) > 0
                    if tl.max(tl.where(known, LOWEST, s)) > worst:
                        new = sortable(tl.where(known, LOWEST, s), at_k)
                        both = tl.sort(tl.reshape(tl.join(numbers, new), [64]), descending=True)
                        at_64 = tl.arange(0, 64)[:, None]
                        numbers = tl.sum(tl.where(at_64 == at_n[None, :], both[:, None], 0), 0)
            t, key = unsorted(numbers)
            weights = tl.where(t > HIDDEN, tl.exp2(t), 0.0)
            tl.store(weights_ptr + row * TOP + at_n, weights, mask=at_n < TOP)
            best = tl.where(weights > 0, key, -1).to(tl.int64)
            tl.store(keys_ptr + row * TOP + at_n, best, mask=at_n < TOP)
