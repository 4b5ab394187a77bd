"""The pass over columns on Hopper: received, entropy, map and thresholds, planned by sizes."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from regard.engine.gpu.cuda_driver import Module, PreparedLaunch, current_stream, structure
from regard.engine.gpu.hopper import BLOCK, THREADS, TILE, HopperCall, HopperSizes, cdiv
from regard.engine.gpu.launch import CommonArguments, FactTensors
from regard.engine.tensors import Tensor
from regard.engine.tiles.plan import blocks
from regard.engine.tiles.rows import Requested

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
    def of(cls, sizes: HopperSizes, most: int) -> MapLayout:
        """The layout of a map of at most so many blocks a side."""
        block = block_sizes(sizes.queries, sizes.keys, most)
        rows, columns = block or (64, TILE)
        shape = (cdiv(sizes.queries, rows), cdiv(sizes.keys, columns)) if block else (0, 0)
        small = rows if rows < 16 else 0
        if small:
            rows, columns = 64, TILE
        cell, exist = min(TILE, columns), block is not None and not small
        number = cdiv(sizes.padded, rows) * 4 if rows >= TILE else sizes.padded // 16
        width = cdiv(sizes.keys, BLOCK) * BLOCK // cell
        return cls(shape, rows, columns, small, exist, cell, number * width if exist else 0)


class ColumnPlan:
    """The pass over all weights, key by key, and a reduction of the partial sums that it leaves.

    Made once for calls of the same sizes: a call fills in addresses and launches three kernels.
    """

    def __init__(self, sizes: HopperSizes, entropy: bool, top: int, most: int) -> None:
        self.sizes, self.entropy, self.top = sizes, entropy, top
        self.map = MapLayout.of(sizes, most)
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
        grid = sizes.padded // TILE, sizes.heads
        return self._reduce_kernels.prepare("prepare", grid, TILE, *arguments)

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
        return kernels.prepare("columns", grid, THREADS, arguments, shared=shared)

    @cached_property
    def reduce(self) -> PreparedLaunch | None:
        """Entropy, map and thresholds from the partial sums; None where there is none of them."""
        sizes = self.sizes
        rows, columns = self.map.shape if self.map.exist else (0, 0)
        blocks_of_queries = sizes.pairs * (self.entropy + (self.top > 0))
        if not (blocks_of_queries or rows):
            return None
        arguments = ReduceArguments(
            queries=sizes.queries, keys=sizes.keys, heads=sizes.heads, right=sizes.right,
            programs=sizes.programs, rows=rows, columns=columns,
            across=self.map.columns // self.map.cell, averaged=int(sizes.live),
            query_blocks=sizes.pairs,
        )  # fmt: skip
        grid = blocks_of_queries + rows * sizes.heads, 1
        return self._reduce_kernels.prepare("reduce", grid, TILE, arguments)

    @cached_property
    def _reduce_kernels(self) -> Module:
        lists = {"TOP": self.top, "LIST": 8 if self.top <= 8 else 16}
        return self.sizes.kernels(
            "reduce", ARGUMENTS=ctypes.sizeof(ReduceArguments), **lists, **self.macros
        )

    def run(self, hopper: HopperCall, total_hq: Tensor, buffers: ColumnBuffers) -> None:
        """Launch all three kernels on torch's current stream."""
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
