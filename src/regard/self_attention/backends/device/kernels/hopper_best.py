"""Candidates for the best keys of each query, on Hopper: as best.py, nearly at the product's speed.

Two warpgroups own 64 queries each and share the pairs of tiles of 128 keys that one more warp
brings in. A thread holds 16 of a tile's pairs of keys for each of its rows (columns 8 j + 2 g and
the next, for all j, in thread g of four): it finds the best two of both tiles' pairs, and keeps a
list of the best eight (or sixteen) of these.
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
from regard.self_attention.backends.device.kernels.hopper_lists import (
    fold,
    halve,
    insert_two,
    of_both,
)

UNSEEN = gl.constexpr(-1e20)  # a product that no factor brings above a score that is seen
LOWEST = gl.constexpr(-1e30)
STAGES = gl.constexpr(2)  # pairs of tiles on their way


@gluon.jit
def search(s, t_smem, tile, first, right, factor, kept_bits, PART: gl.constexpr,
           mma: gl.constexpr, MASKED: gl.constexpr):  # fmt: skip
    """As best.best_two, of the products of a tile; 32 places for both tiles of a pair."""
    if MASKED:
        at_q = first - tile * BK + gl.arange(0, BQ, layout=gl.SliceLayout(1, mma))
        at_k = gl.arange(0, BK, layout=gl.SliceLayout(0, mma))
        s = gl.where(at_k[None, :] <= (at_q + right)[:, None], s, UNSEEN)
    a, b = gl.split(gl.reshape(s, [BQ, BK // 8, 4, 2]))
    better = gl.maximum(a, b)
    rows: gl.constexpr = gl.SliceLayout(1, gl.SliceLayout(2, better.type.layout))
    pairs: gl.constexpr = gl.SliceLayout(0, gl.SliceLayout(2, better.type.layout))
    t = better * factor + t_smem.load(rows)[:, None, None]
    place = (gl.arange(0, BK // 8, layout=pairs) + PART * 16) * 2
    bits = (t.to(gl.int32, bitcast=True) & kept_bits) | place[None, :, None]
    a, b = halve(bits.to(gl.float32, bitcast=True), 16)
    high, low, lost = fold(gl.maximum(a, b), gl.minimum(a, b), 8)
    high, low, lost = fold(high, low, 4)
    high, low, lost = fold(high, low, 2)
    return gl.reshape(high, [BQ, 4]), gl.reshape(low, [BQ, 4]), gl.reshape(lost, [BQ, 4])


@gluon.jit
def walk(begin, end, pairs, pending, spare, found, lost, lists, query, smem, k_smem, barriers,
         first, right, factor, kept_bits, DEEP: gl.constexpr, mma: gl.constexpr,
         MASKED: gl.constexpr):  # fmt: skip
    """Pairs of tiles of keys: two sets of accumulators take turns.

    The lists take in the candidates of the last pair while the next one is searched.
    """
    ready, empty = barriers
    t_smem, kept_smem = smem
    for i in range(begin, end):
        here = i % STAGES
        ahead = (i + 1) % STAGES
        a = warpgroup_mma_wait(0, deps=[pending])
        key_dk = k_smem.index(2 * here + 1).permute((1, 0))
        other = warpgroup_mma(query, key_dk, spare, use_acc=False, is_async=True)
        one = search(a, t_smem, 2 * i, first, right, factor, kept_bits, 0, mma, MASKED)
        lists = insert_two(found, i - 1, lists, DEEP)
        # Nobody reads this: it keeps the compiler from searching only after the next wait.
        kept_smem.store(one[0])
        mbarrier.wait(ready.index(ahead), ((i + 1) // STAGES) & 1, pred=i + 1 < pairs)
        spare = warpgroup_mma_wait(0, deps=[other])
        key_dk = k_smem.index(2 * ahead).permute((1, 0))
        pending = warpgroup_mma(query, key_dk, a, use_acc=False, is_async=True)
        mbarrier.arrive(empty.index(here), count=1)
        two = search(spare, t_smem, 2 * i + 1, first, right, factor, kept_bits, 1, mma, MASKED)
        found, lost = of_both(one, two, lost)
    return pending, spare, found, lost, lists


@gluon.jit
def consumer(SIDE: gl.constexpr, q_smem, smem, k_smem, barriers, held, places, first, free,
             pairs, right, factor, kept_bits, DEEP: gl.constexpr):  # fmt: skip
    """One warpgroup: 64 queries held still, keys walked, lists written at the end."""
    mma: gl.constexpr = accumulators()
    ready, empty = barriers
    list_ptr, block_ptr, lost_ptr = places
    first += SIDE * BQ
    query, smem = q_smem.index(SIDE), (smem[0].index(SIDE), smem[1].index(SIDE))
    a = gl.zeros([BQ, BK], gl.float32, layout=mma)
    spare = gl.zeros([BQ, BK], gl.float32, layout=mma)
    mbarrier.wait(held.index(0), 0)
    one, two, left_out = search(a, smem[0], 0, first, right, factor, kept_bits, 0, mma, False)
    layout: gl.constexpr = one.type.layout
    v = gl.full([BQ, 4], LOWEST, gl.float32, layout=layout)
    z = gl.full([BQ, 4], 0, gl.int32, layout=layout)
    lists = ((v, v, v, v, v, v, v, v), (z, z, z, z, z, z, z, z),
             (v, v, v, v, v, v, v, v), (z, z, z, z, z, z, z, z))  # fmt: skip
    mbarrier.wait(ready.index(0), 0)
    key_dk = k_smem.index(0).permute((1, 0))
    pending = warpgroup_mma(query, key_dk, a, use_acc=False, is_async=True)
    pending, spare, found, lost, lists = walk(
        0, free, pairs, pending, spare, (v, v), v, lists, query, smem, k_smem, barriers, first,
        right, factor, kept_bits, DEEP, mma, False)  # fmt: skip
    pending, spare, found, lost, lists = walk(
        free, pairs, pairs, pending, spare, found, lost, lists, query, smem, k_smem, barriers,
        first, right, factor, kept_bits, DEEP, mma, True)  # fmt: skip
    warpgroup_mma_wait(0, deps=[pending])
    list_v, list_i, more_v, more_i = insert_two(found, pairs - 1, lists, DEEP)
    COUNT: gl.constexpr = 64 if DEEP else 32
    row = (first + gl.arange(0, BQ, layout=gl.SliceLayout(1, layout)))[:, None].to(gl.int64)
    at_g = gl.arange(0, 4, layout=gl.SliceLayout(0, layout))[None, :]
    gl.store(lost_ptr + row * 4 + at_g, lost)
    place = row * COUNT + at_g * 8
    for n in gl.static_range(8):
        gl.store(list_ptr + place + n, list_v[n])
        gl.store(block_ptr + place + n, list_i[n])
        if DEEP:
            gl.store(list_ptr + place + 32 + n, more_v[n])
            gl.store(block_ptr + place + 32 + n, more_i[n])


@gluon.jit
def producer(query_desc, total_desc, key_desc, q_smem, t_smem, k_smem, barriers, held, query_row,
             key_row, pairs, WIDTH: gl.constexpr):  # fmt: skip
    """One warp that brings in the queries, then pairs of tiles of keys as places become free."""
    ready, empty = barriers
    mbarrier.expect(held.index(0), 2 * (BQ * WIDTH * 2 + BQ * 4))
    for side in gl.static_range(2):
        row = query_row + side * BQ
        fetch(query_desc, [row, 0], held.index(0), q_smem.index(side))
        fetch(total_desc, [row], held.index(0), t_smem.index(side))
    for i in range(pairs):
        stage = i % STAGES
        mbarrier.wait(empty.index(stage), ((i // STAGES) & 1) ^ 1)
        mbarrier.expect(ready.index(stage), 2 * BK * WIDTH * 2)
        for side in gl.static_range(2):
            row = key_row + (2 * i + side) * BK
            fetch(key_desc, [row, 0], ready.index(stage), k_smem.index(2 * stage + side))


@gluon.jit
def hopper_best_kernel(
    query_desc, key_desc, total_desc, list_ptr, block_ptr, lost_ptr,
    queries, keys, heads, group, factor, right, kept_bits,
    WIDTH: gl.constexpr, DEEP: gl.constexpr,
):  # fmt: skip
    """One program owns 128 queries of one head and walks once over the keys they see.

    Leaves what best.best_kernel leaves, groups being 32 pairs in blocks of 256 keys; what lies past
    the last key a query sees is hidden.
    """
    head = (gl.program_id(0) % heads).to(gl.int64)
    first = (queries // (2 * BQ) - 1 - gl.program_id(0) // heads) * 2 * BQ  # longest walks first
    COUNT: gl.constexpr = 64 if DEEP else 32
    done = head * queries
    places = (list_ptr + done * COUNT, block_ptr + done * COUNT, lost_ptr + done * 4)
    query_row = head.to(gl.int32) * queries + first
    key_row = (head // group).to(gl.int32) * keys
    q_smem = gl.allocate_shared_memory(query_desc.dtype, [2, BQ, WIDTH], query_desc.layout)
    t_smem = gl.allocate_shared_memory(gl.float32, [2, BQ], total_desc.layout)
    k_smem = gl.allocate_shared_memory(key_desc.dtype, [2 * STAGES, BK, WIDTH], key_desc.layout)
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    kept = gl.allocate_shared_memory(gl.float32, [2, BQ, 4], plain)
    barriers = gates(STAGES)
    held = turns()
    seen = gl.maximum(first + 2 * BQ + right, 1)
    pairs = gl.minimum((seen + 2 * BK - 1) // (2 * BK), keys // (2 * BK))
    free = gl.minimum(gl.maximum(first + right + 1, 0) // (2 * BK), pairs)
    gl.warp_specialize(
        [
            (consumer, (0, q_smem, (t_smem, kept), k_smem, barriers, held, places, first, free,
                        pairs, right, factor, kept_bits, DEEP)),
            (consumer, (1, q_smem, (t_smem, kept), k_smem, barriers, held, places, first, free,
                        pairs, right, factor, kept_bits, DEEP)),
            (producer, (query_desc, total_desc, key_desc, q_smem, t_smem, k_smem, barriers, held,
                        query_row, key_row, pairs, WIDTH)),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )  # fmt: skip
