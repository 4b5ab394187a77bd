"""Triton launches of single statistics.

Received and map, best keys, sums by distance, repeated tokens.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from regard.engine.gpu.call import DeviceCall
from regard.engine.gpu.kernels.best_keys import KEPT_BITS, best_kernel, doubt_kernel, settle_kernel
from regard.engine.gpu.kernels.sums import columns_kernel, distances_kernel, repeats_kernel
from regard.engine.gpu.launch import Common, Found, edges, sum_blocks
from regard.engine.tensors import Tensor, send
from regard.engine.tiles.rows import Requested

FOLDED = 2**28  # sums by block of queries and key held at once: 1 GB


def sum_columns(common: Common, requested: Requested, found: Found, known_hq: Tensor) -> None:
    """Attention received, and the map; some heads at a time where the map's rows are long."""
    row_edges, column_edges = edges(common.call, requested)
    rows, each = len(row_edges) - 1, max(1, int(row_edges[1]))
    width = common.keys if requested.map else 0
    found.received_hk = common.empty(common.keys)
    if requested.map:
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


ROWS = 4  # queries that a program settles


PROGRAMS = 8192  # that share the queries in doubt


class Candidates:
    """Room for each query's lists of pairs of keys: ``queries`` may be padded."""

    def __init__(self, common: Common, queries: int, top: int, block: int) -> None:
        count = 64 if top > 8 else 32
        self.top, self.block, self.queries = top, block, queries
        self.lists_hqn = common.empty(queries, count)
        self.blocks_hqn = common.empty(queries, count, dtype=torch.int32)
        self.lost_hqn = common.empty(queries, 4)

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Scores with places packed in, blocks of keys, and the best that was left out."""
        return self.lists_hqn, self.blocks_hqn, self.lost_hqn


def find_best(common: Common, found: Found, known_hq: Tensor, top: int) -> None:
    """The best ``top`` keys of each query, for any band."""
    wide = common.padded > 128 or not common.short
    rows, columns = (64, 64) if wide else (128, 128)
    candidates = Candidates(common, common.queries, top, columns)
    best_kernel[(triton.cdiv(common.queries, rows), common.heads)](
        common.query_hqd, common.key_gkd, known_hq, *candidates.tensors, common.lengths_h,
        *common.sizes(), kept_bits=KEPT_BITS, DEEP=top > 8, BQ=rows, BK=columns, STAGES=2,
        num_warps=4 if wide else 8, **common.limits(),
    )  # fmt: skip
    settle(common, found, known_hq, candidates)


def settle(common: Common, found: Found, known_hq: Tensor, candidates: Candidates) -> None:
    """From lists of candidates to the best keys; queries in doubt are looked at again."""
    top = candidates.top
    found.hold(*candidates.tensors)
    found.weights_hqn = common.empty(common.queries, top)
    found.keys_hqn = common.empty(common.queries, top, dtype=torch.int64)
    doubt_hq = common.empty(common.queries, dtype=torch.int64)
    number = torch.zeros(1, dtype=torch.int32, device=doubt_hq.device)
    given = common.query_hqd, common.key_gkd, known_hq
    deep = top > 8
    settle_kernel[(triton.cdiv(common.queries, ROWS), common.heads)](
        *candidates.tensors, *given, common.lengths_h, found.weights_hqn, found.keys_hqn, doubt_hq,
        number, candidates.queries, *common.sizes(), COUNT=64 if deep else 32, TOP=top,
        PAIRS=16 if deep else 8, BK=candidates.block, ROWS=ROWS,
        CHUNK=min(32, common.padded), num_warps=1, **common.limits(),
    )  # fmt: skip
    doubt_kernel[(min(PROGRAMS, doubt_hq.numel()),)](
        *given, found.weights_hqn, found.keys_hqn, doubt_hq, number, common.lengths_h,
        *common.sizes(), TOP=top, PAIRS=16 if deep else 8, BK=candidates.block,
        CHUNK=min(64, common.padded), num_warps=1, **common.limits(),
    )  # fmt: skip


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


QUERIES = 16  # of a tile: most tokens stand in few places


class Order(NamedTuple):
    """Queries of tokens that stand more than once, and key places, both in the order of tokens.

    The places of the token of query ``rows_i`` reach from ``begins_i`` to ``ends_i`` in
    ``places_k``.
    """

    rows_i: Tensor
    begins_i: Tensor
    ends_i: Tensor
    places_k: Tensor


def repeats_on_device(call: DeviceCall, total_hq: Tensor, tokens_k: NDArray[np.int64]) -> Tensor:
    """As ``repeats``, left on the device: weight, even attention's, queries, of each (h, 2, 3)."""
    visibility = call.visibility
    order = _order(tokens_k.tobytes(), visibility.queries, visibility.offset, call.device)
    listed = len(order.rows_i)
    if not listed:
        return torch.zeros((call.heads, 2, 3), dtype=torch.float64, device=call.device)
    common = Common(call)
    query_hqd, key_gkd = (_in_rows(tensor) for tensor in (call.query_hqd, call.key_gkd))
    keys, warps = (32, 4) if common.short else (16, 8)  # such that nothing spills
    blocks = triton.cdiv(listed, QUERIES)
    partial_h23b = common.empty(2, 3, blocks, dtype=torch.float64)
    repeats_kernel[(blocks, common.heads, 2)](
        query_hqd, key_gkd, total_hq.contiguous(), *order, common.lengths_h, partial_h23b,
        *query_hqd.stride()[:2], *key_gkd.stride()[:2], *common.sizes(), listed, visibility.offset,
        BQ=QUERIES, BK=keys, num_warps=warps, **common.limits(),
    )  # fmt: skip
    return partial_h23b.sum(dim=-1)


def _in_rows(tensor: Tensor) -> Tensor:
    """As it lies, if the numbers of a row are neighbours: only some rows are read."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


@lru_cache(maxsize=4)
def _order(tokens: bytes, queries: int, offset: int, device: torch.device) -> Order:
    """The same for all layers of a model, so made and send once."""
    tokens_k = np.frombuffer(tokens, np.int64)
    places_k = np.argsort(tokens_k, kind="stable")
    _, begins_t, sizes_t = np.unique(tokens_k[places_k], return_index=True, return_counts=True)
    token_k = np.repeat(np.arange(len(sizes_t)), sizes_t)
    rows_k = places_k - offset
    among = (rows_k >= 0) & (rows_k < queries) & (sizes_t[token_k] > 1)
    begins_i, sizes_i = begins_t[token_k[among]], sizes_t[token_k[among]]
    arrays = rows_k[among], begins_i, begins_i + sizes_i, places_k
    return Order(*(send(array.astype(np.int32), device) for array in arrays))
