"""CUDA C++ kernels for Hopper GPUs: one call of them, best keys and distances."""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any, NamedTuple

import torch

from regard.engine.gpu.cuda_driver import Module, module, nvrtc, structure, tensor_map
from regard.engine.gpu.launch import FAR, CommonArguments, FactTensors
from regard.engine.gpu.triton_facts import join_distances
from regard.engine.tensors import Tensor

TILE = 128  # queries, or keys, that one copy brings in
BLOCK = 2 * TILE  # keys, or queries, that a block of threads keeps in shared memory
PROGRAMS = 256  # of a head, at most: with more keys each takes several blocks in turn
THREADS = 384


def reasons_against_hopper(common: CommonArguments) -> list[str]:
    """Reasons why these kernels cannot serve a call; none where they can."""
    call = common.call
    reasons = []
    if call.device.type != "cuda" or not _is_hopper(call.device.index or 0):
        reasons.append("it is no Hopper GPU")
    elif nvrtc() is None:
        reasons.append("NVRTC, their compiler, is not installed: pip install nvidia-cuda-nvrtc")
    if not common.is_16_bit or common.width not in (64, 128):
        reasons.append("they need 16-bit numbers and heads of width 64 or 128")
    if call.visibility.lengths_h is not None or call.softcap or common.left != FAR:
        reasons.append("they know no lengths, softcap or window")
    return reasons


@cache
def _is_hopper(index: int) -> bool:
    return bool(torch.cuda.get_device_capability(index)[0] == 9)


def cdiv(a: int, b: int) -> int:
    """The quotient rounded up.

    >>> cdiv(5, 2)
    3
    """
    return -(-a // b)


class HopperSizes(NamedTuple):
    """Sizes of a call on Hopper: calls of the same sizes share kernels and the plan of buffers.

    ``live`` says that every query sees a key.
    """

    dtype: torch.dtype
    width: int
    queries: int
    keys: int
    heads: int
    group: int
    right: int
    factor: float
    live: bool
    device_index: int

    @property
    def padded(self) -> int:
        """Queries, rounded up to tiles."""
        return cdiv(self.queries, TILE) * TILE

    @property
    def pairs(self) -> int:
        """Pairs of tiles of 64 queries, over all heads."""
        return self.padded // TILE * self.heads

    @property
    def programs(self) -> int:
        """The number of programs that share a head's keys, one block of them at a time each."""
        most = PROGRAMS if self.padded <= 2**17 else PROGRAMS // 4
        return min(cdiv(self.keys, BLOCK), most)

    def kernels(self, name: str, **macros: Any) -> Module:
        """The kernels of a .cu file, compiled for this dtype and width."""
        kind = "bf16" if self.dtype == torch.bfloat16 else "f16"
        macros |= {"WIDTH": self.width, "DTYPE": f'"{kind}"'}
        return module(name, self.device_index, *macros.items())

    def tiles(self, number: int) -> int:
        """Bytes of this many tiles."""
        return number * TILE * self.width * 2


class HopperCall:
    """A call on Hopper: tensor maps of query and key, and a padded buffer for the log-sum-exp."""

    def __init__(self, common: CommonArguments, live: bool) -> None:
        self.common = common
        self.query_hqd, self.key_gkd = (
            _aligned(x) for x in (common.call.query_hqd, common.call.key_gkd)
        )
        self.sizes = HopperSizes(
            self.query_hqd.dtype, common.width, common.queries, common.keys, common.heads,
            common.group, min(common.right, FAR), common.factor, live,
            common.call.device.index or 0,
        )  # fmt: skip
        self.maps = tensor_map(self.query_hqd, TILE), tensor_map(self.key_gkd, TILE)
        self.minus_hq = common.empty(self.sizes.padded)


def _aligned(tensor: Tensor) -> Tensor:
    """The tensor, copied if a row's address is no multiple of 16 bytes, as the copy engine needs.

    Heads and tokens may lie in any order: a model's own layout is taken as it is.
    """
    if not tensor.data_ptr() % 16 and _has_aligned_rows(tensor.shape, tensor.stride()):
        return tensor
    copied = tensor.contiguous()
    return copied.clone() if copied.data_ptr() % 16 else copied


@lru_cache(maxsize=512)
def _has_aligned_rows(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    steps = [step for step, size in zip(strides, shape, strict=True) if size > 1]
    dense = strides[-1] == 1 and min(steps, default=1) > 0
    return dense and not any(step % 8 for step in strides[:2])


def addresses(*tensors: Tensor) -> list[int]:
    """The device addresses of tensors."""
    return [tensor.data_ptr() for tensor in tensors]


BestArguments = structure(
    maps="query key", pointers="minus threshold weights best_keys",
    ints="queries keys heads group right", floats="factor",
)  # fmt: skip


def best_keys_on_hopper(
    hopper: HopperCall, facts: FactTensors, threshold_hq: Tensor, top: int
) -> None:
    """The best keys of each query, by the thresholds of sum_columns_on_hopper."""
    common, sizes = hopper.common, hopper.sizes
    facts.weights_hqn = common.empty(common.queries, top)
    facts.keys_hqn = common.empty(common.queries, top, dtype=torch.int64)
    lists = BLOCK * 4 * top * 8  # of 4 threads for each query, in the queries' memory
    shared = max(sizes.tiles(2), lists) + sizes.tiles(3) + 2**10
    kernels = sizes.kernels("best", TOP=top, SHARED=shared, ARGUMENTS=ctypes.sizeof(BestArguments))
    buffers = hopper.minus_hq, threshold_hq, facts.weights_hqn, facts.keys_hqn
    kernels.launch("best", (cdiv(common.queries, BLOCK) * common.heads, 1), THREADS, BestArguments(
        *hopper.maps, *addresses(*buffers), common.queries, common.keys,
        common.heads, common.group, sizes.right, common.factor,
    ), shared=shared)  # fmt: skip


BUSY = 528  # blocks of threads that keep a GPU busy


DistanceArguments = structure(
    maps="query key", pointers="minus partial",
    ints="queries keys heads group right lowest highest number segments tiles", floats="factor",
)  # fmt: skip


def sum_distances_on_hopper(hopper: HopperCall) -> Tensor:
    """Weights summed by key - query, ascending, (h, queries + keys - 1)."""
    common, sizes = hopper.common, hopper.sizes
    rows, columns = cdiv(common.queries, TILE), cdiv(common.keys, TILE)
    highest, number = rows - 1, rows + columns - 1
    lowest = max(1 - columns, -((TILE - 1 + sizes.right) // TILE))
    walks = cdiv(max(0, highest - lowest + 1), 2) * common.heads
    tiles = cdiv(rows, min(cdiv(BUSY, max(1, walks)), cdiv(rows, 8)))
    segments = cdiv(rows, tiles)
    shape = (common.heads, segments, number, 2 * TILE)
    partial_hsn = torch.zeros(shape, device=hopper.minus_hq.device)
    shared = sizes.tiles(6) + 2**12 if common.width == TILE else 2 * TILE * (TILE + 1) * 4 + 2**12
    kernels = sizes.kernels("distances", SHARED=shared, ARGUMENTS=ctypes.sizeof(DistanceArguments))
    if walks:
        kernels.launch("distances", (walks * segments, 1), THREADS, DistanceArguments(
            *hopper.maps, hopper.minus_hq.data_ptr(), partial_hsn.data_ptr(), common.queries,
            common.keys, common.heads, common.group, sizes.right, lowest, highest, number,
            segments, tiles, common.factor,
        ), shared=shared)  # fmt: skip
    return join_distances(partial_hsn, highest, common.queries, common.keys)
