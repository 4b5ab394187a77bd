"""Received, entropy and map on Hopper GPUs, and thresholds for the best keys."""

import ctypes
from functools import cache, cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.cuda.driver import Module, structure
from regard.self_attention.backends.device.hopper import (
    BLOCK,
    THREADS,
    TILE,
    Hopper,
    addresses,
    cdiv,
)
from regard.self_attention.backends.device.sums import Found
from regard.self_attention.tiles.plan import blocks
from regard.self_attention.tiles.rows import Wanted

Columns = structure(
    maps="query key", pointers="minus received map moment highest",
    ints="queries keys heads group right programs map_rows map_columns averaged", floats="factor",
)  # fmt: skip
Whole = structure(
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
    """Of the blocks between these edges; a single one is rounded up to a power of two."""
    return int(edges[1]) if len(edges) > 2 else 1 << (int(edges[-1]) - 1).bit_length()


class Parts:
    """Parts of the map: ``rows`` queries and ``columns`` keys to a block, ``cell`` keys to a part.

    Maps of ``small`` blocks have no parts. Where there are none, the sizes are those that cost the
    kernel least.
    """

    def __init__(self, hopper: Hopper, most: int) -> None:
        common = hopper.common
        sizes = block_sizes(common.queries, common.keys, most)
        self.rows, self.columns = sizes or (64, TILE)
        shape = cdiv(common.queries, self.rows), cdiv(common.keys, self.columns)
        self.map_hrc = common.empty(*(shape if sizes else (0, 0)))
        self.small = self.rows if self.rows < 16 else 0
        self.there = sizes is not None and not self.small
        if self.small:
            self.map_hrc.zero_()  # what is hidden is never written
            self.rows, self.columns = 64, TILE
        self.cell = min(TILE, self.columns)
        number = cdiv(hopper.padded, self.rows) * 4 if self.rows >= TILE else hopper.padded // 16
        width = cdiv(common.keys, BLOCK) * BLOCK // self.cell
        self.sums = common.empty(number if self.there else 0, width)


class Groups:
    """Room for each query's highest products in groups of keys, and for thresholds made of them.

    A group is all keys of a side of a program.
    """

    def __init__(self, hopper: Hopper, top: int) -> None:
        common = hopper.common
        self.top, self.list = top, 8 if top <= 8 else 16
        sides = 2 * hopper.programs if top else 0
        shape = (sides, common.heads, hopper.padded)
        self.highest = torch.empty(shape, device=hopper.minus_hq.device)
        self.threshold_hq = common.empty(hopper.padded if top else 0)


class ColumnPass:
    """One pass over all weights, key by key, and a second one over the parts that it leaves."""

    def __init__(self, hopper: Hopper, wanted: Wanted) -> None:
        common, device = hopper.common, hopper.minus_hq.device
        self.hopper, self.wanted = hopper, wanted
        self.parts, self.groups = Parts(hopper, wanted.map), Groups(hopper, wanted.top)
        sides = 2 * hopper.programs if wanted.entropy else 0
        self.moment = torch.empty((sides, common.heads, hopper.padded), device=device)
        self.chosen = {
            "ENTROPY": int(wanted.entropy), "HIGHEST": int(wanted.top > 0),
            "MAP": int(self.parts.there), "CELL": self.parts.cell, "ROWS": self.parts.rows,
        }  # fmt: skip

    def run(self, received_hk: Tensor) -> None:
        """Received, and parts of everything else."""
        hopper, common, parts = self.hopper, self.hopper.common, self.parts
        shared = hopper.tiles(7) + 2**11
        kernels = hopper.kernels("columns", SHARED=shared, COLUMNS=ctypes.sizeof(Columns),
                                 SMALL=parts.small, **self.chosen)  # fmt: skip
        written = parts.map_hrc if parts.small else parts.sums
        kernels.start("columns", (hopper.programs * common.heads, 1), THREADS, Columns(
            *hopper.maps, *addresses(hopper.minus_hq, received_hk, written, self.moment,
                                     self.groups.highest),
            common.queries, common.keys, common.heads, common.group, hopper.right, hopper.programs,
            *parts.map_hrc.shape[1:], int(hopper.live), common.factor,
        ), shared=shared)  # fmt: skip

    def prepare(self, total_hq: Tensor) -> None:
        """The log-sum-exp in the form that all kernels read."""
        common = self.hopper.common
        places = map(ctypes.c_void_p, addresses(total_hq, self.hopper.minus_hq))
        grid = self.hopper.padded // TILE, common.heads
        self._whole.start("prepare", grid, TILE, *places, ctypes.c_int(common.queries))

    @cached_property
    def _whole(self) -> Module:
        return self.hopper.kernels("whole", TOP=self.groups.top, LIST=self.groups.list,
                                   WHOLE=ctypes.sizeof(Whole), **self.chosen)  # fmt: skip

    def make_whole(self, entropy_hq: Tensor) -> None:
        """Entropy, map and thresholds from the parts."""
        hopper, common, parts = self.hopper, self.hopper.common, self.parts
        rows, columns = parts.map_hrc.shape[1:] if parts.there else (0, 0)
        blocks_of_queries = hopper.pairs * (self.wanted.entropy + (self.wanted.top > 0))
        if blocks_of_queries or rows:
            self._whole.start("whole", (blocks_of_queries + rows * common.heads, 1), TILE, Whole(
                *addresses(self.moment, parts.sums, self.groups.highest, entropy_hq, parts.map_hrc,
                           self.groups.threshold_hq),
                common.queries, common.keys, common.heads, hopper.right, hopper.programs, rows,
                columns, parts.columns // parts.cell, int(hopper.live), hopper.pairs,
            ))  # fmt: skip


def sum_columns_on_hopper(hopper: Hopper, wanted: Wanted, found: Found, total_hq: Tensor) -> Groups:
    """Received, entropy and, where its blocks allow it, the map; and groups for the best keys."""
    common, columns = hopper.common, ColumnPass(hopper, wanted)
    found.received_hk, entropy_hq = common.empty(common.keys), common.empty(common.queries)
    columns.prepare(total_hq.float().contiguous())
    columns.run(found.received_hk)
    columns.make_whole(entropy_hq)
    found.hold(columns.moment, columns.parts.sums, columns.groups.highest)
    if wanted.entropy:
        found.entropy_hq = entropy_hq
    if columns.parts.map_hrc.numel():
        found.map_hrc, found.averaged = columns.parts.map_hrc, hopper.live
    return columns.groups
