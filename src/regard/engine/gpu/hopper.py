"""CUDA C++ kernels for Hopper GPUs: received, entropy, map, best keys and distances."""

import ctypes
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.engine.gpu.cuda_driver import Module, module, nvrtc, structure, tensor_map
from regard.engine.gpu.launch import FAR, CommonArguments, FactTensors
from regard.engine.gpu.triton_facts import join_distances
from regard.engine.tensors import Tensor
from regard.engine.tiles.plan import blocks
from regard.engine.tiles.rows import Requested

TILE = 128  # queries, or keys, that one copy brings in
BLOCK = 2 * TILE  # keys, or queries, that a block of threads keeps in shared memory
PROGRAMS = 256  # of a head, at most: with more keys each takes several blocks in turn
THREADS = 384


def reasons_against_hopper(common: CommonArguments) -> list[str]:
    """Reasons why these kernels cannot serve a call; none where they can."""
    call = common.call
    reasons = []
    if call.device.type != "cuda" or not _is_hopper(call.device.index or 0):
        reasons.append("it is no Hopper GPU")
    elif nvrtc() is None:
        reasons.append("NVRTC, their compiler, is not installed: pip install nvidia-cuda-nvrtc")
    if not common.is_16_bit or common.width not in (64, 128):
        reasons.append("they need 16-bit numbers and heads of width 64 or 128")
    if call.visibility.lengths_h is not None or call.softcap or common.left != FAR:
        reasons.append("they know no lengths, softcap or window")
    return reasons


@cache
def _is_hopper(index: int) -> bool:
    return bool(torch.cuda.get_device_capability(index)[0] == 9)


def cdiv(a: int, b: int) -> int:
    """The quotient rounded up.

    >>> cdiv(5, 2)
    3
    """
    return -(-a // b)


class HopperCall:
    """A call on Hopper: tensor maps of query and key, and a padded buffer for the log-sum-exp.

    ``live`` says that every query sees a key.
    """

    def __init__(self, common: CommonArguments, live: bool) -> None:
        self.common, self.live = common, live
        self.index = common.call.device.index or 0
        self.padded = cdiv(common.queries, TILE) * TILE
        self.pairs = self.padded // TILE * common.heads  # of tiles of 64 queries, over all heads
        self.right = min(common.right, FAR)
        self.query_hqd, self.key_gkd = (
            _aligned(x) for x in (common.call.query_hqd, common.call.key_gkd)
        )
        self.maps = tensor_map(self.query_hqd, TILE), tensor_map(self.key_gkd, TILE)
        self.minus_hq = common.empty(self.padded)

    @cached_property
    def programs(self) -> int:
        """The number of programs that share a head's keys, one block of them at a time each."""
        most = PROGRAMS if self.padded <= 2**17 else PROGRAMS // 4
        return min(cdiv(self.common.keys, BLOCK), most)

    def kernels(self, name: str, **macros: Any) -> Module:
        """The kernels of a .cu file, compiled for this call's dtype and width."""
        kind = "bf16" if self.query_hqd.dtype == torch.bfloat16 else "f16"
        macros |= {"WIDTH": self.common.width, "DTYPE": f'"{kind}"'}
        return module(name, self.index, *macros.items())

    def tiles(self, number: int) -> int:
        """Bytes of this many tiles."""
        return number * TILE * self.common.width * 2


def _aligned(tensor: Tensor) -> Tensor:
    """The tensor, copied if a row's address is no multiple of 16 bytes, as the copy engine needs.

    Heads and tokens may lie in any order: a model's own layout is taken as it is.
    """
    steps = [step for step, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]
    dense = tensor.stride(-1) == 1 and min(steps, default=1) > 0
    if dense and not tensor.data_ptr() % 16 and not any(step % 8 for step in tensor.stride()[:2]):
        return tensor
    copied = tensor.contiguous()
    return copied.clone() if copied.data_ptr() % 16 else copied


def addresses(*tensors: Tensor) -> list[int]:
    """The device addresses of tensors."""
    return [tensor.data_ptr() for tensor in tensors]


ColumnArguments = structure(
    maps="query key", pointers="minus received map moment highest",
    ints="queries keys heads group right programs map_rows map_columns averaged", floats="factor",
)  # fmt: skip


ReduceArguments = structure(
    pointers="moment parts highest entropy map threshold",
    ints="queries keys heads right programs rows columns across averaged query_blocks",
)


@cache
def block_sizes(queries: int, keys: int, most: int) -> tuple[int, int] | None:
    """The sizes of the map's blocks where tiles can be cut into them, else None.

    >>> block_sizes(8192, 8192, 512), block_sizes(1000, 1000, 512), block_sizes(9, 9, 512)
    ((16, 16), (2, 2), None)
    """
    if not most:
        return None
    rows, columns = (_size(blocks(n, most)) for n in (queries, keys))
    small = rows == columns and rows in (2, 4, 8)
    return (rows, columns) if small or (rows >= 16 and columns >= 8) else None


def _size(edges: NDArray[np.int64]) -> int:
    """The size of the blocks between edges; that of a single one is rounded up to a power of 2."""
    return int(edges[1]) if len(edges) > 2 else 1 << (int(edges[-1]) - 1).bit_length()


class MapParts:
    """Partial sums of the map: ``rows`` queries and ``columns`` keys to a block, ``cell`` to a sum.

    Maps of ``small`` blocks are written without partial sums. Where there is no map, the sizes are
    those that cost the kernel least.
    """

    def __init__(self, hopper: HopperCall, most: int) -> None:
        common = hopper.common
        sizes = block_sizes(common.queries, common.keys, most)
        self.rows, self.columns = sizes or (64, TILE)
        shape = cdiv(common.queries, self.rows), cdiv(common.keys, self.columns)
        self.map_hrc = common.empty(*(shape if sizes else (0, 0)))
        self.small = self.rows if self.rows < 16 else 0
        self.exist = sizes is not None and not self.small
        if self.small:
            self.map_hrc.zero_()  # hidden blocks are never written
            self.rows, self.columns = 64, TILE
        self.cell = min(TILE, self.columns)
        number = cdiv(hopper.padded, self.rows) * 4 if self.rows >= TILE else hopper.padded // 16
        width = cdiv(common.keys, BLOCK) * BLOCK // self.cell
        self.sums = common.empty(number if self.exist else 0, width)


class TopThresholds:
    """Buffers of each query's highest products in groups of keys, and of thresholds from them.

    A group is all keys of one of a program's two warpgroups.
    """

    def __init__(self, hopper: HopperCall, top: int) -> None:
        common = hopper.common
        self.top, self.list = top, 8 if top <= 8 else 16
        groups = 2 * hopper.programs if top else 0
        shape = (groups, common.heads, hopper.padded)
        self.highest: Tensor | None = torch.empty(shape, device=hopper.minus_hq.device)
        self.threshold_hq = common.empty(hopper.padded if top else 0)


class ColumnPass:
    """One pass over all weights, key by key, and a reduction of the partial sums that it leaves."""

    def __init__(self, hopper: HopperCall, requested: Requested) -> None:
        common, device = hopper.common, hopper.minus_hq.device
        self.hopper, self.requested = hopper, requested
        self.parts, self.thresholds = (
            MapParts(hopper, requested.map),
            TopThresholds(hopper, requested.top),
        )
        groups = 2 * hopper.programs if requested.entropy else 0
        self.moment = torch.empty((groups, common.heads, hopper.padded), device=device)
        self.macros = {
            "ENTROPY": int(requested.entropy), "HIGHEST": int(requested.top > 0),
            "MAP": int(self.parts.exist), "CELL": self.parts.cell, "ROWS": self.parts.rows,
        }  # fmt: skip

    def run(self, received_hk: Tensor) -> None:
        """Attention received, and partial sums of everything else."""
        hopper, common, parts = self.hopper, self.hopper.common, self.parts
        shared = hopper.tiles(7) + 2**11
        kernels = hopper.kernels("columns", SHARED=shared, ARGUMENTS=ctypes.sizeof(ColumnArguments),
                                 SMALL=parts.small, **self.macros)  # fmt: skip
        written = parts.map_hrc if parts.small else parts.sums
        kernels.launch("columns", (hopper.programs * common.heads, 1), THREADS, ColumnArguments(
            *hopper.maps, *addresses(hopper.minus_hq, received_hk, written, self.moment,
                                     self.thresholds.highest),
            common.queries, common.keys, common.heads, common.group, hopper.right, hopper.programs,
            *parts.map_hrc.shape[1:], int(hopper.live), common.factor,
        ), shared=shared)  # fmt: skip

    def prepare(self, total_hq: Tensor) -> None:
        """Write the padded, negated base-2 log-sum-exp that all kernels read."""
        common = self.hopper.common
        pointers = map(ctypes.c_void_p, addresses(total_hq, self.hopper.minus_hq))
        grid = self.hopper.padded // TILE, common.heads
        self._reduce.launch("prepare", grid, TILE, *pointers, ctypes.c_int(common.queries))

    @cached_property
    def _reduce(self) -> Module:
        lists = {"TOP": self.thresholds.top, "LIST": self.thresholds.list}
        size = ctypes.sizeof(ReduceArguments)
        return self.hopper.kernels("reduce", ARGUMENTS=size, **lists, **self.macros)

    def reduce(self, entropy_hq: Tensor) -> None:
        """Entropy, map and thresholds from the partial sums."""
        hopper, common, parts = self.hopper, self.hopper.common, self.parts
        thresholds = self.thresholds
        rows, columns = parts.map_hrc.shape[1:] if parts.exist else (0, 0)
        blocks_of_queries = hopper.pairs * (self.requested.entropy + (self.requested.top > 0))
        if blocks_of_queries or rows:
            grid = blocks_of_queries + rows * common.heads, 1
            self._reduce.launch("reduce", grid, TILE, ReduceArguments(
                *addresses(self.moment, parts.sums, thresholds.highest, entropy_hq, parts.map_hrc,
                           thresholds.threshold_hq),
                common.queries, common.keys, common.heads, hopper.right, hopper.programs, rows,
                columns, parts.columns // parts.cell, int(hopper.live), hopper.pairs,
            ))  # fmt: skip


def sum_columns_on_hopper(
    hopper: HopperCall, requested: Requested, facts: FactTensors, total_hq: Tensor
) -> TopThresholds:
    """Received, entropy and, where its blocks allow it, the map; thresholds for the best keys."""
    common, columns = hopper.common, ColumnPass(hopper, requested)
    facts.received_hk, entropy_hq = common.empty(common.keys), common.empty(common.queries)
    columns.prepare(total_hq.float().contiguous())
    columns.run(facts.received_hk)
    columns.reduce(entropy_hq)
    facts.note_memory(columns.moment, columns.parts.sums, columns.thresholds.highest)
    columns.thresholds.highest = None  # the thresholds may be read much later
    if requested.entropy:
        facts.entropy_hq = entropy_hq
    if columns.parts.map_hrc.numel():
        facts.map_hrc, facts.map_is_mean = columns.parts.map_hrc, hopper.live
    return columns.thresholds


BestArguments = structure(
    maps="query key", pointers="minus threshold weights best_keys",
    ints="queries keys heads group right", floats="factor",
)  # fmt: skip


def best_keys_on_hopper(hopper: HopperCall, facts: FactTensors, thresholds: TopThresholds) -> None:
    """The best keys of each query, by the thresholds of sum_columns_on_hopper."""
    common = hopper.common
    facts.weights_hqn = common.empty(common.queries, thresholds.top)
    facts.keys_hqn = common.empty(common.queries, thresholds.top, dtype=torch.int64)
    lists = BLOCK * 4 * thresholds.top * 8  # of 4 threads for each query, in the queries' memory
    shared = max(hopper.tiles(2), lists) + hopper.tiles(3) + 2**10
    kernels = hopper.kernels(
        "best", TOP=thresholds.top, SHARED=shared, ARGUMENTS=ctypes.sizeof(BestArguments)
    )
    buffers = hopper.minus_hq, thresholds.threshold_hq, facts.weights_hqn, facts.keys_hqn
    kernels.launch("best", (cdiv(common.queries, BLOCK) * common.heads, 1), THREADS, BestArguments(
        *hopper.maps, *addresses(*buffers), common.queries, common.keys,
        common.heads, common.group, hopper.right, common.factor,
    ), shared=shared)  # fmt: skip


BUSY = 528  # blocks of threads that keep a GPU busy


DistanceArguments = structure(
    maps="query key", pointers="minus partial",
    ints="queries keys heads group right lowest highest number segments tiles", floats="factor",
)  # fmt: skip


def sum_distances_on_hopper(hopper: HopperCall) -> Tensor:
    """Weights summed by key - query, ascending, (h, queries + keys - 1)."""
    common = hopper.common
    rows, columns = cdiv(common.queries, TILE), cdiv(common.keys, TILE)
    highest, number = rows - 1, rows + columns - 1
    lowest = max(1 - columns, -((TILE - 1 + hopper.right) // TILE))
    walks = cdiv(max(0, highest - lowest + 1), 2) * common.heads
    tiles = cdiv(rows, min(cdiv(BUSY, max(1, walks)), cdiv(rows, 8)))
    segments = cdiv(rows, tiles)
    shape = (common.heads, segments, number, 2 * TILE)
    partial_hsn = torch.zeros(shape, device=hopper.minus_hq.device)
    shared = hopper.tiles(6) + 2**12 if common.width == TILE else 2 * TILE * (TILE + 1) * 4 + 2**12
    kernels = hopper.kernels("distances", SHARED=shared, ARGUMENTS=ctypes.sizeof(DistanceArguments))
    if walks:
        kernels.launch("distances", (walks * segments, 1), THREADS, DistanceArguments(
            *hopper.maps, hopper.minus_hq.data_ptr(), partial_hsn.data_ptr(), common.queries,
            common.keys, common.heads, common.group, hopper.right, lowest, highest, number,
            segments, tiles, common.factor,
        ), shared=shared)  # fmt: skip
    return join_distances(partial_hsn, highest, common.queries, common.keys)
