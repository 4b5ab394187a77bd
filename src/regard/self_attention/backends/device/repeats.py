"""Repeats by one kernel: keys in the order of their tokens, so that the same token is one range."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from regard.self_attention.backends.device.call import Call, Tensor, sent
from regard.self_attention.backends.device.common import Common
from regard.self_attention.backends.device.kernels.repeats import repeats_kernel

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


def repeats_on_device(call: Call, total_hq: Tensor, tokens_k: NDArray[np.int64]) -> Tensor:
    """As ``repeats``, left on the device: weight, even attention's, queries, of each (h, 2, 3)."""
    sight = call.sight
    order = _order(tokens_k.tobytes(), sight.queries, sight.offset, call.device)
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
        *query_hqd.stride()[:2], *key_gkd.stride()[:2], *common.sizes(), listed, sight.offset,
        BQ=QUERIES, BK=keys, num_warps=warps, **common.limits(),
    )  # fmt: skip
    return partial_h23b.sum(dim=-1)


def _in_rows(tensor: Tensor) -> Tensor:
    """As it lies, if the numbers of a row are neighbours: only some rows are read."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


@lru_cache(maxsize=4)
def _order(tokens: bytes, queries: int, offset: int, device: torch.device) -> Order:
    """The same for all layers of a model, so made and sent once."""
    tokens_k = np.frombuffer(tokens, np.int64)
    places_k = np.argsort(tokens_k, kind="stable")
    _, begins_t, sizes_t = np.unique(tokens_k[places_k], return_index=True, return_counts=True)
    token_k = np.repeat(np.arange(len(sizes_t)), sizes_t)
    rows_k = places_k - offset
    among = (rows_k >= 0) & (rows_k < queries) & (sizes_t[token_k] > 1)
    begins_i, sizes_i = begins_t[token_k[among]], sizes_t[token_k[among]]
    arrays = rows_k[among], begins_i, begins_i + sizes_i, places_k
    return Order(*(sent(array.astype(np.int32), device) for array in arrays))
