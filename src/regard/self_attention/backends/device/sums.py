"""What a path on the device found, still on the device: rows, columns and distances."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.self_attention.backends.device.call import Call, Tensor, sent
from regard.self_attention.tiles.plan import blocks
from regard.self_attention.tiles.rows import Wanted


@dataclass
class Found:
    """Tensors with one axis of heads; what was not asked for stays None.

    ``total_hq`` is the natural log-sum-exp over the keys given here; map and distances are sums,
    distances counted as key - query from the most negative up.
    """

    total_hq: Tensor | None = None
    output_hqv: Tensor | None = None
    entropy_hq: Tensor | None = None
    weights_hqn: Tensor | None = None
    keys_hqn: Tensor | None = None
    received_hk: Tensor | None = None
    map_hrc: Tensor | None = None
    averaged: bool = False  # whether the map holds means instead of sums
    distance_hn: Tensor | None = None
    held: int = 0  # bytes of working memory at the peak

    def hold(self, *tensors: Tensor) -> None:
        """Note working memory that was held at one time."""
        self.held = max(self.held, sum(t.numel() * t.element_size() for t in tensors))


def edges(call: Call, wanted: Wanted) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the blocks of the map begin and end: of queries, of keys."""
    return blocks(call.sight.queries, wanted.map), blocks(call.sight.keys, wanted.map)


def sum_blocks(sums_hrk: Tensor, column_edges: NDArray[np.int64]) -> Tensor:
    """Sums over blocks of keys (h, r, c), by gathering: no atomics, so that two runs agree."""
    sizes = np.diff(column_edges)
    widest = int(sizes.max(initial=1))
    at_cn = column_edges[:-1, None] + np.arange(widest)
    inside_cn = np.arange(widest) < sizes[:, None]
    device: Any = sums_hrk.device
    if not sums_hrk.shape[-1]:
        return sums_hrk.new_zeros((*sums_hrk.shape[:-1], len(sizes)))
    places = sent(np.minimum(at_cn, sums_hrk.shape[-1] - 1), device)
    kept = sent(inside_cn, device)
    return torch.where(kept, sums_hrk[..., places], 0).sum(dim=-1)
