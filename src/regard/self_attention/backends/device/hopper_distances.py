"""Sums by distance on Hopper GPUs."""

import ctypes

import torch

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.cuda.driver import structure
from regard.self_attention.backends.device.distances import joined
from regard.self_attention.backends.device.hopper import THREADS, TILE, Hopper, cdiv

BUSY = 528  # blocks of threads that keep a GPU busy
Distances = structure(
    maps="query key", pointers="minus partial",
    ints="queries keys heads group right lowest highest number segments tiles", floats="factor",
)  # fmt: skip


def sum_distances_on_hopper(hopper: Hopper) -> Tensor:
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
    kernels = hopper.kernels("distances", SHARED=shared, DISTANCES=ctypes.sizeof(Distances))
    if walks:
        kernels.start("distances", (walks * segments, 1), THREADS, Distances(
            *hopper.maps, hopper.minus_hq.data_ptr(), partial_hsn.data_ptr(), common.queries,
            common.keys, common.heads, common.group, hopper.right, lowest, highest, number,
            segments, tiles, common.factor,
        ), shared=shared)  # fmt: skip
    return joined(partial_hsn, highest, common.queries, common.keys)
