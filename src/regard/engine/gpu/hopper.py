"""CUDA C++ kernels for Hopper GPUs: the pass over columns, best keys and distances."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.engine.call import Requested, blocks
from regard.engine.gpu.cuda_driver import (
    Module,
    PreparedLaunch,
    current_stream,
    module,
    nvrtc,
    structure,
    tensor_map,
)
from regard.engine.gpu.launch import UNBOUNDED, CommonArguments, FactTensors, join_distances
from regard.engine.tensors import Tensor

TILE_TOKENS = 128  # queries, or keys, that one copy brings in
BLOCK_TOKENS = 2 * TILE_TOKENS  # keys, or queries, that a block of threads keeps in shared memory
MAX_PROGRAMS_PER_HEAD = 256  # with more keys each takes several blocks in turn
THREADS_PER_BLOCK = 384


def reasons_against_hopper(common: CommonArguments) -> list[str]:
    """Reasons why these kernels cannot serve a call; none where they can."""
    call = common.call
    reasons = []
    if call.device.type != "cuda" or not _is_hopper(call.device.index or 0):
        reasons.append("it is not a Hopper GPU")
    elif nvrtc() is None:
        reasons.append("NVRTC, their compiler, is not installed: pip install nvidia-cuda-nvrtc")
    if not common.is_16_bit or common.width not in (64, 128):
        reasons.append("they need 16-bit numbers and heads of width 64 or 128")
    if call.visibility.lengths_h is not None or call.softcap or common.left != UNBOUNDED:
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


class HopperSizes(NamedTuple):
    """Sizes of a call on Hopper: calls of the same sizes share kernels and the plan of buffers.

    ``live``: every query sees a key.
    """

    dtype: torch.dtype
    width: int
    queries: int
    keys: int
    heads: int
    group: int
    right: int
    factor: float
    live: bool
    device_index: int

    @property
    def padded(self) -> int:
        return cdiv(self.queries, TILE_TOKENS) * TILE_TOKENS

    @property
    def pairs(self) -> int:
        """Pairs of tiles of 64 queries, over all heads."""
        return self.padded // TILE_TOKENS * self.heads

    @property
    def programs(self) -> int:
        """The number of programs that share a head's keys, one block of them at a time each."""
        most = MAX_PROGRAMS_PER_HEAD if self.padded <= 2**17 else MAX_PROGRAMS_PER_HEAD // 4
        return min(cdiv(self.keys, BLOCK_TOKENS), most)

    def kernels(self, name: str, **macros: Any) -> Module:
        """The kernels of a .cu file, compiled for this dtype and width."""
        kind = "bf16" if self.dtype == torch.bfloat16 else "f16"
        macros |= {"WIDTH": self.width, "DTYPE": f'"{kind}"'}
        return module(name, self.device_index, *macros.items())

    def tiles(self, number: int) -> int:
        return number * TILE_TOKENS * self.width * 2


class HopperCall:
    """A call on Hopper: tensor maps of query and key, and a padded buffer for the log-sum-exp."""

    def __init__(self, common: CommonArguments, live: bool) -> None:
        self.common = common
        self.query_hqd, self.key_gkd = (
            _aligned(x) for x in (common.call.query_hqd, common.call.key_gkd)
        )
        self.sizes = HopperSizes(
            self.query_hqd.dtype, common.width, common.queries, common.keys, common.heads,
            common.group, min(common.right, UNBOUNDED), common.factor, live,
            common.call.device.index or 0,
        )  # fmt: skip
        self.maps = tensor_map(self.query_hqd, TILE_TOKENS), tensor_map(self.key_gkd, TILE_TOKENS)
        self.minus_hq = common.empty(self.sizes.padded)


def _aligned(tensor: Tensor) -> Tensor:
    """The tensor, copied if a row's address is no multiple of 16 bytes, as the copy engine needs.

    Heads and tokens may lie in any order: a model's own layout is taken as it is.
    """
    if not tensor.data_ptr() % 16 and _has_aligned_rows(tensor.shape, tensor.stride()):
        return tensor
    copied = tensor.contiguous()
    return copied.clone() if copied.data_ptr() % 16 else copied


@lru_cache(maxsize=512)
def _has_aligned_rows(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    steps = [step for step, size in zip(strides, shape, strict=True) if size > 1]
    dense = strides[-1] == 1 and min(steps, default=1) > 0
    return dense and not any(step % 8 for step in strides[:2])


def addresses(*tensors: Tensor) -> list[int]:
    """The device addresses of tensors."""
    return [tensor.data_ptr() for tensor in tensors]


BestArguments = structure(
    maps="query key", pointers="minus threshold weights best_keys",
    ints="queries keys heads group right", floats="factor",
)  # fmt: skip


def best_keys_on_hopper(
    hopper: HopperCall, facts: FactTensors, threshold_hq: Tensor, top: int
) -> None:
    """The best keys of each query, by the thresholds of sum_columns_on_hopper."""
    common, sizes = hopper.common, hopper.sizes
    facts.weights_hqn = common.empty(common.queries, top)
    facts.keys_hqn = common.empty(common.queries, top, dtype=torch.int64)
    lists = BLOCK_TOKENS * 4 * top * 8  # of 4 threads for each query, in the queries' memory
    shared = max(sizes.tiles(2), lists) + sizes.tiles(3) + 2**10
    kernels = sizes.kernels("best", TOP=top, SHARED=shared, ARGUMENTS=ctypes.sizeof(BestArguments))
    buffers = hopper.minus_hq, threshold_hq, facts.weights_hqn, facts.keys_hqn
    grid = cdiv(common.queries, BLOCK_TOKENS) * common.heads, 1
    kernels.launch("best", grid, THREADS_PER_BLOCK, BestArguments(
        *hopper.maps, *addresses(*buffers), common.queries, common.keys,
        common.heads, common.group, sizes.right, common.factor,
    ), shared=shared)  # fmt: skip


BLOCKS_TO_FILL_GPU = 528  # blocks of threads that keep a GPU busy
DistanceArguments = structure(
    maps="query key", pointers="minus partial",
    ints="queries keys heads group right lowest highest number segments tiles", floats="factor",
)  # fmt: skip


def sum_distances_on_hopper(hopper: HopperCall) -> Tensor:
    """Weights summed by key - query, ascending, (h, queries + keys - 1)."""
    common, sizes = hopper.common, hopper.sizes
    rows, columns = cdiv(common.queries, TILE_TOKENS), cdiv(common.keys, TILE_TOKENS)
    highest, number = rows - 1, rows + columns - 1
    lowest = max(1 - columns, -((TILE_TOKENS - 1 + sizes.right) // TILE_TOKENS))
    walks = cdiv(max(0, highest - lowest + 1), 2) * common.heads
    tiles = cdiv(rows, min(cdiv(BLOCKS_TO_FILL_GPU, max(1, walks)), cdiv(rows, 8)))
    segments = cdiv(rows, tiles)
    shape = (common.heads, segments, number, 2 * TILE_TOKENS)
    partial_hsn = torch.zeros(shape, device=hopper.minus_hq.device)
    shared = (
        sizes.tiles(6) + 2**12
        if common.width == TILE_TOKENS
        else 2 * TILE_TOKENS * (TILE_TOKENS + 1) * 4 + 2**12
    )
    kernels = sizes.kernels("distances", SHARED=shared, ARGUMENTS=ctypes.sizeof(DistanceArguments))
    if walks:
        kernels.launch("distances", (walks * segments, 1), THREADS_PER_BLOCK, DistanceArguments(
            *hopper.maps, hopper.minus_hq.data_ptr(), partial_hsn.data_ptr(), common.queries,
            common.keys, common.heads, common.group, sizes.right, lowest, highest, number,
            segments, tiles, common.factor,
        ), shared=shared)  # fmt: skip
    return join_distances(partial_hsn, highest, common.queries, common.keys)


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


@dataclass(frozen=True)
class MapLayout:
    """Sizes of the map: ``rows`` queries and ``columns`` keys to a block, ``cell`` keys to a sum.

    Partial sums have ``parts`` numbers a head. Maps of ``small`` blocks are written without. Where
    there is no map, the sizes are those that cost the kernel least.
    """

    shape: tuple[int, int]
    rows: int
    columns: int
    small: int
    exist: bool
    cell: int
    parts: int

    @classmethod
    def from_sizes(cls, sizes: HopperSizes, most: int) -> MapLayout:
        """The layout of a map of at most ``most`` blocks a side."""
        block = block_sizes(sizes.queries, sizes.keys, most)
        rows, columns = block or (64, TILE_TOKENS)
        shape = (cdiv(sizes.queries, rows), cdiv(sizes.keys, columns)) if block else (0, 0)
        small = rows if rows < 16 else 0
        if small:
            rows, columns = 64, TILE_TOKENS
        cell, exist = min(TILE_TOKENS, columns), block is not None and not small
        number = cdiv(sizes.padded, rows) * 4 if rows >= TILE_TOKENS else sizes.padded // 16
        width = cdiv(sizes.keys, BLOCK_TOKENS) * BLOCK_TOKENS // cell
        return cls(shape, rows, columns, small, exist, cell, number * width if exist else 0)


class ColumnPlan:
    """The pass over all weights, key by key, and a reduction of the partial sums that it leaves.

    Made once for calls of the same sizes: a call fills in addresses and launches three kernels.
    """

    def __init__(self, sizes: HopperSizes, entropy: bool, top: int, most: int) -> None:
        self.sizes, self.entropy, self.top = sizes, entropy, top
        self.map = MapLayout.from_sizes(sizes, most)
        self.macros = {
            "ENTROPY": int(entropy), "HIGHEST": int(top > 0), "MAP": int(self.map.exist),
            "CELL": self.map.cell, "ROWS": self.map.rows,
        }  # fmt: skip
        groups = 2 * sizes.programs * sizes.heads * sizes.padded
        parts = cdiv(sizes.heads * self.map.parts, 4) * 4  # what follows is read four at a time
        self.moment_at = parts
        self.highest_at = parts + (groups if entropy else 0)
        self.scratch = self.highest_at + (groups if top else 0)
        self.lock = threading.Lock()  # the arguments of the launches are shared

    @cached_property
    def prepare(self) -> PreparedLaunch:
        """Writes the padded, negated base-2 log-sum-exp that all kernels read."""
        sizes = self.sizes
        arguments = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(sizes.queries)
        grid = sizes.padded // TILE_TOKENS, sizes.heads
        return self._reduce_kernels.prepare("prepare", grid, TILE_TOKENS, *arguments)

    @cached_property
    def columns(self) -> PreparedLaunch:
        """Attention received, and partial sums of everything else."""
        sizes, shared = self.sizes, self.sizes.tiles(7) + 2**11
        kernels = sizes.kernels("columns", SHARED=shared, ARGUMENTS=ctypes.sizeof(ColumnArguments),
                                SMALL=self.map.small, **self.macros)  # fmt: skip
        arguments = ColumnArguments(
            queries=sizes.queries, keys=sizes.keys, heads=sizes.heads, group=sizes.group,
            right=sizes.right, programs=sizes.programs, map_rows=self.map.shape[0],
            map_columns=self.map.shape[1], averaged=int(sizes.live), factor=sizes.factor,
        )  # fmt: skip
        grid = sizes.programs * sizes.heads, 1
        return kernels.prepare("columns", grid, THREADS_PER_BLOCK, arguments, shared=shared)

    @cached_property
    def reduce(self) -> PreparedLaunch | None:
        """Entropy, map and thresholds from the partial sums; None where there is none of them."""
        sizes = self.sizes
        rows, columns = self.map.shape if self.map.exist else (0, 0)
        query_blocks = sizes.pairs * (self.entropy + (self.top > 0))
        if not (query_blocks or rows):
            return None
        arguments = ReduceArguments(
            queries=sizes.queries, keys=sizes.keys, heads=sizes.heads, right=sizes.right,
            programs=sizes.programs, rows=rows, columns=columns,
            across=self.map.columns // self.map.cell, averaged=int(sizes.live),
            query_blocks=sizes.pairs,
        )  # fmt: skip
        grid = query_blocks + rows * sizes.heads, 1
        return self._reduce_kernels.prepare("reduce", grid, TILE_TOKENS, arguments)

    @cached_property
    def _reduce_kernels(self) -> Module:
        lists = {"TOP": self.top, "LIST": 8 if self.top <= 8 else 16}
        return self.sizes.kernels(
            "reduce", ARGUMENTS=ctypes.sizeof(ReduceArguments), **lists, **self.macros
        )

    def run(self, hopper: HopperCall, total_hq: Tensor, buffers: ColumnBuffers) -> None:
        stream = current_stream(self.sizes.device_index)
        scratch, minus = buffers.scratch.data_ptr(), hopper.minus_hq.data_ptr()
        moment, highest = (scratch + 4 * at for at in (self.moment_at, self.highest_at))
        written, entropy, threshold = (
            None if x is None else x.data_ptr()
            for x in (buffers.map_hrc, buffers.entropy_hq, buffers.threshold_hq)
        )
        with self.lock:
            prepare, columns, reduce = self.prepare, self.columns, self.reduce
            prepare.arguments[0].value, prepare.arguments[1].value = total_hq.data_ptr(), minus
            prepare(stream)
            (at,) = columns.arguments
            at.query, at.key = hopper.maps
            at.minus, at.received = minus, buffers.received_hk.data_ptr()
            at.map = written if self.map.small else scratch
            at.moment, at.highest = moment, highest
            columns(stream)
            if reduce is not None:
                (at,) = reduce.arguments
                at.moment, at.parts, at.highest = moment, scratch, highest
                at.entropy, at.map, at.threshold = entropy, written, threshold
                reduce(stream)


@lru_cache(maxsize=256)
def column_plan(sizes: HopperSizes, entropy: bool, top: int, most: int) -> ColumnPlan:
    """The plan of calls of these sizes with these facts: ``most`` blocks a side of the map."""
    return ColumnPlan(sizes, entropy, top, most)


class ColumnBuffers:
    """Results of the pass over columns, and ``scratch`` for all of its partial sums."""

    def __init__(self, plan: ColumnPlan, common: CommonArguments) -> None:
        empty, shape = common.empty, plan.map.shape
        self.received_hk, self.map_hrc = empty(common.keys), None
        if plan.map.small:  # hidden blocks are never written
            size = (common.heads, *shape)
            self.map_hrc = torch.zeros(size, device=self.received_hk.device)
        elif plan.map.exist:
            self.map_hrc = empty(*shape)
        self.entropy_hq = empty(common.queries) if plan.entropy else None
        self.threshold_hq = empty(plan.sizes.padded) if plan.top else None
        self.scratch = torch.empty(plan.scratch, device=self.received_hk.device)


def sum_columns_on_hopper(
    hopper: HopperCall, requested: Requested, facts: FactTensors, total_hq: Tensor
) -> Tensor | None:
    """Received, entropy and, where its blocks allow it, the map; thresholds for the best keys."""
    plan = column_plan(hopper.sizes, requested.entropy, requested.top, requested.map)
    buffers = ColumnBuffers(plan, hopper.common)
    plan.run(hopper, total_hq.float().contiguous(), buffers)
    facts.note_memory(buffers.scratch)
    facts.received_hk = buffers.received_hk
    if requested.entropy:
        facts.entropy_hq = buffers.entropy_hq
    if buffers.map_hrc is not None:
        facts.map_hrc, facts.map_is_mean = buffers.map_hrc, hopper.sizes.live
    return buffers.threshold_hq
