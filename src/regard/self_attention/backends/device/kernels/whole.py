"""What the programs of hopper_columns left in parts, made whole: entropy and map."""

import triton
import triton.language as tl

from regard.self_attention.backends.device.kernels.sight import LN_2

# Queries are walked, and keys held, 128 at a time: 128 of each are written whole or not at all.
SPAN = tl.constexpr(128)


@triton.jit
def entropy_kernel(
    moment_ptr, entropy_ptr, queries, padded, programs, keys_each, right, BLOCK: tl.constexpr
):
    """``entropy_hq = -ln 2 * moment_pshq.sum(axis=(0, 1))`` over the sides of programs that see q.

    Program p holds keys from p * keys_each on, its second side those from SPAN further on. What
    the others left was never written.
    """
    head = tl.program_id(1).to(tl.int64)
    heads = tl.num_programs(1)
    at_q = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    last = at_q // SPAN * SPAN + SPAN - 1 + right  # the last key that was looked at
    reach = tl.minimum(tl.max(last) // keys_each + 1, programs)
    summed = tl.zeros([BLOCK], tl.float32)
    for side in range(2 * reach):
        first = side // 2 * keys_each + side % 2 * SPAN
        place = moment_ptr + (side * heads + head) * padded + at_q
        summed += tl.load(place, mask=(at_q < queries) & (first <= last), other=0.0)
    entropy = tl.maximum(-summed * LN_2, 0.0)
    tl.store(entropy_ptr + head * queries + at_q, entropy, mask=at_q < queries)


@triton.jit
def map_kernel(
    sums_ptr, map_ptr, columns, right, factor,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, CELL: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One row of the map: a block of ROWS queries and blocks of COLUMNS keys, times ``factor``.

    The parts are of 16 queries, or of a quarter of the block if that is more, and of CELL keys.
    """
    head = tl.program_id(1).to(tl.int64)
    row = head * tl.num_programs(0) + tl.program_id(0)
    PARTS: tl.constexpr = ROWS // 16 if ROWS <= 64 else 4
    ACROSS: tl.constexpr = COLUMNS // CELL
    WALKED: tl.constexpr = ROWS if ROWS > SPAN else SPAN
    last = tl.program_id(0) * ROWS // WALKED * WALKED + WALKED - 1 + right
    for start in range(0, columns, BLOCK):
        at_c = start + tl.arange(0, BLOCK)
        summed = tl.zeros([BLOCK], tl.float32)
        for part in tl.static_range(PARTS):
            place = sums_ptr + (row * PARTS + part) * (columns * ACROSS) + at_c * ACROSS
            for across in range(ACROSS):
                first = (at_c * COLUMNS + across * CELL) // SPAN * SPAN
                seen = (at_c < columns) & (first <= last)
                summed += tl.load(place + across, mask=seen, other=0.0)
        tl.store(map_ptr + row * columns + at_c, summed * factor, mask=at_c < columns)
