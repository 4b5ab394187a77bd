"""The best keys of each query: candidates from a kernel, settled by two small ones."""

import torch
import triton

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.common import Common
from regard.self_attention.backends.device.kernels.best import (
    KEPT_BITS,
    best_kernel,
    doubt_kernel,
    settle_kernel,
)
from regard.self_attention.backends.device.sums import Found

ROWS = 8  # queries looked at again by one program


def find_best(common: Common, found: Found, known_hq: Tensor, top: int) -> None:
    """The best ``top`` keys of each query, for any band."""
    count = 64 if top > 8 else 32
    lists_hqn = common.empty(common.queries, count)
    blocks_hqn = common.empty(common.queries, count, dtype=torch.int32)
    wide = common.padded > 128 or not common.short
    rows, columns = (64, 64) if wide else (128, 128)
    best_kernel[(triton.cdiv(common.queries, rows), common.heads)](
        common.query_hqd, common.key_gkd, known_hq, lists_hqn, blocks_hqn, common.lengths_h,
        *common.sizes(), kept_bits=KEPT_BITS, DEEP=top > 8, BQ=rows, BK=columns, STAGES=2,
        num_warps=4 if wide else 8, **common.limits(),
    )  # fmt: skip
    settle(common, found, known_hq, (lists_hqn, blocks_hqn), (top, columns))


def settle(
    common: Common, found: Found, known_hq: Tensor, lists: tuple[Tensor, Tensor],
    shape: tuple[int, int],
) -> None:  # fmt: skip
    """From lists of candidates to the best keys; queries in doubt are looked at again.

    ``shape`` is how many are wanted, and how many keys a tile had.
    """
    top, columns = shape
    rows = common.heads * common.queries
    found.hold(*lists)
    found.weights_hqn = common.empty(common.queries, top)
    found.keys_hqn = common.empty(common.queries, top, dtype=torch.int64)
    doubt_hq = common.empty(common.queries, dtype=torch.int32)
    settle_kernel[(triton.cdiv(rows, 32),)](
        *lists, found.weights_hqn, found.keys_hqn, doubt_hq, rows,
        COUNT=lists[0].shape[-1], TOP=top, BK=columns, ROWS=32, num_warps=4,
    )  # fmt: skip
    doubt_kernel[(triton.cdiv(common.queries, ROWS), common.heads)](
        common.query_hqd, common.key_gkd, known_hq, found.weights_hqn, found.keys_hqn, doubt_hq,
        common.lengths_h, *common.sizes(), TOP=top, BK=columns, ROWS=ROWS, num_warps=1,
        **common.limits(),
    )  # fmt: skip
