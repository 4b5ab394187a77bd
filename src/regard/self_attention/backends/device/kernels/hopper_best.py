"""The best keys of each query, on Hopper: candidates at nearly the speed of the product.

Two warpgroups own 64 queries each and share the tiles of 128 keys that one more warp brings in. A
thread holds 32 of a tile's keys for each of its rows (columns 8 j + 2 g + b, for all j and b, in
thread g of four): it finds the best two of them, and keeps a list of the best eight (or sixteen) of
these. The lists of the last tile are brought up to date while the next one is searched.
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

# Later versions of triton have another name for it.
fetch = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
LOG2_E = gl.constexpr(1.4426950408889634)
HIDDEN = gl.constexpr(-10000.0)
LOWEST = gl.constexpr(-1e30)
BQ = gl.constexpr(64)  # queries of one warpgroup
BK = gl.constexpr(128)  # keys in a tile
STAGES = gl.constexpr(4)
CONSUMER_REGISTERS = gl.constexpr(240)


@gluon.jit
def halve(x, N: gl.constexpr):
    """(64, N, 4) as two of (64, N / 2, 4)."""
    return gl.split(gl.permute(gl.reshape(x, [BQ, N // 2, 2, 4]), [0, 1, 3, 2]))


@gluon.jit
def fold(high, low, N: gl.constexpr):
    """The best and second best of pairs of groups, each given by its best and second best."""
    high_a, high_b = halve(high, N)
    low_a, low_b = halve(low, N)
    second = gl.maximum(gl.minimum(high_a, high_b), gl.maximum(low_a, low_b))
    return gl.maximum(high_a, high_b), second


@gluon.jit
def best_two(t, kept_bits, mma: gl.constexpr):
    """As best.best_two: the best and second best of 4 groups of 32 columns, places packed in."""
    at_n = gl.arange(0, BK, layout=gl.SliceLayout(0, mma))
    place = ((at_n // 8) * 2 + at_n % 2) * 2
    bits = (t.to(gl.int32, bitcast=True) & kept_bits) | place[None, :]
    packed = gl.reshape(bits.to(gl.float32, bitcast=True), [BQ, BK // 8, 4, 2])
    a, b = gl.split(packed)
    high, low = fold(gl.maximum(a, b), gl.minimum(a, b), 16)
    high, low = fold(high, low, 8)
    high, low = fold(high, low, 4)
    high, low = fold(high, low, 2)
    second = gl.reshape(low, [BQ, 4]).to(gl.int32, bitcast=True) | 1
    return gl.reshape(high, [BQ, 4]), second.to(gl.float32, bitcast=True)


@gluon.jit
def step(v, i, held_v, held_i):
    """Keep the better of two, pass the other on."""
    better = v > held_v
    return (gl.maximum(v, held_v), gl.where(better, i, held_i),
            gl.minimum(v, held_v), gl.where(better, held_i, i))  # fmt: skip


@gluon.jit
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


@gluon.jit
def insert_two(one, two, tile, lists, DEEP: gl.constexpr):
    """Put a tile's candidates into the lists."""
    list_v, list_i, more_v, more_i = lists
    here = gl.full([BQ, 4], 0, gl.int32, layout=one.type.layout) + tile
    list_v, list_i, v, i = insert(one, here, list_v, list_i)
    if DEEP:
        more_v, more_i, v, i = insert(v, i, more_v, more_i)
    list_v, list_i, v, i = insert(two, here, list_v, list_i)
    if DEEP:
        more_v, more_i, v, i = insert(v, i, more_v, more_i)
    return list_v, list_i, more_v, more_i


@gluon.jit
def take(s, high, tile, first, right, factor, kept_bits, found, lists,
         DEEP: gl.constexpr, mma: gl.constexpr, MASKED: gl.constexpr):  # fmt: skip
    """Search a tile; the candidates of the one before go into the lists."""
    t = s * factor - high[:, None]
    if MASKED:
        at_q = first + gl.arange(0, BQ, layout=gl.SliceLayout(1, mma))
        at_k = tile * BK + gl.arange(0, BK, layout=gl.SliceLayout(0, mma))
        t = gl.where(at_k[None, :] <= at_q[:, None] + right, t, HIDDEN)
    one, two = best_two(t, kept_bits, mma)
    lists = insert_two(found[0], found[1], tile - 1, lists, DEEP)
    return (one, two), lists


@gluon.jit
def walk(begin, end, tiles, pending, spare, found, lists, high, query, k_smem, barriers, first,
         right, factor, kept_bits, DEEP: gl.constexpr, mma: gl.constexpr,
         MASKED: gl.constexpr):  # fmt: skip
    """Pairs of tiles of keys: two sets of accumulators take turns."""
    ready, empty = barriers
    for i in range(begin, end):
        here = 2 * i
        odd = (here + 1) % STAGES
        even = (here + 2) % STAGES
        mbarrier.wait(ready.index(odd), ((here + 1) // STAGES) & 1)
        a = warpgroup_mma_wait(0, deps=[pending])
        key_dk = k_smem.index(odd).permute((1, 0))
        other = warpgroup_mma(query, key_dk, spare, use_acc=False, is_async=True)
        mbarrier.arrive(empty.index(here % STAGES), count=1)
        found, lists = take(a, high, here, first, right, factor, kept_bits, found, lists,
                            DEEP, mma, MASKED)  # fmt: skip
        mbarrier.wait(ready.index(even), ((here + 2) // STAGES) & 1, pred=here + 2 < tiles)
        spare = warpgroup_mma_wait(0, deps=[other])
        key_dk = k_smem.index(even).permute((1, 0))
        pending = warpgroup_mma(query, key_dk, a, use_acc=False, is_async=True)
        mbarrier.arrive(empty.index(odd), count=1)
        found, lists = take(spare, high, here + 1, first, right, factor, kept_bits, found, lists,
                            DEEP, mma, MASKED)  # fmt: skip
    return pending, spare, found, lists


@gluon.jit
def consumer(SIDE: gl.constexpr, q_smem, k_smem, barriers, loaded, total_ptr, list_ptr, block_ptr,
             first, free, tiles, right, factor, kept_bits, DEEP: gl.constexpr):  # fmt: skip
    """One warpgroup: 64 queries held still, keys walked, lists written at the end."""
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BK, 16])
    ready, empty = barriers
    first += SIDE * BQ
    at_q = first + gl.arange(0, BQ, layout=gl.SliceLayout(1, mma))
    high = gl.load(total_ptr + at_q) * LOG2_E
    query = q_smem.index(SIDE)
    a = gl.zeros([BQ, BK], gl.float32, layout=mma)
    spare = gl.zeros([BQ, BK], gl.float32, layout=mma)
    one, two = best_two(a, kept_bits, mma)
    layout: gl.constexpr = one.type.layout
    v = gl.full([BQ, 4], LOWEST, gl.float32, layout=layout)
    z = gl.full([BQ, 4], 0, gl.int32, layout=layout)
    lists = ((v, v, v, v, v, v, v, v), (z, z, z, z, z, z, z, z),
             (v, v, v, v, v, v, v, v), (z, z, z, z, z, z, z, z))  # fmt: skip
    found = (v, v)
    mbarrier.wait(loaded, 0)
    mbarrier.wait(ready.index(0), 0)
    key_dk = k_smem.index(0).permute((1, 0))
    pending = warpgroup_mma(query, key_dk, a, use_acc=False, is_async=True)
    pending, spare, found, lists = walk(
        0, free // 2, tiles, pending, spare, found, lists, high, query, k_smem, barriers, first,
        right, factor, kept_bits, DEEP, mma, False)  # fmt: skip
    pending, spare, found, lists = walk(
        free // 2, tiles // 2, tiles, pending, spare, found, lists, high, query, k_smem, barriers,
        first, right, factor, kept_bits, DEEP, mma, True)  # fmt: skip
    warpgroup_mma_wait(0, deps=[pending])
    list_v, list_i, more_v, more_i = insert_two(found[0], found[1], tiles - 1, lists, DEEP)
    COUNT: gl.constexpr = 64 if DEEP else 32
    row = (first + gl.arange(0, BQ, layout=gl.SliceLayout(1, layout)))[:, None].to(gl.int64)
    place = row * COUNT + gl.arange(0, 4, layout=gl.SliceLayout(0, layout))[None, :] * 8
    for n in gl.static_range(8):
        gl.store(list_ptr + place + n, list_v[n])
        gl.store(block_ptr + place + n, list_i[n])
        if DEEP:
            gl.store(list_ptr + place + 32 + n, more_v[n])
            gl.store(block_ptr + place + 32 + n, more_i[n])


@gluon.jit
def producer(query_desc, key_desc, q_smem, k_smem, barriers, loaded, query_row, key_row, tiles,
             WIDTH: gl.constexpr):  # fmt: skip
    """One warp that brings in the queries, then tiles of keys as their places become free."""
    ready, empty = barriers
    mbarrier.expect(loaded, 2 * BQ * WIDTH * 2)
    for side in gl.static_range(2):
        row = query_row + side * BQ
        fetch(query_desc, [row, 0], loaded, q_smem.index(side))
    for i in range(tiles):
        stage = i % STAGES
        mbarrier.wait(empty.index(stage), ((i // STAGES) & 1) ^ 1)
        mbarrier.expect(ready.index(stage), BK * WIDTH * 2)
        row = key_row + i * BK
        fetch(key_desc, [row, 0], ready.index(stage), k_smem.index(stage))


@gluon.jit
def hopper_best_kernel(
    query_desc, key_desc, total_ptr, list_ptr, block_ptr, queries, keys, heads, group,
    factor, right, kept_bits, WIDTH: gl.constexpr, DEEP: gl.constexpr,
):  # fmt: skip
    """One program owns 128 queries of one head and walks once over the keys they see.

    Leaves what best.best_kernel leaves: for each query 4 lists of candidates and their tiles. Tiles
    come in pairs; what lies past the last key a query sees is hidden.
    """
    head = (gl.program_id(0) % heads).to(gl.int64)
    first = (queries // (2 * BQ) - 1 - gl.program_id(0) // heads) * 2 * BQ  # longest walks first
    COUNT: gl.constexpr = 64 if DEEP else 32
    total_ptr += head * queries
    list_ptr += head * queries * COUNT
    block_ptr += head * queries * COUNT
    query_row = head.to(gl.int32) * queries + first
    key_row = (head // group).to(gl.int32) * keys
    q_smem = gl.allocate_shared_memory(query_desc.dtype, [2, BQ, WIDTH], query_desc.layout)
    k_smem = gl.allocate_shared_memory(key_desc.dtype, [STAGES, BK, WIDTH], key_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    loaded = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=2)
    mbarrier.init(loaded, count=1)
    fence_async_shared()
    barriers = (ready, empty)
    seen = gl.maximum(first + 2 * BQ + right, 1)
    tiles = gl.minimum((seen + 2 * BK - 1) // (2 * BK), keys // (2 * BK)) * 2
    free = gl.minimum(gl.maximum(first + right + 1, 0) // BK, tiles)
    gl.warp_specialize(
        [
            (consumer, (0, q_smem, k_smem, barriers, loaded, total_ptr, list_ptr, block_ptr, first,
                        free, tiles, right, factor, kept_bits, DEEP)),
            (consumer, (1, q_smem, k_smem, barriers, loaded, total_ptr, list_ptr, block_ptr, first,
                        free, tiles, right, factor, kept_bits, DEEP)),
            (producer, (query_desc, key_desc, q_smem, k_smem, barriers, loaded, query_row, key_row,
                        tiles, WIDTH)),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, 24],
    )  # fmt: skip
