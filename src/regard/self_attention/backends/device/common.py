"""What every kernel is told: contiguous tensors, sizes, limits and factors."""

from functools import cached_property
from typing import Any

import numpy as np
import torch
import triton

from regard.self_attention.backends.device.call import Call, Tensor, sent
from regard.self_attention.tiles.problem import LOG2_E

FAR = 2**30  # farther than any key: no limit on that side


class Common:
    """A call in the form that kernels take it."""

    def __init__(self, call: Call) -> None:
        sight = call.sight
        self.call = call
        self.heads, self.group = call.heads, call.group
        self.queries, self.keys = sight.queries, sight.keys
        self.left = _limit(sight.left, -sight.offset)
        self.right = _limit(sight.right, sight.offset)
        self.factor = call.scale / call.softcap if call.softcap else call.scale * LOG2_E
        self.cap = call.softcap * LOG2_E if call.softcap else 0.0
        self.width = int(call.query_hqd.shape[-1])
        self.padded = max(16, triton.next_power_of_2(self.width))

    @cached_property
    def query_hqd(self) -> Tensor:
        """As Call's, contiguous."""
        return self.call.query_hqd.contiguous()

    @cached_property
    def key_gkd(self) -> Tensor:
        """As Call's, contiguous."""
        return self.call.key_gkd.contiguous()

    @cached_property
    def value_gkv(self) -> Tensor:
        """As Call's, contiguous."""
        return self.call.value_gkv.contiguous()

    @property
    def short(self) -> bool:
        """Whether the numbers have 16 bits."""
        return self.call.query_hqd.dtype in (torch.float16, torch.bfloat16)

    @cached_property
    def lengths_h(self) -> Tensor:
        """How many keys are real, for each head."""
        lengths: Any = self.call.sight.lengths_h
        if lengths is None:
            return self.empty(dtype=torch.int32).fill_(self.keys)
        return sent(np.asarray(lengths, np.int32), self.call.device)

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
