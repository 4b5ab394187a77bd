"""Sums over the rows of every head, and largest scores, for the monitor of a training.

One pass over query and key where they lie, in any order of axes: nothing is copied.
"""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

import torch

from regard.engine.call import LOG2_E
from regard.engine.gpu.launch import padded_width
from regard.engine.tensors import Tensor, reasons_against_triton

# Numbers of a head, in the order in which the kernel writes them.
ROW_SUMS = (
    "rows", "entropy", "entropy_share", "share_rows", "largest_weight", "first", "self", "previous",
    "effective_keys", "query_norm",
)  # fmt: skip
ROW_MAXIMA = ("score", "minus_entropy")
PROGRAM_NUMBERS = 16  # SUMS of the kernel
MAX_HEAD_WIDTH = 256
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


@cache
def _missing() -> tuple[str, ...]:
    return tuple(reasons_against_triton())


def reasons_against_health(query: Tensor, key: Tensor) -> list[str]:
    """Reasons why these kernels cannot serve tensors (b, h, q, d) and (b, h_kv, k, d)."""
    reasons = list(_missing())
    if query.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        reasons.append(f"kernels need a CUDA device, but the tensors are on {query.device}")
    if query.dtype not in KERNEL_DTYPES or key.dtype != query.dtype:
        reasons.append(f"kernels read float16, bfloat16 and float32, got {query.dtype}")
    if not 1 <= query.shape[-1] <= MAX_HEAD_WIDTH:
        reasons.append(f"kernels serve heads of width 1 to {MAX_HEAD_WIDTH}")
    return reasons


def _dense(tensor: Tensor) -> Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _arguments(
    query: Tensor,
    key: Tensor,
    total: Tensor,
    mask: Tensor | None,
    scale: float,
    causal: bool,
    listed: int,
) -> tuple[Strides, Sizes, Constants, int]:
    """Arguments that both kernels share, and the kind of mask: 0 none, 1 bool, 2 added."""
    strides = Strides(
        *query.stride()[:3], *key.stride()[:3], *total.stride(),
        *((0, 0, 0, 0) if mask is None else mask.stride()),
    )  # fmt: skip
    heads, width = int(query.shape[1]), int(query.shape[-1])
    sizes = Sizes(
        heads, heads // int(key.shape[1]), int(query.shape[2]), int(key.shape[2]), listed,
        scale * LOG2_E,
    )  # fmt: skip
    kind = 0 if mask is None else 1 if mask.dtype == torch.bool else 2
    return strides, sizes, Constants(width, padded_width(width), causal), kind


def _blocks(query: Tensor) -> dict[str, int]:
    """Sizes of tiles that leave registers for two of them."""
    narrow = query.element_size() > 2 or query.shape[-1] > 128
    if narrow:
        return {"BQ": 64, "BK": 64, "num_warps": 4}
    # The fastest of six on an H200 (benchmarks/results/monitor_h200.json).
    return {"BQ": 128, "BK": 64, "num_warps": 4, "num_stages": 3}


def _expanded(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    shape = (*query.shape[:3], key.shape[2])
    if mask is None:
        return None
    bytes_of_bool = mask.view(torch.uint8) if mask.dtype == torch.bool else mask
    expanded: Tensor = bytes_of_bool.expand(shape)
    return expanded


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

    query, key = _dense(query.detach()), _dense(key.detach())
    listed = int(query.shape[2]) if rows is None else len(rows)
    shaped = _expanded(mask, query, key)
    strides, sizes, constants, kind = _arguments(query, key, total, shaped, scale, causal, listed)
    kind = 1 if mask is not None and mask.dtype == torch.bool else kind
    tile = _blocks(query)
    programs, heads = -(-listed // tile["BQ"]), int(query.shape[0]) * sizes.heads
    sums = torch.empty((heads, programs, PROGRAM_NUMBERS), device=query.device)
    with _device(query):
        health_kernel[(programs, heads)](
            query, key, total, query if shaped is None else shaped, query if rows is None else rows,
            sums, strides, sizes, constants, MASK=kind, SAMPLED=rows is not None, **tile,
        )  # fmt: skip
    parts = sums.view(query.shape[0], sizes.heads, programs, PROGRAM_NUMBERS).transpose(0, 1)
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

    query, key = _dense(query.detach()), _dense(key.detach())
    shaped = _expanded(mask, query, key)
    total = query[..., 0]
    listed = int(query.shape[2])
    strides, sizes, constants, kind = _arguments(query, key, total, shaped, scale, causal, listed)
    kind = 1 if mask is not None and mask.dtype == torch.bool else kind
    tile = _blocks(query)
    grid = (-(-listed // tile["BQ"]), int(query.shape[0]) * sizes.heads)
    with _device(query):
        largest_kernel[grid](
            query, key, query if shaped is None else shaped, bound, largest, strides, sizes,
            threshold, constants, MASK=kind, **tile,
        )  # fmt: skip


def _device(tensor: Tensor) -> torch.cuda.device:
    """The tensor's device as torch's current one; nothing to do for one that is not CUDA."""
    return torch.cuda.device(tensor.device if tensor.device.type == "cuda" else -1)
