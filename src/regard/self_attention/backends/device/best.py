"""The best keys of each query: candidates from a kernel, settled by two small ones."""

import torch
import triton

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.common import Common
from regard.self_attention.backends.device.kernels.best import KEPT_BITS, best_kernel
from regard.self_attention.backends.device.kernels.settle import doubt_kernel, settle_kernel
from regard.self_attention.backends.device.sums import Found

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
