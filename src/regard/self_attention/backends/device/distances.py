"""Sums by distance, from the partial sums of every diagonal of tiles."""

import torch
import triton

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.common import Common
from regard.self_attention.backends.device.kernels.distances import distances_kernel

SEGMENTS = 8  # into which a diagonal is cut


def sum_distances(common: Common, known_hq: Tensor) -> Tensor:
    """Weights summed by key - query, ascending, (h, queries + keys - 1)."""
    block = 128 if common.padded <= 128 and common.short else 64
    row_blocks, column_blocks = triton.cdiv(common.queries, block), triton.cdiv(common.keys, block)
    highest, number = row_blocks - 1, row_blocks + column_blocks - 1
    tiles = max(16, triton.cdiv(row_blocks, SEGMENTS))
    segments = triton.cdiv(row_blocks, tiles)
    partial_hsn = common.empty(segments, number, 2 * block)
    distances_kernel[(number, segments, common.heads)](
        common.query_hqd, common.key_gkd, known_hq, partial_hsn, common.lengths_h,
        *common.sizes(), highest=highest, tiles=tiles, B=block, num_warps=8, **common.limits(),
    )  # fmt: skip
    return joined(partial_hsn, highest, common.queries, common.keys)


def joined(partial_hsn: Tensor, highest: int, queries: int, keys: int) -> Tensor:
    """Partial sums (h, segments, diagonals of tiles, 2 B) as one row of distances for each head.

    A diagonal of tiles reaches over two spans of B distances: the second of one is the first of the
    next. The first entry stands for key - query = -(B - 1) - B * highest.
    """
    block = partial_hsn.shape[-1] // 2
    parts = partial_hsn.sum(dim=1, dtype=torch.float64)
    whole = torch.nn.functional.pad(parts[..., :block], (0, 0, 0, 1))
    whole[:, 1:] += parts[..., block:]
    skip = block * (highest + 1) - queries
    return whole.flatten(1)[:, skip : skip + queries + keys - 1]
