"""What belongs to keys, on Hopper: received, map and entropy, at the speed of the tensor cores.

Two warpgroups own 128 keys each and share the pairs of tiles of queries that one more warp brings
in. While the tensor cores multiply the next tile, a warpgroup works on this one: one FFMA and one
exponential an entry, then sums that stay inside a thread (hopper_sums). What has to leave it
(``flush``) waits for the exponentials of the next pair.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from regard.self_attention.backends.device.kernels.hopper import (
    BK,
    BQ,
    CONSUMER_REGISTERS,
    PRODUCER_REGISTERS,
    accumulators,
    fetch,
    gates,
    turns,
)
from regard.self_attention.backends.device.kernels.hopper_sums import (
    PAIR,
    halves,
    in_cells,
    in_thread,
    of_cells,
    of_rows,
)

HIDDEN = gl.constexpr(-10000.0)  # 2^HIDDEN is 0, and 0 * HIDDEN is still a number
STAGES = gl.constexpr(4)  # pairs of tiles on their way


@gluon.jit
def flush(held, pair, valid, places, ENTROPY: gl.constexpr, ADD: gl.constexpr, MAP: gl.constexpr,
          CELL: gl.constexpr, ROWS: gl.constexpr):  # fmt: skip
    """Add up between threads what a pair of tiles left, and write it down.

    With several blocks of keys to a program, the row sums of the second and later ones add to
    those of the first: the same program wrote them.
    """
    moments, cells = held
    map_ptr, moment_ptr, map_stride, again, lowest = places
    if ENTROPY:
        rows = of_rows(moments)
        layout: gl.constexpr = rows.type.layout
        at_q = gl.arange(0, BQ, layout=gl.SliceLayout(1, layout))[:, None]
        at_t = gl.arange(0, 2, layout=gl.SliceLayout(0, layout))[None, :]
        place = moment_ptr + pair * PAIR + at_t * BQ + at_q
        if ADD:
            rows += gl.load(place, mask=valid & again, other=0.0)
        gl.store(place, rows, mask=valid)
    if MAP:
        TILES: gl.constexpr = 2 if ROWS < PAIR else 1
        sums = of_cells(cells, CELL, TILES)
        deep: gl.constexpr = sums.type.layout
        flat: gl.constexpr = gl.SliceLayout(2, deep)
        at_r = gl.arange(0, 4, layout=gl.SliceLayout(1, flat))[:, None, None]
        at_c = gl.arange(0, BK // CELL, layout=gl.SliceLayout(0, flat))[None, :, None]
        side: gl.constexpr = gl.SliceLayout(0, gl.SliceLayout(1, deep))
        row = pair * 8 + gl.arange(0, TILES, layout=side)[None, None, :] * 4 + at_r
        done = valid
        if ROWS >= PAIR:
            # A block of queries is done at its first pair, or at the first that sees these keys.
            done = (((pair * PAIR) % ROWS == 0) | (pair == lowest)) & valid
            row += pair * PAIR // ROWS * 4 - pair * 8
        gl.store(map_ptr + row.to(gl.int64) * map_stride + at_c, sums, mask=done)


@gluon.jit
def weigh(s, total, tile, first, factor, right, mma: gl.constexpr, MASKED: gl.constexpr):
    """From the products of a tile to weights and their logarithms."""
    t = s * factor + total[:, None]
    if MASKED:
        at_q = tile * BQ - first + gl.arange(0, BQ, layout=gl.SliceLayout(1, mma))
        at_k = gl.arange(0, BK, layout=gl.SliceLayout(0, mma))
        t = gl.where(at_k[None, :] <= (at_q + right)[:, None], t, HIDDEN)
    return gl.exp2(t), t


@gluon.jit
def walk(begin, end, pairs, pending, spare, received, held, smem, key_dk, barriers, done, last,
         first, factor, right, places, ENTROPY: gl.constexpr, ADD: gl.constexpr, MAP: gl.constexpr,
         CELL: gl.constexpr, ROWS: gl.constexpr, mma: gl.constexpr,
         MASKED: gl.constexpr):  # fmt: skip
    """Pairs of tiles, from the last queries backwards: two sets of accumulators take turns."""
    ready, empty = barriers
    q_smem, t_smem = smem
    for i in range(begin, end):
        pair = last - 1 - i
        here = (done + i) % STAGES
        a = warpgroup_mma_wait(0, deps=[pending])
        other = warpgroup_mma(q_smem.index(2 * here + 1), key_dk, spare, use_acc=False,
                              is_async=True)  # fmt: skip
        total = t_smem.index(2 * here).load(gl.SliceLayout(1, mma))
        flush(held, pair + 1, i > 0, places, ENTROPY, ADD, MAP, CELL, ROWS)
        p, t = weigh(a, total, 2 * pair, first, factor, right, mma, MASKED)
        half = halves(p)
        moment = in_thread(p * t)
        received += half
        cells = in_cells(half, CELL)
        ahead = (done + i + 1) % STAGES
        mbarrier.wait(ready.index(ahead), ((done + i + 1) // STAGES) & 1, pred=i + 1 < pairs)
        spare = warpgroup_mma_wait(0, deps=[other])
        pending = warpgroup_mma(q_smem.index(2 * ahead), key_dk, a, use_acc=False, is_async=True)
        total = t_smem.index(2 * here + 1).load(gl.SliceLayout(1, mma))
        mbarrier.arrive(empty.index(here), count=1)
        p, t = weigh(spare, total, 2 * pair + 1, first, factor, right, mma, MASKED)
        half = halves(p)
        moments = gl.join(moment, in_thread(p * t))
        received += half
        more = in_cells(half, CELL)
        if ROWS < PAIR:
            held = (moments, gl.join(cells, more))
        else:
            more += cells
            fresh = (pair * PAIR) % ROWS == ROWS - PAIR
            held = (moments, gl.where(fresh, more, held[1] + more))
    return pending, spare, received, held


@gluon.jit
def span(first, last, right):
    """Of 128 keys: how many pairs of tiles see some of them, and how many see all."""
    low = gl.minimum(gl.maximum(first - right, 0) // PAIR, last)
    full = gl.minimum((gl.maximum(first + BK - 1 - right, 0) + PAIR - 1) // PAIR, last)
    return last - low, last - full


@gluon.jit
def consumer(SIDE: gl.constexpr, smem, k_smem, barriers, keys_held, received_ptr, places,
             begin, end, last, factor, right, ENTROPY: gl.constexpr, ADD: gl.constexpr,
             MAP: gl.constexpr, CELL: gl.constexpr, ROWS: gl.constexpr):  # fmt: skip
    """One warpgroup: 128 keys held still, queries walked."""
    mma: gl.constexpr = accumulators()
    ready, empty = barriers
    q_smem, t_smem = smem
    map_ptr, moment_ptr, map_stride, moment_stride = places
    key_dk = k_smem.index(SIDE).permute((1, 0))
    done = 0
    for block in range(begin, end):
        brought, _ = span(block * 2 * BK, last, right)
        first = (block * 2 + SIDE) * BK
        pairs, free = span(first, last, right)
        here = (map_ptr + first // CELL, moment_ptr + SIDE * moment_stride, map_stride,
                block > begin, last - pairs)  # fmt: skip
        a = gl.zeros([BQ, BK], gl.float32, layout=mma)
        spare = gl.zeros([BQ, BK], gl.float32, layout=mma)
        received = halves(a)
        moment, cells = in_thread(a), in_cells(received, CELL)
        held = (gl.join(moment, moment), gl.join(cells, cells) if ROWS < PAIR else cells)
        mbarrier.wait(keys_held.index(0), (block - begin) & 1)
        mbarrier.wait(ready.index(done % STAGES), (done // STAGES) & 1, pred=pairs > 0)
        query = q_smem.index(2 * (done % STAGES))
        pending = warpgroup_mma(query, key_dk, a, use_acc=False, is_async=True)
        pending, spare, received, held = walk(
            0, free, pairs, pending, spare, received, held, smem, key_dk, barriers, done, last,
            first, factor, right, here, ENTROPY, ADD, MAP, CELL, ROWS, mma, False)  # fmt: skip
        pending, spare, received, held = walk(
            free, pairs, pairs, pending, spare, received, held, smem, key_dk, barriers, done, last,
            first, factor, right, here, ENTROPY, ADD, MAP, CELL, ROWS, mma, True)  # fmt: skip
        warpgroup_mma_wait(0, deps=[pending])
        mbarrier.arrive(keys_held.index(1), count=1)
        flush(held, last - pairs, pairs > 0, here, ENTROPY, ADD, MAP, CELL, ROWS)
        for i in range(pairs, brought):  # brought for the other warpgroup alone
            mbarrier.wait(ready.index((done + i) % STAGES), ((done + i) // STAGES) & 1)
            mbarrier.arrive(empty.index((done + i) % STAGES), count=1)
        done += brought
        whole_k = gl.sum(gl.sum(received, 1), 0)
        at_k = first + gl.arange(0, BK, layout=whole_k.type.layout)
        gl.store(received_ptr + at_k, whole_k)


@gluon.jit
def producer(query_desc, total_desc, key_desc, smem, k_smem, barriers, keys_held, query_row,
             key_row, begin, end, last, right, WIDTH: gl.constexpr):  # fmt: skip
    """One warp that brings in keys, then pairs of tiles of queries as their places become free."""
    ready, empty = barriers
    q_smem, t_smem = smem
    done = 0
    for block in range(begin, end):
        pairs, _ = span(block * 2 * BK, last, right)
        mbarrier.wait(keys_held.index(1), ((block - begin) & 1) ^ 1)
        mbarrier.expect(keys_held.index(0), 2 * BK * WIDTH * 2)
        for side in gl.static_range(2):
            row = key_row + (block * 2 + side) * BK
            fetch(key_desc, [row, 0], keys_held.index(0), k_smem.index(side))
        for i in range(pairs):
            stage = (done + i) % STAGES
            mbarrier.wait(empty.index(stage), (((done + i) // STAGES) & 1) ^ 1)
            mbarrier.expect(ready.index(stage), 2 * (BQ * WIDTH * 2 + BQ * 4))
            for side in gl.static_range(2):
                row = query_row + (last - 1 - i) * PAIR + side * BQ
                fetch(query_desc, [row, 0], ready.index(stage), q_smem.index(2 * stage + side))
                fetch(total_desc, [row], ready.index(stage), t_smem.index(2 * stage + side))
        done += pairs


@gluon.jit
def hopper_columns_kernel(
    query_desc, key_desc, total_desc, received_ptr, map_ptr, moment_ptr,
    queries, keys, heads, group, factor, right, blocks,
    ENTROPY: gl.constexpr, ADD: gl.constexpr, MAP: gl.constexpr, CELL: gl.constexpr,
    ROWS: gl.constexpr, WIDTH: gl.constexpr,
):  # fmt: skip
    """One program owns ``blocks`` blocks of 256 keys of one head, and walks over the queries.

    With ``weights`` those of ``steps.attend`` under a causal mask (or none, right being large):

        received_hk = weights.sum(axis=1)
        entropy_hq = -ln 2 * moment_pshq.sum(axis=(0, 1)), over what reaches the query
        map_hrc, summed further by the caller: ROWS queries (16 of 64 or more at a time) x CELL keys
    """
    head = (gl.program_id(0) % heads).to(gl.int64)
    program = gl.program_id(0) // heads
    map_stride = keys // CELL
    map_rows = queries // (ROWS // 4 if ROWS >= PAIR else 16)
    places = (map_ptr + head * map_rows * map_stride,
              moment_ptr + (program * 2 * heads + head) * queries, map_stride,
              queries.to(gl.int64) * heads)  # fmt: skip
    q_smem = gl.allocate_shared_memory(query_desc.dtype, [2 * STAGES, BQ, WIDTH], query_desc.layout)
    t_smem = gl.allocate_shared_memory(gl.float32, [2 * STAGES, BQ], total_desc.layout)
    k_smem = gl.allocate_shared_memory(key_desc.dtype, [2, BK, WIDTH], key_desc.layout)
    barriers = gates(STAGES)
    keys_held = turns()
    smem = (q_smem, t_smem)
    begin = program * blocks
    end = gl.minimum(begin + blocks, keys // (2 * BK))
    last = queries // PAIR
    received_ptr += head * keys
    query_row = head.to(gl.int32) * queries
    key_row = (head // group).to(gl.int32) * keys
    gl.warp_specialize(
        [
            (consumer, (0, smem, k_smem, barriers, keys_held, received_ptr, places, begin,
                        end, last, factor, right, ENTROPY, ADD, MAP, CELL, ROWS)),
            (consumer, (1, smem, k_smem, barriers, keys_held, received_ptr, places, begin,
                        end, last, factor, right, ENTROPY, ADD, MAP, CELL, ROWS)),
            (producer, (query_desc, total_desc, key_desc, smem, k_smem, barriers, keys_held,
                        query_row, key_row, begin, end, last, right, WIDTH)),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )  # fmt: skip
