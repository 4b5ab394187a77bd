"""Sums over the rows of every head, and largest scores, for the monitor of a training.

One pass over query and key where they lie, in any order of axes: nothing is copied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from regard.engine.call import LOG2_E
from regard.engine.gpu.call import MAX_HEAD_WIDTH, reasons_against_device
from regard.engine.gpu.launch import padded_width, with_dense_rows
from regard.engine.tensors import Tensor

# Numbers of a head, in the order in which the kernel writes them.
ROW_SUMS = (
    "rows", "entropy", "entropy_share", "share_rows", "largest_weight", "first", "self", "previous",
    "effective_keys", "query_norm",
)  # fmt: skip
ROW_MAXIMA = ("score", "minus_entropy")
PROGRAM_NUMBERS = 16  # SUMS of the kernel
KERNEL_DTYPES = (torch.float16, torch.bfloat16, torch.float32)


class Strides(NamedTuple):
    """Strides of query, key, log-sum-exp and mask; the numbers of a row are neighbours."""

    query_sentence: int
    query_head: int
    query_row: int
    key_sentence: int
    key_head: int
    key_row: int
    total_sentence: int
    total_head: int
    total_row: int
    mask_sentence: int
    mask_head: int
    mask_query: int
    mask_key: int


class Sizes(NamedTuple):
    """Sizes of a call, query heads to a key head, and the factor of base-2 scores."""

    heads: int
    group: int
    queries: int
    keys: int
    listed: int
    factor: float


class Constants(NamedTuple):
    """Compile-time constants: features of a head, padded to a power of 2, and the causal mask."""

    WIDTH: int
    PADDED: int
    CAUSAL: bool


def reasons_against_health(query: Tensor, key: Tensor) -> list[str]:
    """Reasons why these kernels cannot serve tensors (b, h, q, d) and (b, h_kv, k, d)."""
    reasons = reasons_against_device(query.device)
    if query.dtype not in KERNEL_DTYPES or key.dtype != query.dtype:
        reasons.append(f"kernels read float16, bfloat16 and float32, got {query.dtype}")
    if not 1 <= query.shape[-1] <= MAX_HEAD_WIDTH:
        reasons.append(f"kernels serve heads of width 1 to {MAX_HEAD_WIDTH}")
    return reasons


class _Call:
    """Arguments that both kernels share; ``listed`` queries of a sentence and a head are read."""

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        total: Tensor | None,
        mask: Tensor | None,
        scale: float,
        causal: bool,
        listed: int,
    ) -> None:
        self.query, self.key = (with_dense_rows(x.detach()) for x in (query, key))
        (sentences, heads, queries, width), keys = self.query.shape, int(self.key.shape[2])
        self.mask, self.kind = self.query, 0  # 0 none, 1 bool, 2 added
        steps: Any = (0, 0, 0, 0)
        if mask is not None:
            self.kind = 1 if mask.dtype == torch.bool else 2
            plain = mask.view(torch.uint8) if self.kind == 1 else mask
            self.mask = plain.expand(sentences, heads, queries, keys)
            steps = self.mask.stride()
        steps_of_total = self.query[..., 0].stride() if total is None else total.stride()
        self.strides = Strides(
            *self.query.stride()[:3], *self.key.stride()[:3], *steps_of_total, *steps
        )
        group = heads // int(self.key.shape[1])
        self.sizes = Sizes(heads, group, queries, keys, listed, scale * LOG2_E)
        self.constants = Constants(width, padded_width(width), causal)
        self.tile = _blocks(self.query)
        self.grid = -(-listed // self.tile["BQ"]), sentences * heads


def _blocks(query: Tensor) -> dict[str, int]:
    """Sizes of tiles that leave registers for two of them."""
    if query.element_size() > 2 or query.shape[-1] > 128:
        return {"BQ": 64, "BK": 64, "num_warps": 4}
    # The fastest of six on an H200 (benchmarks/results/monitor_h200.json).
    return {"BQ": 128, "BK": 64, "num_warps": 4, "num_stages": 3}


def row_sums(
    query: Tensor,
    key: Tensor,
    total: Tensor,
    *,
    scale: float,
    causal: bool = False,
    mask: Tensor | None = None,
    rows: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """ROW_SUMS (h, 10) and ROW_MAXIMA (h, 2) over all sentences and queries, or over ``rows``.

    query (b, h, q, d), key (b, h_kv, k, d), total (b, h, q) the natural log-sum-exp, mask as torch
    takes it. The host does not wait for the device.
    """
    from regard.engine.gpu.kernels.health import health_kernel

    listed = int(query.shape[2]) if rows is None else len(rows)
    call = _Call(query, key, total, mask, scale, causal, listed)
    programs, heads = call.grid
    sums = torch.empty((heads, programs, PROGRAM_NUMBERS), device=query.device)
    with _device(query):
        health_kernel[call.grid](
            call.query, call.key, total, call.mask, call.query if rows is None else rows, sums,
            call.strides, call.sizes, call.constants, MASK=call.kind, SAMPLED=rows is not None,
            **call.tile,
        )  # fmt: skip
    parts = sums.view(query.shape[0], call.sizes.heads, programs, PROGRAM_NUMBERS).transpose(0, 1)
    number = len(ROW_SUMS)
    added = parts[..., :number].sum(dim=(1, 2), dtype=torch.float64)
    return added, parts[..., number : number + len(ROW_MAXIMA)].amax(dim=(1, 2)).double()


def join_largest(
    query: Tensor,
    key: Tensor,
    bound: Tensor,
    largest: Tensor,
    *,
    threshold: float,
    scale: float,
    causal: bool = False,
    mask: Tensor | None = None,
) -> None:
    """Join the largest scores of a call to ``largest`` (h), of heads whose ``bound`` is above.

    ``bound`` (h) is the largest log-sum-exp of each head, on the device: nothing is read back.
    """
    from regard.engine.gpu.kernels.health import largest_kernel

    call = _Call(query, key, None, mask, scale, causal, int(query.shape[2]))
    with _device(query):
        largest_kernel[call.grid](
            call.query, call.key, call.mask, bound, largest, call.strides, call.sizes, threshold,
            call.constants, MASK=call.kind, **call.tile,
        )  # fmt: skip


def _device(tensor: Tensor) -> torch.cuda.device:
    """The tensor's device as torch's current one; nothing to do for one that is not CUDA."""
    return torch.cuda.device(tensor.device if tensor.device.type == "cuda" else -1)
