"""What one rank holds where its tensors lie on a GPU."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from regard.errors import ArgumentError
from regard.self_attention.backends.device.call import Call, broadcast_mask, call
from regard.self_attention.backends.ring.layout import Chunk
from regard.self_attention.backends.ring.share import Share
from regard.self_attention.backends.tensors import as_array
from regard.self_attention.tiles.arguments import Extent
from regard.self_attention.tiles.sight import Sight


@dataclass(frozen=True)
class DeviceShare(Share):
    """As Share; ``problem`` is a Call, whose sight and mask are those of the whole sequence."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What facts are given in."""
        call: Any = self.problem
        return np.dtype(np.float64 if call.compute_dtype == torch.float64 else np.float32)

    def part(
        self, rows: Chunk, columns: Chunk, query_hqd: Any, key_gkd: Any, value_gkv: Any
    ) -> Call:
        """The call in which some queries meet some keys."""
        whole: Any = self.problem
        mask = whole.mask
        part: Call = replace(
            whole,
            query_hqd=query_hqd[:, rows.here],
            key_gkd=key_gkd[:, columns.here],
            value_gkv=value_gkv[:, columns.here],
            sight=whole.sight.part(rows.there, columns.there),
            mask=None if mask is None else mask[..., rows.there, columns.there],
        )
        return part

    def sights(self) -> tuple[Sight, ...]:
        """What all queries see of each chunk of this rank's keys; a mask of values is moved."""
        whole: Any = self.problem
        if whole.mask is None:
            return super().sights()
        masks = [as_array(whole.mask[..., x.there]) for x in self.keys.ranks[self.rank]]
        pairs = zip(super().sights(), masks, strict=True)
        return tuple(replace(sight, mask=mask) for sight, mask in pairs)

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


def measure_on_device(tensors: dict[str, Any], arguments: dict[str, Any]) -> Extent:
    """Check this rank's tensors alone."""
    alone = dict.fromkeys(arguments) | {"causal": False}
    here = call(tensors["query"], tensors["key"], tensors["value"], alone)
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
    return Extent(dtype, here.leading, here.sight.queries, here.sight.keys, sizes)


def whole_call(tensors: dict[str, Any], whole: Extent, arguments: dict[str, Any]) -> Call:
    """This rank's tensors in a call that is checked as one of the whole sequence would be."""
    tokens = {"query": whole.queries, "key": whole.keys, "value": whole.keys}
    shapes = {x: (*t.shape[:-2], tokens[x], t.shape[-1]) for x, t in tensors.items()}
    # Tensors without memory: only their shapes are looked at.
    query, key, value = (
        torch.empty(shapes[x], dtype=t.dtype, device="meta") for x, t in tensors.items()
    )
    mask = arguments["mask"]
    values = mask is not None and not callable(mask)
    checked = call(query, key, value, arguments | {"mask": None} if values else arguments)
    flat = [t.detach().reshape(math.prod(t.shape[:-2]), *t.shape[-2:]) for t in tensors.values()]
    return replace(
        checked,
        query_hqd=flat[0],
        key_gkd=flat[1],
        value_gkv=flat[2],
        mask=broadcast_mask(mask, checked.sight, flat[0].device) if values else None,
    )
