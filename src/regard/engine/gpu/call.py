"""One call of attention on a device: validated arguments, and whether kernels can serve it."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from regard.engine.backends import reasons_against_triton
from regard.engine.tensors import Tensor, as_array, is_tensor, tensor_to_array
from regard.engine.tiles.arguments import prepare, prepare_shapes
from regard.engine.tiles.problem import Problem
from regard.engine.tiles.rows import Requested
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, ShapeError
from regard.textbook.options import AttentionOptions, with_defaults

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True)
class DeviceCall:
    """Checked tensors with one axis of heads, h for queries and g for keys and values.

    ``visibility`` holds band, lengths and a mask that is a function; ``mask`` is a mask of values,
    broadcast to (..., h, q, k) without a copy.
    """

    query_hqd: Tensor
    key_gkd: Tensor
    value_gkv: Tensor
    leading: tuple[int, ...]
    visibility: Visibility
    mask: Tensor | None
    scale: float
    softcap: float | None
    options: AttentionOptions = field(repr=False)

    @property
    def heads(self) -> int:
        """The number of heads over every leading axis."""
        return int(self.query_hqd.shape[0])

    @property
    def group(self) -> int:
        """The number of query heads that share one key head."""
        return self.heads // max(1, int(self.key_gkd.shape[0]))

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.query_hqd.device

    @property
    def compute_dtype(self) -> torch.dtype:
        """float64 for float64 input; anything else is summed in float32."""
        return torch.float64 if self.query_hqd.dtype == torch.float64 else torch.float32

    @property
    def key_leading(self) -> tuple[int, ...]:
        """The caller's leading axes of key and value."""
        return (*self.leading[:-1], self.leading[-1] // self.group) if self.leading else ()

    @property
    def all_live(self) -> bool:
        """Whether every query surely sees a key: nothing but a causal mask, offset at least 0."""
        visibility = self.visibility
        bare = self.mask is None and visibility.mask is None and visibility.lengths_h is None
        reaches = visibility.right is None or visibility.right + visibility.offset >= 0
        return bare and visibility.left is None and reaches and visibility.keys > 0

    def key_heads(self, heads: slice) -> Tensor:
        """The key head of each of these query heads."""
        return torch.arange(heads.start, heads.stop, device=self.device) // self.group

    def mask_tile(self, heads: slice, rows: slice, columns: slice) -> Tensor:
        """A rectangle (h, q, k) of a mask of values."""
        mask: Any = self.mask
        indices = [np.unravel_index(h, self.leading) for h in range(heads.start, heads.stop)]
        tiles = [mask[tuple(map(int, index))][rows, columns] for index in indices]
        return torch.stack(tiles)

    def problem(self, heads: slice, rows: slice, columns: slice) -> Problem:
        """A rectangle of the call as a problem on the host; nothing else is copied."""
        query = as_array(self.query_hqd[heads, rows])[:, None]
        key = as_array(self.key_gkd[self.key_heads(heads)][:, columns])[:, None]
        visibility = self.visibility.part(rows, columns)
        mask: Any = visibility.mask
        if self.mask is not None:
            mask = as_array(self.mask_tile(heads, rows, columns))[:, None]
        return prepare(
            query,
            key,
            np.zeros((*key.shape[:-1], 0), key.dtype),
            mask=mask,
            offset=visibility.offset,
            window=(visibility.left, visibility.right),
            softcap=self.softcap,
            scale=self.scale,
            lengths=None if visibility.lengths_h is None else visibility.lengths_h[heads],
        )

    def full_problem(self) -> Problem:
        """The call with all of query and key copied to the host, in the caller's axes."""
        key = as_array(self.key_gkd.reshape(*self.key_leading, *self.key_gkd.shape[1:]))
        query = as_array(self.query_hqd.reshape(*self.leading, *self.query_hqd.shape[1:]))
        return prepare(query, key, np.zeros((*key.shape[:-1], 0), key.dtype), **self.options)

    def pairs(self) -> int:
        """The number of visible (query, key) pairs of all heads, counted from the band alone."""
        visibility = self.visibility
        pairs = visibility.queries * visibility.keys
        if visibility.right is not None:
            pairs = _pairs_up_to(visibility, visibility.right)
        if visibility.left is not None:
            pairs -= _pairs_up_to(visibility, -visibility.left - 1)
        return self.heads * max(0, pairs)


def _pairs_up_to(visibility: Visibility, bound: int) -> int:
    """The number of pairs with key <= query + offset + bound, by two triangles.

    >>> _pairs_up_to(Visibility((1,), queries=3, keys=3), 0)
    6
    """

    def triangle(last: int) -> int:
        """The sum of t, clipped to 0 ... keys, over all t up to last."""
        inside = min(max(last, 0), visibility.keys)
        return inside * (inside + 1) // 2 + max(0, last - visibility.keys) * visibility.keys

    first = visibility.offset + bound
    return triangle(first + visibility.queries) - triangle(first)


def device_call(query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> DeviceCall:
    """A validated call; errors read as those of the host."""
    tensors, mask = (query, key, value), options["mask"]
    visibility, scale, softcap = _validated(tensors, options)
    query_hqd, key_gkd, value_gkv = (
        x.detach().reshape(math.prod(x.shape[:-2]), *x.shape[-2:]) for x in tensors
    )
    values = mask is not None and not callable(mask)
    return DeviceCall(
        query_hqd=query_hqd,
        key_gkd=key_gkd,
        value_gkv=value_gkv,
        leading=visibility.leading,
        visibility=visibility,
        mask=broadcast_mask(mask, visibility, query.device) if values else None,
        scale=scale,
        softcap=softcap,
        options=options,
    )


class TensorKind(NamedTuple):
    """As much of a tensor as can be validated without its numbers."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


NUMBERS = (int, float, np.number, np.bool_)
Validated = tuple[Visibility, float, float | None]


def _validated(tensors: tuple[Tensor, ...], options: AttentionOptions) -> Validated:
    """Visibility, scale and softcap; where only shapes decide, those of an earlier call."""
    kinds = tuple(TensorKind(x.shape, x.dtype) for x in tensors)
    window = options["window"]
    sides = (None, None) if window is None else window
    plain = options["mask"] is None and options["lengths"] is None
    if plain and isinstance(sides, tuple) and len(sides) == 2:
        numbers = options["causal"], options["offset"], options["softcap"], options["scale"], *sides
        if all(x is None or isinstance(x, NUMBERS) for x in numbers):
            return _validated_before(*kinds, *numbers)
    return _validate(kinds, options)


@lru_cache(maxsize=512, typed=True)
def _validated_before(
    query: TensorKind, key: TensorKind, value: TensorKind, causal: Any, offset: Any, *numbers: Any
) -> Validated:
    softcap, scale, *window = numbers
    given = {"causal": causal, "offset": offset, "softcap": softcap, "scale": scale}
    return _validate((query, key, value), with_defaults(**given, window=tuple(window)))


def _validate(kinds: tuple[TensorKind, ...], options: AttentionOptions) -> Validated:
    named: dict[str, Any] = dict(zip(("query", "key", "value"), kinds, strict=True))
    _check_dtypes(named)
    plain = options | {"lengths": tensor_to_array(options["lengths"])}
    if not callable(options["mask"]):
        plain["mask"] = None  # its values are broadcast where they lie
    return prepare_shapes(named, plain)


def _check_dtypes(tensors: dict[str, Any]) -> None:
    for name, tensor in tensors.items():
        if tensor.dtype not in DTYPES or tensor.dtype != tensors["query"].dtype:
            raise ArgumentError(
                f"{name} needs float16, bfloat16, float32 or float64 values, the same for query, "
                f"key and value, but its dtype is {tensor.dtype}: write {name}.float()."
            )


def broadcast_mask(mask: Any, visibility: Visibility, device: torch.device) -> Tensor:
    """A mask of values on the device, broadcast to (h, q, k) without a copy."""
    tensor = mask if is_tensor(mask) else torch.as_tensor(np.asarray(mask))
    if tensor.dtype != torch.bool and not tensor.is_floating_point():
        raise ArgumentError(
            "mask needs bool values (True = may look) or float values (added to the scores), "
            f"but its dtype is {tensor.dtype}: write mask.bool()."
        )
    shape = (*visibility.leading, visibility.queries, visibility.keys)
    try:
        return torch.broadcast_to(tensor.to(device), shape)
    except RuntimeError:
        raise ShapeError(
            f"mask needs a shape that broadcasts to {shape}, but its shape is "
            f"{tuple(tensor.shape)}."
        ) from None


WIDEST = 256
MOST_BEST = 16


@cache
def _reasons_against_triton() -> tuple[str, ...]:
    """Cached, since the search for a package takes as long as a short kernel."""
    return tuple(reasons_against_triton())


def reasons_against_kernels(call: DeviceCall, requested: Requested) -> list[str]:
    """Reasons why this call goes to chunks in torch instead; empty where kernels serve."""
    reasons = list(_reasons_against_triton())
    if call.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        reasons.append(f"kernels need a CUDA device, but the tensors are on {call.device}")
    if call.mask is not None or call.visibility.mask is not None:
        reasons.append("a mask is given; kernels know causal, offset, window and lengths")
    if call.query_hqd.dtype == torch.float64:
        reasons.append("kernels compute in float32, but the tensors are float64")
    width = max(call.query_hqd.shape[-1], call.value_gkv.shape[-1])
    if width > WIDEST or call.query_hqd.shape[-1] < 1:
        reasons.append(f"kernels serve heads of width 1 to {WIDEST}, but here is {width}")
    if requested.top > MOST_BEST:
        reasons.append(f"kernels keep at most {MOST_BEST} best keys, but top is {requested.top}")
    if not (call.query_hqd.numel() and call.key_gkd.numel()):
        reasons.append("there are no queries or no keys")
    scalars = (call.scale, call.softcap or 1.0, call.scale / (call.softcap or 1.0))
    if not all(1e-9 < number < 1e9 for number in scalars):
        reasons.append("scale or softcap is outside 1e-9 to 1e9")
    return reasons
