"""One rank's slice of a sequence, for arrays on the CPU and tensors on a GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from regard.engine.call import Extent, Problem, build_problem, measure_extent
from regard.engine.gpu.call import DeviceCall, broadcast_mask, device_call
from regard.engine.ring.layout import Chunk, Layout
from regard.engine.tensors import as_array, tensor_to_array
from regard.engine.tiles.plan import choose, cost
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError
from regard.textbook.options import DEFAULT_OPTIONS, AttentionOptions
from regard.typing import Array


@dataclass(frozen=True)
class RankSlice:
    """One rank's arrays, in a problem with the visibility of the whole sequence."""

    problem: Problem
    queries: Layout
    keys: Layout
    rank: int

    @property
    def ranks(self) -> int:
        return len(self.keys.ranks)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.problem.dtype

    @property
    def previous_rank(self) -> int:
        return (self.rank - 1) % self.ranks

    @property
    def next_rank(self) -> int:
        return (self.rank + 1) % self.ranks

    @property
    def chunks(self) -> list[Chunk]:
        """This rank's chunks of queries, empty ones left out."""
        return [x for x in self.queries.ranks[self.rank] if x.local.stop > x.local.start]

    @property
    def others(self) -> list[int]:
        return [rank for rank in range(self.ranks) if rank != self.rank]

    @property
    def distances(self) -> int:
        return max(0, self.queries.tokens + self.keys.tokens - 1)

    def source_rank(self, step: int) -> int:
        """The rank whose slice arrives at a step of the ring; at step 0 this one."""
        return (self.rank - step) % self.ranks

    def visible_chunks(self, query_rank: int, key_rank: int) -> Iterator[tuple[Chunk, Chunk]]:
        """Pairs of chunks, of one rank's queries and another's keys, with any visible pair."""
        for rows in self.queries.ranks[query_rank]:
            for columns in self.keys.ranks[key_rank]:
                visibility = self.problem.visibility.part(rows.sequence, columns.sequence)
                every = slice(0, self.problem.heads), slice(0, visibility.queries)
                reach = visibility.reach(*every)
                if visibility.queries and reach.stop > reach.start:
                    yield rows, columns

    def flops(self, query_rank: int, key_rank: int, value_gkv: Array) -> int:
        """Products of one rank's queries with another's keys, and values of this width."""
        query_hqd, key_gkd = self.problem.query_hqd, self.problem.key_gkd
        parts = [
            self.subproblem(*chunks, query_hqd, key_gkd, value_gkv)
            for chunks in self.visible_chunks(query_rank, key_rank)
        ]
        return sum(cost(part, choose(part, False)).flops for part in parts)

    def visibilities(self) -> tuple[Visibility, ...]:
        """The visibility of each chunk of this rank's keys to all queries."""
        every, full = slice(0, self.queries.tokens), self.problem.visibility
        return tuple(full.part(every, x.sequence) for x in self.keys.ranks[self.rank])

    def subproblem(
        self, rows: Chunk, columns: Chunk, query_hqd: Array, key_gkd: Array, value_gkv: Array
    ) -> Problem:
        """The problem of one chunk of queries and one chunk of keys."""
        return replace(
            self.problem,
            query_hqd=query_hqd[:, rows.local],
            key_gkd=key_gkd[:, columns.local],
            value_gkv=value_gkv[:, columns.local],
            visibility=self.problem.visibility.part(rows.sequence, columns.sequence),
        )

    def empty_value(self) -> Array:
        """Values of width 0, for passes that need only keys."""
        return np.zeros((*self.problem.key_gkd.shape[:-1], 0), self.problem.dtype)


@dataclass(frozen=True)
class DeviceRankSlice(RankSlice):
    """As RankSlice; ``problem`` is a DeviceCall with visibility and mask of the whole sequence."""

    @property
    def dtype(self) -> np.dtype[Any]:
        call: Any = self.problem
        return np.dtype(np.float64 if call.compute_dtype == torch.float64 else np.float32)

    def subproblem(
        self, rows: Chunk, columns: Chunk, query_hqd: Any, key_gkd: Any, value_gkv: Any
    ) -> Any:
        """The DeviceCall of one chunk of queries and one chunk of keys."""
        part: Any = super().subproblem(rows, columns, query_hqd, key_gkd, value_gkv)
        if part.mask is None:
            return part
        return replace(part, mask=part.mask[..., rows.sequence, columns.sequence])

    def visibilities(self) -> tuple[Visibility, ...]:
        full: Any = self.problem
        if full.mask is None:
            return super().visibilities()
        masks = [as_array(full.mask[..., x.sequence]) for x in self.keys.ranks[self.rank]]
        pairs = zip(super().visibilities(), masks, strict=True)
        return tuple(replace(visibility, mask=mask) for visibility, mask in pairs)

    def flops(self, query_rank: int, key_rank: int, value_gkv: Any) -> int:
        full: Any = self.problem
        arrays = full.query_hqd, full.key_gkd, full.value_gkv
        chunks = self.visible_chunks(query_rank, key_rank)
        parts = [self.subproblem(*pair, *arrays) for pair in chunks]
        width = full.key_gkd.shape[-1] + value_gkv.shape[-1]
        return sum(2 * width * part.pairs() for part in parts)

    def empty_value(self) -> Any:
        return self.problem.key_gkd[..., :0]


def measure_device_extent(tensors: dict[str, Any]) -> Extent:
    """The extent of validated tensors; magnitudes are not needed on a device."""
    call = device_call(tensors["query"], tensors["key"], tensors["value"], DEFAULT_OPTIONS)
    for name, tensor in tensors.items():
        bad = ~tensor.isfinite()
        if bool(bad.any()):
            position = [int(i) for i in bad.nonzero()[0]]
            raise ArgumentError(
                f"{name} must be finite numbers, got {float(tensor[tuple(position)])} at "
                f"{position}. If it stands for padding, use lengths or mask instead."
            )
    sizes = dict.fromkeys(tensors, 0.0)
    dtype = np.dtype(np.float64 if call.compute_dtype == torch.float64 else np.float32)
    return Extent(dtype, call.leading, call.visibility.queries, call.visibility.keys, sizes)


def sequence_call(tensors: dict[str, Any], extent: Extent, options: AttentionOptions) -> DeviceCall:
    """This rank's tensors in a call that is validated with the sizes of the sequence."""
    tokens = {"query": extent.queries, "key": extent.keys, "value": extent.keys}
    shapes = {x: (*t.shape[:-2], tokens[x], t.shape[-1]) for x, t in tensors.items()}
    # Tensors without memory: only their shapes are read.
    query, key, value = (
        torch.empty(shapes[x], dtype=t.dtype, device="meta") for x, t in tensors.items()
    )
    mask = options["mask"]
    values = mask is not None and not callable(mask)
    checked = device_call(query, key, value, options | {"mask": None} if values else options)
    flat = [t.detach().reshape(math.prod(t.shape[:-2]), *t.shape[-2:]) for t in tensors.values()]
    return replace(
        checked,
        query_hqd=flat[0],
        key_gkd=flat[1],
        value_gkv=flat[2],
        mask=broadcast_mask(mask, checked.visibility, flat[0].device) if values else None,
    )


Arrays = dict[str, Any]


@dataclass(frozen=True)
class ArrayKind:
    """Functions that differ between arrays on the CPU and tensors on a GPU."""

    convert: Callable[[Any], Any]
    convert_option: Callable[[Any], Any]  # a mask or lengths
    measure_extent: Callable[[Arrays], Extent]
    build: Callable[[Arrays, Extent, AttentionOptions], Any]
    rank_slice: type[RankSlice]


ON_CPU = ArrayKind(as_array, tensor_to_array, measure_extent, build_problem, RankSlice)
ON_DEVICE = ArrayKind(
    lambda x: x, lambda x: x, measure_device_extent, sequence_call, DeviceRankSlice
)
