"""Kernels in CUDA C++ for Hopper GPUs (cuda/): which calls they serve, and what all are given."""

from functools import cache, cached_property
from typing import Any

import torch

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.common import FAR, Common
from regard.self_attention.backends.device.cuda.driver import Module, module, nvrtc, tensor_map

TILE = 128  # queries, or keys, that are brought in at once
BLOCK = 2 * TILE  # of the others, held still by a block of threads
PROGRAMS = 256  # of a head, at most: more keys are held in turn
THREADS = 384


def reasons_against_hopper(common: Common) -> list[str]:
    """Why these kernels cannot serve a call."""
    call = common.call
    reasons = []
    if call.device.type != "cuda" or not _is_hopper(call.device.index or 0):
        reasons.append("it is no Hopper GPU")
    elif nvrtc() is None:
        reasons.append("NVRTC, their compiler, is not installed: pip install nvidia-cuda-nvrtc")
    if not common.short or common.width not in (64, 128):
        reasons.append("they need 16-bit numbers and heads of width 64 or 128")
    if call.sight.lengths_h is not None or call.softcap or common.left != FAR:
        reasons.append("they know no lengths, softcap or window")
    return reasons


@cache
def _is_hopper(index: int) -> bool:
    return bool(torch.cuda.get_device_capability(index)[0] == 9)


def cdiv(a: int, b: int) -> int:
    """How many times b it takes to reach a.

    >>> cdiv(5, 2)
    3
    """
    return -(-a // b)


class Hopper:
    """A call on Hopper: query and key for the copy engine, and room for the log-sum-exp, padded.

    ``live`` says that every query sees a key.
    """

    def __init__(self, common: Common, live: bool) -> None:
        self.common, self.live = common, live
        self.index = common.call.device.index or 0
        self.padded = cdiv(common.queries, TILE) * TILE
        self.pairs = self.padded // TILE * common.heads  # of tiles of 64 queries, over all heads
        self.right = min(common.right, FAR)
        self.query_hqd, self.key_gkd = _aligned(common.query_hqd), _aligned(common.key_gkd)
        self.maps = tensor_map(self.query_hqd, TILE), tensor_map(self.key_gkd, TILE)
        self.minus_hq = common.empty(self.padded)

    @cached_property
    def programs(self) -> int:
        """How many share a head's keys; each takes every so manieth block of them."""
        most = PROGRAMS if self.padded <= 2**17 else PROGRAMS // 4
        return min(cdiv(self.common.keys, BLOCK), most)

    def kernels(self, name: str, **defined: Any) -> Module:
        """The kernels of a .cu file, for this call's kind of numbers."""
        kind = "bf16" if self.query_hqd.dtype == torch.bfloat16 else "f16"
        defined |= {"WIDTH": self.common.width, "SHORT": f'"{kind}"'}
        return module(name, self.index, *defined.items())

    def tiles(self, number: int) -> int:
        """Bytes of this many tiles."""
        return number * TILE * self.common.width * 2


def _aligned(tensor: Tensor) -> Tensor:
    """The copy engine wants addresses that are multiples of 16."""
    return tensor.clone() if tensor.data_ptr() % 16 else tensor


def addresses(*tensors: Tensor) -> list[int]:
    """Where tensors begin."""
    return [tensor.data_ptr() for tensor in tensors]
