"""One rank's slice of a call, for arrays on the CPU and tensors on a GPU."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from regard.engine.gpu.call import DeviceCall, broadcast_mask, device_call
from regard.engine.ring.token_layout import Chunk, Layout
from regard.engine.tensors import as_array, tensor_to_array
from regard.engine.tiles.arguments import (
    DEFAULT_OPTIONS,
    AttentionOptions,
    Extent,
    build_problem,
    extent_of,
)
from regard.engine.tiles.plan import choose, cost
from regard.engine.tiles.problem import Problem
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError
from regard.typing import Array


@dataclass(frozen=True)
class Share:
    """This rank's arrays, in a problem whose visibility is that of the whole sequence."""

    problem: Problem
    queries: Layout
    keys: Layout
    rank: int

    @property
    def ranks(self) -> int:
        """How many ranks share the sequence."""
        return len(self.keys.ranks)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What facts are given in."""
        return self.problem.dtype

    @property
    def left(self) -> int:
        """Whose letters this rank receives."""
        return (self.rank - 1) % self.ranks

    @property
    def right(self) -> int:
        """Who receives this rank's letters."""
        return (self.rank + 1) % self.ranks

    @property
    def chunks(self) -> list[Chunk]:
        """This rank's chunks of queries, empty ones left out."""
        return [x for x in self.queries.ranks[self.rank] if x.here.stop > x.here.start]

    @property
    def others(self) -> list[int]:
        """Every rank but this one."""
        return [rank for rank in range(self.ranks) if rank != self.rank]

    @property
    def distances(self) -> int:
        """How many distances there are between a query and a key."""
        return max(0, self.queries.tokens + self.keys.tokens - 1)

    def visitor(self, step: int) -> int:
        """Whose slice visits this rank at a step of the ring; at step 0 its own."""
        return (self.rank - step) % self.ranks

    def meetings(self, asking: int, answering: int) -> Iterator[tuple[Chunk, Chunk]]:
        """The chunks of one rank's queries and another's keys, where any sees any."""
        for rows in self.queries.ranks[asking]:
            for columns in self.keys.ranks[answering]:
                visibility = self.problem.visibility.part(rows.there, columns.there)
                every = slice(0, self.problem.heads), slice(0, visibility.queries)
                reach = visibility.reach(*every)
                if visibility.queries and reach.stop > reach.start:
                    yield rows, columns

    def flops(self, asking: int, answering: int, value_gkv: Array) -> int:
        """Products in which one rank's queries meet another's keys, and values of this width."""
        query_hqd, key_gkd = self.problem.query_hqd, self.problem.key_gkd
        parts = [
            self.between(*chunks, query_hqd, key_gkd, value_gkv)
            for chunks in self.meetings(asking, answering)
        ]
        return sum(cost(part, choose(part, False)).flops for part in parts)

    def visibilities(self) -> tuple[Visibility, ...]:
        """What all queries see of each chunk of this rank's keys."""
        every, whole = slice(0, self.queries.tokens), self.problem.visibility
        return tuple(whole.part(every, x.there) for x in self.keys.ranks[self.rank])

    def between(
        self, rows: Chunk, columns: Chunk, query_hqd: Array, key_gkd: Array, value_gkv: Array
    ) -> Problem:
        """The call in which one chunk of queries meets one chunk of keys."""
        return replace(
            self.problem,
            query_hqd=query_hqd[:, rows.here],
            key_gkd=key_gkd[:, columns.here],
            value_gkv=value_gkv[:, columns.here],
            visibility=self.problem.visibility.part(rows.there, columns.there),
        )

    def without_value(self) -> Array:
        """Values of width 0, for where only keys are needed."""
        return np.zeros((*self.problem.key_gkd.shape[:-1], 0), self.problem.dtype)


@dataclass(frozen=True)
class DeviceShare(Share):
    """As Share; ``problem`` is a DeviceCall with visibility and mask of the whole sequence."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What facts are given in."""
        call: Any = self.problem
        return np.dtype(np.float64 if call.compute_dtype == torch.float64 else np.float32)

    def part(
        self, rows: Chunk, columns: Chunk, query_hqd: Any, key_gkd: Any, value_gkv: Any
    ) -> DeviceCall:
        """The call in which some queries meet some keys."""
        whole: Any = self.problem
        mask = whole.mask
        part: DeviceCall = replace(
            whole,
            query_hqd=query_hqd[:, rows.here],
            key_gkd=key_gkd[:, columns.here],
            value_gkv=value_gkv[:, columns.here],
            visibility=whole.visibility.part(rows.there, columns.there),
            mask=None if mask is None else mask[..., rows.there, columns.there],
        )
        return part

    def visibilities(self) -> tuple[Visibility, ...]:
        """What all queries see of each chunk of this rank's keys; a mask of values is moved."""
        whole: Any = self.problem
        if whole.mask is None:
            return super().visibilities()
        masks = [as_array(whole.mask[..., x.there]) for x in self.keys.ranks[self.rank]]
        pairs = zip(super().visibilities(), masks, strict=True)
        return tuple(replace(visibility, mask=mask) for visibility, mask in pairs)

    def flops(self, asking: int, answering: int, value_gkv: Any) -> int:
        """Products in which one rank's queries meet another's keys, and values of this width."""
        whole: Any = self.problem
        arrays = whole.query_hqd, whole.key_gkd, whole.value_gkv
        parts = [self.part(*chunks, *arrays) for chunks in self.meetings(asking, answering)]
        width = whole.key_gkd.shape[-1] + value_gkv.shape[-1]
        return sum(2 * width * part.pairs() for part in parts)

    def without_value(self) -> Any:
        """Values of width 0, for where only keys are needed."""
        return self.problem.key_gkd[..., :0]


def device_extent_of(tensors: dict[str, Any]) -> Extent:
    """Check this rank's tensors alone."""
    here = device_call(tensors["query"], tensors["key"], tensors["value"], DEFAULT_OPTIONS)
    for name, tensor in tensors.items():
        bad = ~tensor.isfinite()
        if bool(bad.any()):
            place = [int(i) for i in bad.nonzero()[0]]
            raise ArgumentError(
                f"{name} has {float(tensor[tuple(place)])} at {place}: attention needs finite "
                "numbers. If it stands for padding, use lengths or mask instead."
            )
    sizes = dict.fromkeys(tensors, 0.0)
    dtype = np.dtype(np.float64 if here.compute_dtype == torch.float64 else np.float32)
    return Extent(dtype, here.leading, here.visibility.queries, here.visibility.keys, sizes)


def whole_call(tensors: dict[str, Any], whole: Extent, options: AttentionOptions) -> DeviceCall:
    """This rank's tensors in a call that is checked as one of the whole sequence would be."""
    tokens = {"query": whole.queries, "key": whole.keys, "value": whole.keys}
    shapes = {x: (*t.shape[:-2], tokens[x], t.shape[-1]) for x, t in tensors.items()}
    # Tensors without memory: only their shapes are looked at.
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
class Kind:
    """What differs between them; the ring itself does not ask."""

    taken: Callable[[Any], Any]
    beside: Callable[[Any], Any]  # a mask or lengths
    extent_of: Callable[[Arrays], Extent]
    build: Callable[[Arrays, Extent, AttentionOptions], Any]
    share: type[Share]


ON_CPU = Kind(as_array, tensor_to_array, extent_of, build_problem, Share)


ON_DEVICE = Kind(lambda x: x, lambda x: x, device_extent_of, whole_call, DeviceShare)
