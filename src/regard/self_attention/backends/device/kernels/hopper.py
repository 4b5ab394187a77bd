"""What both kernels for Hopper share: tiles, accumulators, and gates between warps."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

# Later versions of triton have another name for it.
fetch = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
BQ = gl.constexpr(64)  # queries in a tile
BK = gl.constexpr(128)  # keys in a tile
CONSUMER_REGISTERS = gl.constexpr(240)
PRODUCER_REGISTERS = gl.constexpr(24)


@gluon.constexpr_function
def accumulators():
    """How a warpgroup holds the products of a tile."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])


@gluon.jit
def gates(STAGES: gl.constexpr):
    """For each stage, that its tiles have come, and that both warpgroups are done with them."""
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=2)
    return ready, empty


@gluon.jit
def turns():
    """The same for what both warpgroups hold still."""
    here = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    mbarrier.init(here.index(0), count=1)  # it is there
    mbarrier.init(here.index(1), count=2)  # it is no longer needed
    fence_async_shared()
    return here
