"""What belongs to keys, on Hopper: received, map and entropy, at the speed of the tensor cores.

Two warpgroups own 128 keys each and share the queries that one more warp brings in. While the
tensor cores multiply the next tile, a warpgroup works on this one: one FFMA and one exponential an
entry, then sums that stay inside a thread (hopper_sums). What has to leave it (``flush``) waits for
the exponentials of the next tile.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from regard.self_attention.backends.device.kernels.hopper_sums import (
    BK,
    BQ,
    halves,
    in_cells,
    in_thread,
    totals,
)

# Later versions of triton have another name for it.
fetch = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
LOG2_E = gl.constexpr(1.4426950408889634)
HIDDEN = gl.constexpr(-10000.0)  # 2^HIDDEN is 0, and 0 * HIDDEN is still a number
STAGES = gl.constexpr(4)  # tiles of queries on their way
CONSUMER_REGISTERS = gl.constexpr(240)


@gluon.jit
def flush(moment, cells, tile, valid, places, ENTROPY: gl.constexpr, ADD: gl.constexpr,
          MAP: gl.constexpr, CELL: gl.constexpr, ROWS: gl.constexpr):  # fmt: skip
    """Add up between threads what a tile left, and write it down.

    With several blocks of keys to a program, the row sums of the second and later ones add to
    those of the first: the same program wrote them.
    """
    map_ptr, moment_ptr, map_stride, again, lowest = places
    if ENTROPY:
        whole_q = gl.sum(moment, 1)
        place = moment_ptr + (tile * BQ + gl.arange(0, BQ, layout=whole_q.type.layout)) * 2
        if ADD:
            whole_q += gl.load(place, mask=valid & again, other=0.0)
        gl.store(place, whole_q, mask=valid)
    if MAP:
        done = valid
        row = tile * 4
        if ROWS > BQ:
            # A block of queries is done at its first tile, or at the first that sees these keys.
            done = (((tile * BQ) % ROWS == 0) | (tile == lowest)) & valid
            row = tile * BQ // ROWS * 4
        whole = gl.sum(gl.sum(cells, 3), 1)
        layout: gl.constexpr = whole.type.layout
        at_r = row + gl.arange(0, 4, layout=gl.SliceLayout(1, layout))
        at_c = gl.arange(0, BK // CELL, layout=gl.SliceLayout(0, layout))
        place = map_ptr + at_r[:, None].to(gl.int64) * map_stride + at_c[None, :]
        gl.store(place, whole, mask=done)


@gluon.jit
def consume(s, total, sums, tile, valid, before, first, factor, right, places,
            ENTROPY: gl.constexpr, ADD: gl.constexpr, MAP: gl.constexpr, CELL: gl.constexpr,
            ROWS: gl.constexpr, mma: gl.constexpr, MASKED: gl.constexpr):  # fmt: skip
    """From the products of a tile to weights, and into the sums."""
    received, moment, cells = sums
    flush(moment, cells, tile + 1, before, places, ENTROPY, ADD, MAP, CELL, ROWS)
    t = s * factor - (total * LOG2_E)[:, None]
    if MASKED:
        at_q = tile * BQ + gl.arange(0, BQ, layout=gl.SliceLayout(1, mma))
        at_k = first + gl.arange(0, BK, layout=gl.SliceLayout(0, mma))
        last = gl.where(valid, at_q + right, -1)
        t = gl.where(at_k[None, :] <= last[:, None], t, HIDDEN)
    p = gl.exp2(t)
    half = halves(p)
    received += half
    if ENTROPY:
        moment = in_thread(p * t)
    if MAP:
        more = in_cells(half, CELL)
        if ROWS > BQ:
            cells = gl.where((tile * BQ) % ROWS == ROWS - BQ, more, cells + more)
        else:
            cells = more
    return received, moment, cells


@gluon.jit
def walk(begin, end, pairs, pending, spare, total, sums, q_smem, key_dk, barriers, done, last,
         number, total_ptr, first, factor, right, places, ENTROPY: gl.constexpr, ADD: gl.constexpr,
         MAP: gl.constexpr, CELL: gl.constexpr, ROWS: gl.constexpr, mma: gl.constexpr,
         MASKED: gl.constexpr):  # fmt: skip
    """Pairs of tiles, from the last queries backwards: two sets of accumulators take turns."""
    ready, empty = barriers
    for i in range(begin, end):
        tile = last - 1 - 2 * i
        here = done + 2 * i
        odd = (here + 1) % STAGES
        next_total = totals(total_ptr, tile - 1, mma)
        mbarrier.wait(ready.index(odd), ((here + 1) // STAGES) & 1)
        a = warpgroup_mma_wait(0, deps=[pending])
        other = warpgroup_mma(q_smem.index(odd), key_dk, spare, use_acc=False, is_async=True)
        mbarrier.arrive(empty.index(here % STAGES), count=1)
        sums = consume(a, total, sums, tile, True, i > 0, first, factor, right, places,
                       ENTROPY, ADD, MAP, CELL, ROWS, mma, MASKED)  # fmt: skip
        even = (here + 2) % STAGES
        total = totals(total_ptr, tile - 2, mma)
        mbarrier.wait(ready.index(even), ((here + 2) // STAGES) & 1, pred=i + 1 < pairs)
        spare = warpgroup_mma_wait(0, deps=[other])
        pending = warpgroup_mma(q_smem.index(even), key_dk, a, use_acc=False, is_async=True)
        mbarrier.arrive(empty.index(odd), count=1)
        # tile < last is always true; a constant would make the compiler branch around the stores.
        sums = consume(spare, next_total, sums, tile - 1, 2 * i + 1 < number, tile < last, first,
                       factor, right, places, ENTROPY, ADD, MAP, CELL, ROWS, mma,
                       MASKED)  # fmt: skip
    return pending, spare, total, sums


@gluon.jit
def span(block, last, right):
    """Of a block of 256 keys: its first, and how many tiles, free pairs and pairs see it."""
    first = block * 2 * BK
    low = gl.maximum(first - right, 0) // BQ
    full = gl.minimum((gl.maximum(first + 2 * BK - 1 - right, 0) + BQ - 1) // BQ, last)
    number = gl.maximum(last - low, 0)
    return first, number, gl.maximum(last - full, 0) // 2, (number + 1) // 2


@gluon.jit
def consumer(SIDE: gl.constexpr, q_smem, k_smem, barriers, turns, total_ptr, received_ptr, places,
             begin, end, last, factor, right, ENTROPY: gl.constexpr, ADD: gl.constexpr,
             MAP: gl.constexpr, CELL: gl.constexpr, ROWS: gl.constexpr):  # fmt: skip
    """One warpgroup: 128 keys held still, queries walked."""
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BK, 16])
    ready, empty = barriers
    map_ptr, moment_ptr, map_stride = places
    key_dk = k_smem.index(SIDE).permute((1, 0))
    done = 0
    for block in range(begin, end):
        first, number, free, pairs = span(block, last, right)
        first += SIDE * BK
        here = (map_ptr + first // CELL, moment_ptr + SIDE, map_stride, block > begin,
                last - number)  # fmt: skip
        a = gl.zeros([BQ, BK], gl.float32, layout=mma)
        spare = gl.zeros([BQ, BK], gl.float32, layout=mma)
        received = halves(a)
        sums = (received, in_thread(a), in_cells(received, CELL))
        total = totals(total_ptr, last - 1, mma)
        mbarrier.wait(turns.index(0), (block - begin) & 1)
        mbarrier.wait(ready.index(done % STAGES), (done // STAGES) & 1, pred=number > 0)
        query = q_smem.index(done % STAGES)
        pending = warpgroup_mma(query, key_dk, a, use_acc=False, is_async=True)
        pending, spare, total, sums = walk(
            0, free, pairs, pending, spare, total, sums, q_smem, key_dk, barriers, done, last,
            number, total_ptr, first, factor, right, here, ENTROPY, ADD, MAP, CELL, ROWS, mma,
            False)  # fmt: skip
        pending, spare, total, sums = walk(
            free, pairs, pairs, pending, spare, total, sums, q_smem, key_dk, barriers, done, last,
            number, total_ptr, first, factor, right, here, ENTROPY, ADD, MAP, CELL, ROWS, mma,
            True)  # fmt: skip
        warpgroup_mma_wait(0, deps=[pending])
        mbarrier.arrive(turns.index(1), count=1)
        received, moment, cells = sums
        flush(moment, cells, last - 2 * pairs, (number % 2 == 0) & (number > 0), here,
              ENTROPY, ADD, MAP, CELL, ROWS)  # fmt: skip
        done += 2 * pairs
        whole_k = gl.sum(gl.sum(received, 1), 0)
        at_k = first + gl.arange(0, BK, layout=whole_k.type.layout)
        gl.store(received_ptr + at_k, whole_k)


@gluon.jit
def producer(query_desc, key_desc, q_smem, k_smem, barriers, turns, query_row, key_row,
             begin, end, last, right, WIDTH: gl.constexpr):  # fmt: skip
    """One warp that brings in keys, then tiles of queries as their places become free."""
    ready, empty = barriers
    done = 0
    for block in range(begin, end):
        first, number, free, pairs = span(block, last, right)
        mbarrier.wait(turns.index(1), ((block - begin) & 1) ^ 1)
        mbarrier.expect(turns.index(0), 2 * BK * WIDTH * 2)
        for side in gl.static_range(2):
            row = key_row + first + side * BK
            fetch(key_desc, [row, 0], turns.index(0), k_smem.index(side))
        for i in range(2 * pairs):
            stage = (done + i) % STAGES
            row = query_row + gl.maximum(last - 1 - i, 0) * BQ
            mbarrier.wait(empty.index(stage), (((done + i) // STAGES) & 1) ^ 1)
            mbarrier.expect(ready.index(stage), BQ * WIDTH * 2)
            fetch(query_desc, [row, 0], ready.index(stage), q_smem.index(stage))
        done += 2 * pairs


@gluon.jit
def hopper_columns_kernel(
    query_desc, key_desc, total_ptr, received_ptr, map_ptr, moment_ptr,
    queries, keys, heads, group, factor, right, blocks,
    ENTROPY: gl.constexpr, ADD: gl.constexpr, MAP: gl.constexpr, CELL: gl.constexpr,
    ROWS: gl.constexpr, WIDTH: gl.constexpr,
):  # fmt: skip
    """One program owns ``blocks`` blocks of 256 keys of one head, and walks over the queries.

    With ``weights`` those of ``steps.attend`` under a causal mask (or none, right being large):

        received_hk = weights.sum(axis=1)
        entropy_hq = -ln 2 * moment_phq2.sum(axis=(0, 3)), over the programs p that reach the query
        map_hrc, summed further by the caller: ROWS queries (16 of 64 or more at a time) x CELL keys
    """
    head = (gl.program_id(0) % heads).to(gl.int64)
    program = gl.program_id(0) // heads
    map_stride = keys // CELL
    map_rows = queries // (ROWS // 4 if ROWS > BQ else 16)
    places = (map_ptr + head * map_rows * map_stride,
              moment_ptr + (program * heads + head) * queries * 2, map_stride)  # fmt: skip
    q_smem = gl.allocate_shared_memory(query_desc.dtype, [STAGES, BQ, WIDTH], query_desc.layout)
    k_smem = gl.allocate_shared_memory(key_desc.dtype, [2, BK, WIDTH], key_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    turns = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=2)
    mbarrier.init(turns.index(0), count=1)  # keys are there
    mbarrier.init(turns.index(1), count=2)  # keys are no longer needed
    fence_async_shared()
    barriers = (ready, empty)
    begin = program * blocks
    end = gl.minimum(begin + blocks, keys // (2 * BK))
    last = queries // BQ
    total_ptr += head * queries
    received_ptr += head * keys
    query_row = head.to(gl.int32) * queries
    key_row = (head // group).to(gl.int32) * keys
    gl.warp_specialize(
        [
            (consumer, (0, q_smem, k_smem, barriers, turns, total_ptr, received_ptr, places, begin,
                        end, last, factor, right, ENTROPY, ADD, MAP, CELL, ROWS)),
            (consumer, (1, q_smem, k_smem, barriers, turns, total_ptr, received_ptr, places, begin,
                        end, last, factor, right, ENTROPY, ADD, MAP, CELL, ROWS)),
            (producer, (query_desc, key_desc, q_smem, k_smem, barriers, turns, query_row, key_row,
                        begin, end, last, right, WIDTH)),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, 24],
    )  # fmt: skip
