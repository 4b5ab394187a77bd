"""How far away the weight lies: sums along every diagonal."""

import triton
import triton.language as tl

from regard.self_attention.backends.device.kernels.sight import (
    HIDDEN,
    LOG2_E,
    load_rows,
    scores,
    visible,
)


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
