"""The kernels written for Hopper: which calls they serve, and how their parts add up."""

from functools import cache
from typing import Any

import numpy as np
import torch
import triton

from regard.self_attention.backends.device.best import settle
from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.common import FAR, Common
from regard.self_attention.backends.device.kernels.best import KEPT_BITS
from regard.self_attention.backends.device.kernels.entropy import entropy_kernel
from regard.self_attention.backends.device.sums import Found, edges
from regard.self_attention.tiles.rows import Wanted

BLOCK = 256  # keys of a program at a time, and what both axes are padded to
PROGRAMS = 256  # row sums kept for each query; beyond 2^17 queries a quarter of that
TRIED = "3.6"  # Gluon, their language, still changes its rules of synchronisation
NOBODY = 1e30  # a log-sum-exp above every score: weights of 0


def reasons_against_hopper(common: Common) -> list[str]:
    """Why these kernels cannot serve a call."""
    call = common.call
    reasons = []
    if call.device.type != "cuda" or not _is_hopper(call.device.index or 0):
        reasons.append("it is no Hopper GPU")
    if not triton.__version__.startswith(TRIED):
        reasons.append(f"it was tried with triton {TRIED}, but this is {triton.__version__}")
    if not common.short or common.width not in (64, 128):
        reasons.append("it needs 16-bit numbers and heads of width 64 or 128")
    if call.sight.lengths_h is not None or call.softcap or common.left != FAR:
        reasons.append("it knows no lengths, softcap or window")
    padded = common.queries % BLOCK or common.keys % BLOCK
    if padded and common.right > common.keys - common.queries:
        reasons.append(f"queries and keys are not multiples of {BLOCK}")
    return reasons


@cache
def _is_hopper(index: int) -> bool:
    return bool(torch.cuda.get_device_capability(index)[0] == 9)


def aligned(common: Common, wanted: Wanted) -> bool:
    """Whether the map's blocks are powers of two that tiles can be cut into."""
    row_edges, column_edges = edges(common.call, wanted)
    row_sizes, column_sizes = np.diff(row_edges), np.diff(column_edges)
    rows, columns = int(row_sizes[0]), int(column_sizes[0])
    even = (row_sizes == rows).all() and (column_sizes == columns).all()
    powers = rows & (rows - 1) == 0 and columns & (columns - 1) == 0
    whole = common.queries % BLOCK == 0 and common.keys % BLOCK == 0
    return bool(even and powers and whole and rows >= 16 and columns >= 8)


class Padded:
    """Query and key as descriptors that the copy engine reads, padded to whole blocks."""

    def __init__(self, common: Common, known_hq: Tensor, live: bool) -> None:
        from triton.experimental.gluon.language import NVMMASharedLayout
        from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

        self.common = common
        query, key = _pad(common.query_hqd), _pad(common.key_gkd)
        self.queries, self.keys = query.shape[1], key.shape[1]
        total_hq = known_hq.float()
        if not live:
            total_hq = torch.where(total_hq > -torch.inf, total_hq, NOBODY)
        short = self.queries - common.queries
        if short:
            total_hq = torch.nn.functional.pad(total_hq, (0, short), value=NOBODY)
        self.total_hq = total_hq.contiguous()
        layout = NVMMASharedLayout(128, 16, 2)
        width = common.width
        self.query = TensorDescriptor.from_tensor(query.view(-1, width), [64, width], layout)
        self.key = TensorDescriptor.from_tensor(key.view(-1, width), [128, width], layout)
        self.sizes = (self.queries, self.keys, common.heads, common.group)
        self.right = min(common.right, FAR)


def _pad(tensor_htd: Tensor) -> Tensor:
    short = -tensor_htd.shape[1] % BLOCK
    return torch.nn.functional.pad(tensor_htd, (0, 0, 0, short)) if short else tensor_htd


def sum_columns_on_hopper(padded: Padded, wanted: Wanted, found: Found, with_map: bool) -> None:
    """Received, entropy and, where its blocks allow it, the map."""
    from regard.self_attention.backends.device.kernels.hopper_columns import hopper_columns_kernel

    common, call = padded.common, padded.common.call
    blocks = padded.keys // BLOCK
    each = triton.cdiv(blocks, PROGRAMS if padded.queries <= 2**17 else PROGRAMS // 4)
    programs = triton.cdiv(blocks, each)
    rows = common.queries // min(wanted.map, common.queries) if with_map else 64
    cell = min(128, common.keys // min(wanted.map, common.keys)) if with_map else 128
    received_hk = common.empty(padded.keys)
    moment = torch.empty(
        (programs if wanted.entropy else 0, common.heads, padded.queries, 2), device=call.device
    )
    map_rows = padded.queries // (rows // 4 if rows > 64 else 16)
    sums = torch.zeros(
        (common.heads, map_rows if with_map else 0, padded.keys // cell), device=call.device
    )
    hopper_columns_kernel[(programs * common.heads,)](
        padded.query, padded.key, padded.total_hq, received_hk, sums, moment, *padded.sizes,
        common.factor, padded.right, each, ENTROPY=wanted.entropy, ADD=each > 1, MAP=with_map,
        CELL=cell, ROWS=rows, WIDTH=common.width, num_warps=4,
    )  # fmt: skip
    found.hold(moment, sums)
    found.received_hk = received_hk[:, : common.keys]
    if wanted.entropy:
        found.entropy_hq = _entropy(padded, moment, each * BLOCK)
    if with_map:
        sides = min(wanted.map, common.queries), min(wanted.map, common.keys)
        split: Any = sums.view(common.heads, sides[0], -1, sides[1], sums.shape[-1] // sides[1])
        whole = split.shape[2] * split.shape[4] == 1
        found.map_hrc = split[:, :, 0, :, 0] if whole else split.sum(dim=(2, 4))


def _entropy(padded: Padded, moment: Tensor, keys_each: int) -> Tensor:
    common = padded.common
    entropy_hq = common.empty(common.queries)
    entropy_kernel[(triton.cdiv(common.queries, 256), common.heads)](
        moment, entropy_hq, common.queries, padded.queries, moment.shape[0], keys_each,
        padded.right, BLOCK=256, num_warps=4,
    )  # fmt: skip
    return entropy_hq


def find_best_on_hopper(padded: Padded, found: Found, known_hq: Tensor, top: int) -> None:
    """The best ``top`` keys of each query."""
    from regard.self_attention.backends.device.kernels.hopper_best import hopper_best_kernel

    common, count = padded.common, 64 if top > 8 else 32
    lists_hqn = common.empty(padded.queries, count)
    blocks_hqn = common.empty(padded.queries, count, dtype=torch.int32)
    hopper_best_kernel[(padded.queries // 128 * common.heads,)](
        padded.query, padded.key, padded.total_hq, lists_hqn, blocks_hqn, *padded.sizes,
        common.factor, padded.right, KEPT_BITS, WIDTH=common.width, DEEP=top > 8, num_warps=4,
    )  # fmt: skip
    if padded.queries > common.queries:
        lists_hqn = lists_hqn[:, : common.queries].contiguous()
        blocks_hqn = blocks_hqn[:, : common.queries].contiguous()
    settle(common, found, known_hq, (lists_hqn, blocks_hqn), (top, 128))
