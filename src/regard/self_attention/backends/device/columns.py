"""Received and map by the general kernel: any band, any sizes."""

import torch
import triton

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.common import Common
from regard.self_attention.backends.device.kernels.columns import columns_kernel
from regard.self_attention.backends.device.sums import Found, edges, sum_blocks
from regard.self_attention.tiles.rows import Wanted

FOLDED = 2**28  # sums by block of queries and key held at once: 1 GB


def sum_columns(common: Common, wanted: Wanted, found: Found, known_hq: Tensor) -> None:
    """Attention received, and the map; some heads at a time where the map's rows are long."""
    row_edges, column_edges = edges(common.call, wanted)
    rows, each = len(row_edges) - 1, max(1, int(row_edges[1]))
    width = common.keys if wanted.map else 0
    found.received_hk = common.empty(common.keys)
    if wanted.map:
        found.map_hrc = common.empty(rows, len(column_edges) - 1)
    together = max(1, min(common.heads, FOLDED // max(1, rows * width)))
    for first in range(0, common.heads, together):
        heads = slice(first, min(first + together, common.heads))
        folded_hrk = _run(common, heads, found.received_hk, known_hq, (rows, each, width))
        found.hold(folded_hrk)
        if found.map_hrc is not None:
            found.map_hrc[heads] = sum_blocks(folded_hrk, column_edges)


def _run(
    common: Common, heads: slice, received_hk: Tensor, known_hq: Tensor, cut: tuple[int, int, int]
) -> Tensor:
    number, (rows, each, width) = heads.stop - heads.start, cut
    folded_hrk = torch.zeros((number, rows, width), device=common.call.device)
    block = 64 if common.padded <= 128 else 32
    columns_kernel[(triton.cdiv(common.keys, block), number)](
        common.query_hqd, common.key_gkd, known_hq, received_hk, folded_hrk, common.lengths_h,
        *common.sizes(), heads.start, each, MAP=width > 0, BQ=block, BK=block,
        **common.limits(),
    )  # fmt: skip
    return folded_hrk
