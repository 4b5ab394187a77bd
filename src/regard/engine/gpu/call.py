"""One call of attention on a device: validated arguments, and whether kernels can serve it.

Numbers are checked later: the checks run on the device and raise when a result is first read.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
import torch

from regard.engine.call import Problem, Requested, prepare, prepare_shapes
from regard.engine.tensors import (
    Tensor,
    as_array,
    is_tensor,
    reasons_against_triton,
    tensor_to_array,
)
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, NotFiniteError, ShapeError
from regard.textbook.options import AttentionOptions, with_defaults

TORCH_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


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
        return int(self.query_hqd.shape[0])

    @property
    def group(self) -> int:
        return self.heads // max(1, int(self.key_gkd.shape[0]))

    @property
    def device(self) -> torch.device:
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
        return len(self.shape)


NUMBER_TYPES = (int, float, np.number, np.bool_)
Validated = tuple[Visibility, float, float | None]


def _validated(tensors: tuple[Tensor, ...], options: AttentionOptions) -> Validated:
    """Visibility, scale and softcap; where only shapes decide, those of an earlier call."""
    kinds = tuple(TensorKind(x.shape, x.dtype) for x in tensors)
    window = options["window"]
    sides = (None, None) if window is None else window
    plain = options["mask"] is None and options["lengths"] is None
    if plain and isinstance(sides, tuple) and len(sides) == 2:
        numbers = options["causal"], options["offset"], options["softcap"], options["scale"], *sides
        if all(x is None or isinstance(x, NUMBER_TYPES) for x in numbers):
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
        if tensor.dtype not in TORCH_DTYPES or tensor.dtype != tensors["query"].dtype:
            raise ArgumentError(
                f"{name} must have dtype float16, bfloat16, float32 or float64, the same for "
                f"query, key and value, got {tensor.dtype}: write {name}.float()."
            )


def broadcast_mask(mask: Any, visibility: Visibility, device: torch.device) -> Tensor:
    """A mask of values on the device, broadcast to (h, q, k) without a copy."""
    tensor = mask if is_tensor(mask) else torch.as_tensor(np.asarray(mask))
    if tensor.dtype != torch.bool and not tensor.is_floating_point():
        raise ArgumentError(
            "mask must be bool (True = may look) or float (added to the scores), "
            f"got dtype {tensor.dtype}: write mask.bool()."
        )
    shape = (*visibility.leading, visibility.queries, visibility.keys)
    try:
        return torch.broadcast_to(tensor.to(device), shape)
    except RuntimeError:
        raise ShapeError(
            f"mask must have a shape that broadcasts to {shape}, got {tuple(tensor.shape)}."
        ) from None


MAX_HEAD_WIDTH = 256
MAX_TOP = 16


@cache  # the search for a package takes as long as a short kernel
def _reasons_against_triton() -> tuple[str, ...]:
    return tuple(reasons_against_triton())


def reasons_against_device(device: torch.device) -> list[str]:
    """Reasons why no kernel runs here, or not on this device."""
    reasons = list(_reasons_against_triton())
    if device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        reasons.append(f"kernels need a CUDA device, but the tensors are on {device}")
    return reasons


def reasons_against_kernels(call: DeviceCall, requested: Requested) -> list[str]:
    """Reasons why this call goes to chunks in torch instead; empty where kernels serve."""
    reasons = reasons_against_device(call.device)
    if call.mask is not None or call.visibility.mask is not None:
        reasons.append("a mask is given; kernels know causal, offset, window and lengths")
    if call.query_hqd.dtype == torch.float64:
        reasons.append("kernels compute in float32, but the tensors are float64")
    width = max(call.query_hqd.shape[-1], call.value_gkv.shape[-1])
    if width > MAX_HEAD_WIDTH or call.query_hqd.shape[-1] < 1:
        reasons.append(f"kernels serve heads of width 1 to {MAX_HEAD_WIDTH}, but here is {width}")
    if requested.top > MAX_TOP:
        reasons.append(f"kernels keep at most {MAX_TOP} best keys, but top is {requested.top}")
    if not (call.query_hqd.numel() and call.key_gkd.numel()):
        reasons.append("there are no queries or no keys")
    scalars = (call.scale, call.softcap or 1.0, call.scale / (call.softcap or 1.0))
    if not all(1e-9 < number < 1e9 for number in scalars):
        reasons.append("scale or softcap is outside 1e-9 to 1e9")
    return reasons


MAX_ROW_SUM = 1.01  # of a row's weights, by a log-sum-exp that the caller brought
OTHER_SCORES_MESSAGE = (
    "logsumexp does not belong to these scores: a row's weights would sum to {:.3g}. It must be "
    "natural (multiply a base-2 one by ln 2 = 0.6931) and made with the same scale and masks."
)


class FirstNonFinite(NamedTuple):
    """The first NaN or infinity of an array, if any: flat index and number, as device tensors."""

    name: str
    shape: tuple[int, ...]
    index: Tensor
    number: Tensor
    stacked: int = 0  # leading axes that the error does not name

    @classmethod
    def search(
        cls, name: str, tensor: Tensor, leading: tuple[int, ...], stacked: int
    ) -> FirstNonFinite:
        index = (tensor * 0).argmax()  # nan and infinity times 0 are nan, the largest to argmax
        return cls(name, (*leading, *tensor.shape[1:]), index, tensor.take(index), stacked)

    def raise_error(self) -> None:
        number = float(self.number)
        if not math.isfinite(number):
            position = [int(i) for i in np.unravel_index(int(self.index), self.shape)]
            raise NotFiniteError(
                f"{self.name} must be finite numbers, got {number} at {position[self.stacked :]}. "
                "If it stands for padding, use lengths or mask instead."
            )


class DeviceCheck:
    """Check of a call's numbers; calling it waits for the device, once, and raises what is wrong.

    ``external_total_hq`` is a log-sum-exp that the caller brought. Without ``total_hq``, the one of
    these scores, the weights that follow from it are checked: ``received_hk`` sums them.
    """

    def __init__(
        self,
        call: DeviceCall,
        total_hq: Tensor | None,
        external_total_hq: Tensor | None,
        received_hk: Tensor | None = None,
    ) -> None:
        self._call: DeviceCall | None = call
        self._total_hq, self._external_total_hq = total_hq, external_total_hq
        self._received_hk = received_hk if total_hq is None else None
        self._stacked = 0
        self.passed = False

    @cached_property
    def ok(self) -> Tensor:
        """Whether all numbers are finite, a device tensor: NaN and infinity reach the total."""
        totals = [
            x for x in (self._total_hq, self._external_total_hq) if x is not None and x.numel()
        ]
        finite = [x.max() < torch.inf for x in totals]
        if self._share is not None:
            finite.append(self._share < MAX_ROW_SUM)
        return reduce(torch.logical_and, finite) if finite else torch.tensor(True)

    @cached_property
    def _share(self) -> Tensor | None:
        """The largest mean sum of a row's weights, over the heads; nan where a weight is."""
        received_hk, external_hq = self._received_hk, self._external_total_hq
        if received_hk is None or external_hq is None or not external_hq.numel():
            return None
        return received_hk.sum(dim=1).max() / external_hq.shape[1]

    @cached_property
    def _non_finite(self) -> tuple[FirstNonFinite, ...]:
        call = self._call
        if call is None:  # released before any search was started
            return ()
        query = FirstNonFinite.search("query", call.query_hqd, call.leading, self._stacked)
        return query, FirstNonFinite.search("key", call.key_gkd, call.key_leading, self._stacked)

    def release(self, stacked: int = 0) -> None:
        """Start every search on the device now, so that query and key can be freed."""
        self._stacked = stacked
        _ = self.ok, self._non_finite
        self._call = self._total_hq = self._received_hk = None

    def __call__(self) -> None:
        if not self.passed and not bool(self.ok):
            self.raise_error()
        if not self.passed and self._external_total_hq is not None:
            _check_same_scores(self._total_hq, self._external_total_hq)
        self.passed = True

    def raise_error(self) -> None:
        for first in self._non_finite:
            first.raise_error()
        if self._share is not None and bool(self._share >= MAX_ROW_SUM):
            raise ArgumentError(OTHER_SCORES_MESSAGE.format(float(self._share)))
        raise ArgumentError(
            "logsumexp must be numbers or -inf, got nan or +inf."
            if self._external_total_hq is not None
            else "query and key are too large: their products overflow."
        )


def _check_same_scores(total_hq: Tensor | None, external_total_hq: Tensor) -> None:
    """Raise if a row's weights sum to more than 1: the log-sum-exp is of other scores."""
    if total_hq is None or not external_total_hq.numel():
        return
    sums_hq = torch.exp(total_hq - external_total_hq)
    largest = float(torch.where(total_hq > -torch.inf, sums_hq, 0).max())
    if largest > MAX_ROW_SUM:
        raise ArgumentError(OTHER_SCORES_MESSAGE.format(largest))
