"""Arguments and results that all kernel launches share.

Contiguous tensors, sizes, limits, partial sums.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from regard.engine.gpu.call import DeviceCall
from regard.engine.tensors import Tensor, send
from regard.engine.tiles.plan import blocks
from regard.engine.tiles.problem import LOG2_E
from regard.engine.tiles.rows import Requested

FAR = 2**30  # farther than any key: no limit on that side


class Common:
    """A call in the form that kernels take it."""

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
        self.padded = max(16, triton.next_power_of_2(self.width))

    @cached_property
    def query_hqd(self) -> Tensor:
        """As DeviceCall's, contiguous."""
        return self.call.query_hqd.contiguous()

    @cached_property
    def key_gkd(self) -> Tensor:
        """As DeviceCall's, contiguous."""
        return self.call.key_gkd.contiguous()

    @cached_property
    def value_gkv(self) -> Tensor:
        """As DeviceCall's, contiguous."""
        return self.call.value_gkv.contiguous()

    @property
    def short(self) -> bool:
        """Whether the numbers have 16 bits."""
        return self.call.query_hqd.dtype in (torch.float16, torch.bfloat16)

    @cached_property
    def lengths_h(self) -> Tensor:
        """How many keys are real, for each head."""
        lengths: Any = self.call.visibility.lengths_h
        if lengths is None:
            return self.empty(dtype=torch.int32).fill_(self.keys)
        return send(np.asarray(lengths, np.int32), self.call.device)

    def empty(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Room for results, one for each head."""
        return torch.empty((self.heads, *shape), dtype=dtype, device=self.call.device)

    def sizes(self) -> tuple[int, int, int]:
        """Queries, keys, and how many heads share a key head."""
        return self.queries, self.keys, self.group

    def limits(self) -> dict[str, Any]:
        """Where one may look, and what scores are multiplied by."""
        return {"factor": self.factor, "cap": self.cap, "left": self.left, "right": self.right,
                "CAPPED": self.call.softcap is not None, "WIDTH": self.width,
                "D": self.padded}  # fmt: skip


def _limit(side: int | None, offset: int) -> int:
    return FAR if side is None else max(-FAR, min(FAR, side + offset))


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


def edges(call: DeviceCall, requested: Requested) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the blocks of the map begin and end: of queries, of keys."""
    return blocks(call.visibility.queries, requested.map), blocks(
        call.visibility.keys, requested.map
    )


def sum_blocks(sums_hrk: Tensor, column_edges: NDArray[np.int64]) -> Tensor:
    """Sums over blocks of keys (h, r, c), by gathering: no atomics, so that two runs agree."""
    sizes = np.diff(column_edges)
    widest = int(sizes.max(initial=1))
    at_cn = column_edges[:-1, None] + np.arange(widest)
    inside_cn = np.arange(widest) < sizes[:, None]
    device: Any = sums_hrk.device
    if not sums_hrk.shape[-1]:
        return sums_hrk.new_zeros((*sums_hrk.shape[:-1], len(sizes)))
    places = send(np.minimum(at_cn, sums_hrk.shape[-1] - 1), device)
    kept = send(inside_cn, device)
    return torch.where(kept, sums_hrk[..., places], 0).sum(dim=-1)
