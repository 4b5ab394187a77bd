"""Arguments and results that all kernel launches share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.engine.call import LOG2_E, Requested, blocks
from regard.engine.gpu.call import DeviceCall
from regard.engine.gpu.kernels.tile import Constants, Inputs, Scalars
from regard.engine.tensors import Tensor, send

UNBOUNDED = 2**30  # farther than any key: no limit on that side


class CommonArguments:
    """A device call as kernels take it: contiguous tensors, sizes, factors and band."""

    def __init__(self, call: DeviceCall) -> None:
        visibility = call.visibility
        self.call = call
        self.heads, self.group = call.heads, call.group
        self.queries, self.keys = visibility.queries, visibility.keys
        self.left = _limit(visibility.left, -visibility.offset)
        self.right = _limit(visibility.right, visibility.offset)
        self.factor = call.scale / call.softcap if call.softcap else call.scale * LOG2_E
        self.cap = call.softcap * LOG2_E if call.softcap else 0.0
        self.width = int(call.query_hqd.shape[-1])
        self.padded = padded_width(self.width)

    @cached_property
    def query_hqd(self) -> Tensor:
        return self.call.query_hqd.contiguous()

    @cached_property
    def key_gkd(self) -> Tensor:
        return self.call.key_gkd.contiguous()

    @cached_property
    def value_gkv(self) -> Tensor:
        return self.call.value_gkv.contiguous()

    @property
    def is_16_bit(self) -> bool:
        return self.call.query_hqd.dtype in (torch.float16, torch.bfloat16)

    @cached_property
    def lengths_h(self) -> Tensor:
        lengths_h = self.call.visibility.lengths_h
        if lengths_h is None:
            return self.empty(dtype=torch.int32).fill_(self.keys)
        return send(np.asarray(lengths_h, np.int32), self.call.device)

    def empty(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty((self.heads, *shape), dtype=dtype, device=self.call.device)

    @cached_property
    def inputs(self) -> Inputs:
        return Inputs(self.query_hqd, self.key_gkd, self.lengths_h)

    @cached_property
    def scalars(self) -> Scalars:
        return Scalars(
            self.queries, self.keys, self.group, self.factor, self.cap, self.left, self.right
        )

    @cached_property
    def constants(self) -> Constants:
        return Constants(self.width, self.padded, self.call.softcap is not None)


def padded_width(width: int) -> int:
    """The width of a kernel's rows: a power of two, at least 16.

    >>> padded_width(0), padded_width(16), padded_width(80)
    (16, 16, 128)
    """
    return max(16, 1 << (width - 1).bit_length())


def with_dense_rows(tensor: Tensor) -> Tensor:
    """The tensor, copied only if the numbers of a row are not neighbours: few rows are read."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _limit(bound: int | None, offset: int) -> int:
    return UNBOUNDED if bound is None else max(-UNBOUNDED, min(UNBOUNDED, bound + offset))


@dataclass
class FactTensors:
    """Facts on a device with one axis of heads; a fact that was not requested stays None.

    ``total_hq`` is the natural log-sum-exp over the keys of the call; map and distances are sums,
    distances counted as key - query from the most negative up.
    """

    total_hq: Tensor | None = None
    output_hqv: Tensor | None = None
    entropy_hq: Tensor | None = None
    weights_hqn: Tensor | None = None
    keys_hqn: Tensor | None = None
    received_hk: Tensor | None = None
    map_hrc: Tensor | None = None
    map_is_mean: bool = False  # the map holds means instead of sums
    distance_hn: Tensor | None = None
    peak_bytes: int = 0  # of working memory
    remaining: list[Callable[..., None]] = field(default_factory=list)  # passes, called with facts=

    def run_remaining(self) -> None:
        """Run the passes that were put off."""
        while self.remaining:
            self.remaining.pop(0)(facts=self)

    @property
    def tensors(self) -> dict[str, Any]:
        return {x: t for x, t in vars(self).items() if isinstance(t, torch.Tensor)}

    def note_memory(self, *tensors: Tensor) -> None:
        """Record working memory that was allocated at one time."""
        self.peak_bytes = max(self.peak_bytes, sum(t.numel() * t.element_size() for t in tensors))


def map_edges(
    call: DeviceCall, requested: Requested
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The edges of the map's blocks: of queries, of keys."""
    visibility = call.visibility
    return blocks(visibility.queries, requested.map), blocks(visibility.keys, requested.map)


def sum_blocks(sums_hrk: Tensor, column_edges: NDArray[np.int64]) -> Tensor:
    """Sums over blocks of keys (h, r, c), by gathering: no atomics, so that two runs agree."""
    sizes = np.diff(column_edges)
    widest = int(sizes.max(initial=1))
    at_cn = column_edges[:-1, None] + np.arange(widest)
    inside_cn = np.arange(widest) < sizes[:, None]
    if not sums_hrk.shape[-1]:
        return sums_hrk.new_zeros((*sums_hrk.shape[:-1], len(sizes)))
    index_cn = send(np.minimum(at_cn, sums_hrk.shape[-1] - 1), sums_hrk.device)
    inside = send(inside_cn, sums_hrk.device)
    return torch.where(inside, sums_hrk[..., index_cn], 0).sum(dim=-1)


def join_distances(partial_hsn: Tensor, highest: int, queries: int, keys: int) -> Tensor:
    """Partial sums (h, segments, diagonals of tiles, 2 B) as one row of distances for each head.

    A diagonal of tiles reaches over two spans of B distances: the second of one is the first of the
    next. The first entry stands for key - query = -(B - 1) - B * highest.
    """
    block = partial_hsn.shape[-1] // 2
    parts = partial_hsn.sum(dim=1, dtype=torch.float64)
    spans = torch.nn.functional.pad(parts[..., :block], (0, 0, 0, 1))
    spans[:, 1:] += parts[..., block:]
    skip = block * (highest + 1) - queries
    return spans.flatten(1)[:, skip : skip + queries + keys - 1]
