"""The kernels written for Hopper: which calls they serve, and how their parts add up."""

from functools import cache
from typing import Any

import numpy as np
import torch
import triton

from regard.self_attention.backends.device.best import Candidates, settle
from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.common import FAR, Common
from regard.self_attention.backends.device.kernels.best import KEPT_BITS
from regard.self_attention.backends.device.kernels.whole import entropy_kernel, map_kernel
from regard.self_attention.backends.device.sums import Found
from regard.self_attention.tiles.plan import blocks
from regard.self_attention.tiles.problem import LOG2_E
from regard.self_attention.tiles.rows import Wanted

BLOCK = 256  # keys of a program at a time, and what both axes are padded to
PROGRAMS = 256  # row sums kept for each query; beyond 2^17 queries a quarter of that
TRIED = "3.6"  # Gluon, their language, still changes its rules of synchronisation
NOBODY = -1e30  # minus a log-sum-exp above every score: weights of 0


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
    return _aligned(common.queries, common.keys, wanted.map)


@cache
def _aligned(queries: int, keys: int, most: int) -> bool:
    row_sizes, column_sizes = (np.diff(blocks(n, most)) for n in (queries, keys))
    rows, columns = int(row_sizes[0]), int(column_sizes[0])
    even = (row_sizes == rows).all() and (column_sizes == columns).all()
    powers = rows & (rows - 1) == 0 and columns & (columns - 1) == 0
    whole = queries % BLOCK == 0 and keys % BLOCK == 0
    return bool(even and powers and whole and rows >= 16 and columns >= 8)


@cache
def _layouts() -> tuple[Any, Any]:
    """How tiles of numbers with 16 bits, and rows of float32, lie in shared memory."""
    from triton.experimental.gluon.language import NVMMASharedLayout

    return NVMMASharedLayout(128, 16, 2), NVMMASharedLayout(0, 32, 1)


class Padded:
    """Query and key as descriptors that the copy engine reads, padded to whole blocks."""

    def __init__(self, common: Common, known_hq: Tensor, live: bool) -> None:
        from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

        self.common = common
        query, key = _pad(common.query_hqd), _pad(common.key_gkd)
        self.queries, self.keys = query.shape[1], key.shape[1]
        self.live = live
        minus_hq = (known_hq * -LOG2_E).float()
        if not live:
            minus_hq = torch.where(minus_hq < torch.inf, minus_hq, NOBODY)
        short = self.queries - common.queries
        if short:
            minus_hq = torch.nn.functional.pad(minus_hq, (0, short), value=NOBODY)
        (tiled, plain), width = _layouts(), common.width
        self.query = TensorDescriptor.from_tensor(query.view(-1, width), [64, width], tiled)
        self.key = TensorDescriptor.from_tensor(key.view(-1, width), [128, width], tiled)
        self.minus = TensorDescriptor.from_tensor(minus_hq.contiguous().view(-1), [64], plain)
        self.sizes = (self.queries, self.keys, common.heads, common.group)
        self.right = min(common.right, FAR)


def _pad(tensor_htd: Tensor) -> Tensor:
    short = -tensor_htd.shape[1] % BLOCK
    return torch.nn.functional.pad(tensor_htd, (0, 0, 0, short)) if short else tensor_htd


def sum_columns_on_hopper(padded: Padded, wanted: Wanted, found: Found, with_map: bool) -> None:
    """Received, entropy and, where its blocks allow it, the map."""
    from regard.self_attention.backends.device.kernels.hopper_columns import hopper_columns_kernel

    common = padded.common
    number = padded.keys // BLOCK
    each = triton.cdiv(number, PROGRAMS if padded.queries <= 2**17 else PROGRAMS // 4)
    programs = triton.cdiv(number, each)
    cells = Cells(padded, wanted, with_map)
    received_hk = common.empty(padded.keys)
    sides = 2 * programs if wanted.entropy else 0
    moment = torch.empty((sides, common.heads, padded.queries), device=received_hk.device)
    hopper_columns_kernel[(programs * common.heads,)](
        padded.query, padded.key, padded.minus, received_hk, cells.sums, moment, *padded.sizes,
        common.factor, padded.right, each, ENTROPY=wanted.entropy, ADD=each > 1, MAP=with_map,
        CELL=cells.width, ROWS=cells.rows, WIDTH=common.width, num_warps=4,
    )  # fmt: skip
    found.hold(moment, cells.sums)
    found.received_hk = received_hk[:, : common.keys]
    if wanted.entropy:
        found.entropy_hq = _entropy(padded, moment, each * BLOCK)
    if with_map:
        found.map_hrc, found.averaged = cells.whole(padded), padded.live


class Cells:
    """Parts of the map: ``rows`` queries to a block, ``columns`` keys, ``width`` of them to a part.

    With no map there are no sums, and the sizes are those that cost the kernel least.
    """

    def __init__(self, padded: Padded, wanted: Wanted, with_map: bool) -> None:
        common = padded.common
        sides = min(wanted.map, common.queries), min(wanted.map, common.keys)
        self.sides = sides if with_map else (1, 1)
        self.rows = common.queries // sides[0] if with_map else 64
        self.columns = common.keys // sides[1] if with_map else 128
        self.width = min(128, self.columns)
        number = padded.queries // (self.rows // 4 if self.rows > 64 else 16) if with_map else 0
        self.sums = common.empty(number, padded.keys // self.width)

    def whole(self, padded: Padded) -> Tensor:
        """The map, as means where every query is live, else as sums."""
        common, (rows, columns) = padded.common, self.sides
        map_hrc = common.empty(rows, columns)
        map_kernel[(rows, common.heads)](
            self.sums, map_hrc, columns, padded.right, 1 / self.rows if padded.live else 1.0,
            ROWS=self.rows, COLUMNS=self.columns, CELL=self.width,
            BLOCK=min(512, triton.next_power_of_2(columns)), num_warps=4,
        )  # fmt: skip
        return map_hrc


def _entropy(padded: Padded, moment: Tensor, keys_each: int) -> Tensor:
    common = padded.common
    entropy_hq = common.empty(common.queries)
    entropy_kernel[(triton.cdiv(common.queries, 256), common.heads)](
        moment, entropy_hq, common.queries, padded.queries, moment.shape[0] // 2, keys_each,
        padded.right, BLOCK=256, num_warps=4,
    )  # fmt: skip
    return entropy_hq


def find_best_on_hopper(padded: Padded, found: Found, known_hq: Tensor, top: int) -> None:
    """The best ``top`` keys of each query."""
    from regard.self_attention.backends.device.kernels.hopper_best import hopper_best_kernel

    common = padded.common
    candidates = Candidates(common, padded.queries, top, BLOCK)
    hopper_best_kernel[(padded.queries // 128 * common.heads,)](
        padded.query, padded.key, padded.minus, *candidates.tensors, *padded.sizes,
        common.factor, padded.right, KEPT_BITS, WIDTH=common.width, DEEP=top > 8, num_warps=4,
    )  # fmt: skip
    settle(common, found, known_hq, candidates)
