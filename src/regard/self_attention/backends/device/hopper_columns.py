"""Received, entropy and map on Hopper GPUs, and thresholds for the best keys."""

import ctypes
from functools import cache

import torch

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.cuda.driver import structure
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
    maps="query key", pointers="minus received map moment highest fine",
    ints="queries keys heads group right programs fine_rows fine_groups", floats="factor",
)  # fmt: skip
Whole = structure(
    pointers="moment parts highest fine entropy map threshold number",
    ints="queries keys heads right programs rows columns across averaged fine_rows fine_groups "
    "query_blocks",
)


@cache
def block_size(positions: int, most: int, least: int) -> int | None:
    """The size of the map's blocks where tiles can be cut into them, else None.

    >>> block_size(8192, 512, least=16), block_size(1000, 512, least=16)
    (16, None)
    """
    if not most:
        return None
    edges = blocks(positions, most)
    size = int(edges[1]) if len(edges) > 2 else 1 << (positions - 1).bit_length()
    return size if size >= least else None


class Parts:
    """Parts of the map: ``rows`` queries and ``columns`` keys to a block, ``cell`` keys to a part.

    With no map there are none, and the sizes are those that cost the kernel least.
    """

    def __init__(self, hopper: Hopper, most: int) -> None:
        common = hopper.common
        rows, columns = block_size(common.queries, most, 16), block_size(common.keys, most, 8)
        self.wanted = rows is not None and columns is not None
        self.rows, self.columns = (rows, columns) if rows and columns else (64, TILE)
        self.cell = min(TILE, self.columns)
        number = cdiv(hopper.padded, self.rows) * 4 if self.rows >= TILE else hopper.padded // 16
        width = cdiv(common.keys, BLOCK) * BLOCK // self.cell
        self.sums = common.empty(number if self.wanted else 0, width)
        sides = cdiv(common.queries, self.rows), cdiv(common.keys, self.columns)
        self.map_hrc = common.empty(*(sides if self.wanted else (0, 0)))


class Groups:
    """Room for each query's highest products in groups of keys, and for thresholds made of them.

    A group is all keys of a side of a program, and eight keys for the first queries, which see few
    sides. ``doubt`` is for the queries whose best keys take a second look: how many, and which.
    """

    def __init__(self, hopper: Hopper, top: int) -> None:
        common, device = hopper.common, hopper.minus_hq.device
        self.top, self.list = top, 8 if top <= 8 else 16
        few = TILE * self.list * 3 // 2  # keys; who sees more sees sides enough
        rows = hopper.padded if common.keys <= few else max(0, few - hopper.right)
        self.rows = min(cdiv(rows, TILE) * TILE, hopper.padded) if top else 0
        seen = max(0, min(common.keys, self.rows + hopper.right))
        self.number = cdiv(seen, TILE) * TILE // 8 if self.rows else 0
        sides = 2 * hopper.programs if top else 0
        self.highest = torch.empty((sides, common.heads, hopper.padded), device=device)
        self.fine = common.empty(self.number, self.rows)
        self.threshold_hq = common.empty(hopper.padded if top else 0)
        number = common.heads * common.queries if top else 0
        self.doubt = torch.empty(number + 1, dtype=torch.int32, device=device)


def sum_columns_on_hopper(hopper: Hopper, wanted: Wanted, found: Found, total_hq: Tensor) -> Groups:
    """Received, entropy and, where its blocks allow it, the map; and groups for the best keys."""
    common = hopper.common
    parts, groups = Parts(hopper, wanted.map), Groups(hopper, wanted.top)
    sides = 2 * hopper.programs if wanted.entropy else 0
    moment = torch.empty((sides, common.heads, hopper.padded), device=total_hq.device)
    found.received_hk = common.empty(common.keys)
    shared = hopper.tiles(7) + 2**11
    chosen = {"ENTROPY": int(wanted.entropy), "HIGHEST": int(wanted.top > 0),
              "MAP": int(parts.wanted), "CELL": parts.cell, "ROWS": parts.rows}  # fmt: skip
    whole = hopper.kernels("whole", TOP=groups.top, LIST=groups.list,
                           WHOLE=ctypes.sizeof(Whole), **chosen)  # fmt: skip
    columns = hopper.kernels("columns", SHARED=shared, COLUMNS=ctypes.sizeof(Columns), **chosen)
    total_hq = total_hq.float().contiguous()
    places = map(ctypes.c_void_p, addresses(total_hq, hopper.minus_hq))
    grid = hopper.padded // TILE, common.heads
    whole.start("prepare", grid, TILE, *places, ctypes.c_int(common.queries))
    columns.start("columns", (hopper.programs * common.heads, 1), THREADS, Columns(
        *hopper.maps, *addresses(hopper.minus_hq, found.received_hk, parts.sums, moment,
                                 groups.highest, groups.fine),
        common.queries, common.keys, common.heads, common.group, hopper.right, hopper.programs,
        groups.rows, groups.number, common.factor,
    ), shared=shared)  # fmt: skip
    found.hold(moment, parts.sums, groups.highest, groups.fine)
    entropy_hq = common.empty(common.queries)
    rows, number = parts.map_hrc.shape[1:]
    work = hopper.pairs * (wanted.entropy + (wanted.top > 0)) + rows * common.heads
    if work:
        whole.start("whole", (work, 1), TILE, Whole(
            *addresses(moment, parts.sums, groups.highest, groups.fine, entropy_hq, parts.map_hrc,
                       groups.threshold_hq, groups.doubt),
            common.queries, common.keys, common.heads, hopper.right, hopper.programs, rows, number,
            parts.columns // parts.cell, int(hopper.live), groups.rows, groups.number, hopper.pairs,
        ))  # fmt: skip
    if wanted.entropy:
        found.entropy_hq = entropy_hq
    if parts.wanted:
        found.map_hrc, found.averaged = parts.map_hrc, hopper.live
    return groups
