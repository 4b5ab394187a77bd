"""Lazy results on a device: facts, profiles and problems copied to the host when first read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import ListedWeights, Problem, Requested
from regard.engine.gpu.call import DeviceCall, DeviceCheck, reasons_against_kernels
from regard.engine.observation import ArrayFacts, FactsLike, Observation
from regard.engine.profile import Profile
from regard.engine.tensors import Tensor, as_array, is_tensor
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, NotAskedError
from regard.typing import Array


class LazyFacts(FactsLike):
    """Facts as device tensors; reading one copies it to the host and frees the tensor.

    ``check`` runs before the first copy: whether the numbers of a call are finite is known only
    once the device has computed them. Tensors have one axis of heads instead of ``leading``.
    """

    on_device = True

    def __init__(
        self,
        tensors: dict[str, Any],
        dtype: np.dtype[Any],
        check: DeviceCheck,
        leading: tuple[int, ...],
    ) -> None:
        self._values: dict[str, Any] = dict(tensors)
        self._dtype, self.check, self.head_shape = dtype, check, leading

    def __getitem__(self, name: str) -> Array:
        if is_tensor(self._values[name]):
            self.check()
            self._values[name] = self._copied(name, self.tensor(name))
        array: Array = self._values[name]
        return array

    def _copied(self, name: str, tensor: Tensor) -> Array:
        """The fact in the dtype of the host's engine: log-sum-exp is always float64."""
        if name == "top_keys":
            return as_array(tensor.int()).astype(np.int64)  # int32 halves the bytes copied
        if name == "output":
            return as_array(tensor)
        dtype = np.float64 if name == "logsumexp" else self._dtype
        return as_array(tensor).astype(dtype, copy=False)

    @property
    def device_bytes(self) -> int:
        return byte_size(*(value for value in self._values.values() if is_tensor(value)))

    def fact_shape(self, name: str) -> tuple[int, ...]:
        value = self._values[name]
        return (*self.head_shape, *value.shape[1:]) if is_tensor(value) else tuple(value.shape)

    def tensor(self, name: str) -> Any:
        value = self._values[name]
        return value.reshape(self.fact_shape(name)) if is_tensor(value) else value

    def without(self, name: str) -> LazyFacts:
        others = {other: value for other, value in self._values.items() if other != name}
        return LazyFacts(others, self._dtype, self.check, self.head_shape)

    def __reduce__(self) -> tuple[type[ArrayFacts], tuple[dict[str, Array]]]:
        return ArrayFacts, (dict(self),)  # a deep copy or a pickle is on the host

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _unpickle(host_object: Any) -> Any:
    return host_object


def byte_size(*tensors: Tensor) -> int:
    """The bytes of some tensors, added up."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class LazyProfile:
    """Sums on a device from which ``make`` builds a profile; resolving frees the tensors."""

    def __init__(self, make: Callable[..., Profile], *sums: Tensor) -> None:
        self._make, self._sums = make, sums
        self._profile: Profile | None = None

    @property
    def device_bytes(self) -> int:
        return byte_size(*self._sums)

    def __reduce__(self) -> Any:
        return _unpickle, (self.resolve(),)  # a deep copy or a pickle is on the host

    def resolve(self) -> Profile:
        if self._profile is None:
            arrays = [as_array(tensor).astype(np.float64, copy=False) for tensor in self._sums]
            self._profile, self._sums = self._make(*arrays), ()
        return self._profile


class LazyProblem:
    """Query and key on a device; tiles copy their rectangle, ``on_host`` copies everything."""

    def __init__(self, call: DeviceCall, total_hq: Tensor) -> None:
        self._call, self._total_hq = call, total_hq
        self._problem: Problem | None = None
        self._versions = _versions(call)

    @property
    def visibility(self) -> Visibility:
        """The keys that each query may look at; a mask of values is copied with query and key."""
        return self._call.visibility if self._call.mask is None else self.on_host().visibility

    @property
    def heads(self) -> int:
        return self._call.heads

    @property
    def leading(self) -> tuple[int, ...]:
        return self._call.leading

    @property
    def width(self) -> int:
        return int(self._call.query_hqd.shape[-1])

    @property
    def device_weights(self) -> ListedWeights | None:
        """Weights at listed pairs by torch; None under a mask, which the host evaluates."""
        if self._call.mask is not None or self._call.visibility.mask is not None:
            return None
        self._check_unchanged()
        from regard.engine.gpu.torch_path import listed_on_device

        return partial(listed_on_device, self._call)

    @property
    def has_repeats_kernel(self) -> bool:
        return not reasons_against_kernels(self._call, Requested())

    def device_repeats(self, tokens_k: NDArray[np.int64]) -> Tensor | None:
        if not self.has_repeats_kernel:
            return None
        self._check_unchanged()
        from regard.engine.gpu.triton_path import repeats_on_device

        return repeats_on_device(self._call, self._total_hq, tokens_k)

    def cut(self, heads: slice, rows: slice, columns: slice) -> tuple[Problem, slice, slice, slice]:
        self._check_unchanged()
        part = self._call.problem(heads, rows, columns)
        queries, keys = part.visibility.queries, part.visibility.keys
        return part, slice(0, part.heads), slice(0, queries), slice(0, keys)

    def on_host(self) -> Problem:
        if self._problem is None:
            self._check_unchanged()
            self._problem = self._call.full_problem()
        return self._problem

    def __reduce__(self) -> Any:
        return _unpickle, (self.on_host(),)  # a deep copy or a pickle is on the host

    def _check_unchanged(self) -> None:
        """Refuse the weights of tensors that were written to since they were observed."""
        for name, before, after in zip(
            ("query", "key", "mask"), self._versions, _versions(self._call), strict=True
        ):
            if before != after:
                raise ArgumentError(
                    f"{name} was changed in place after it was observed, so its weights cannot be "
                    f"computed any more: read tiles and rows before, or observe {name}.clone()."
                )


def _versions(call: DeviceCall) -> list[int | None]:
    """torch's counts of writes to query, key and mask; None where it keeps none."""
    tensors = (call.query_hqd, call.key_gkd, call.mask)
    counted = [x is not None and not x.is_inference() for x in tensors]
    return [x._version if known else None for x, known in zip(tensors, counted, strict=True)]


@dataclass(frozen=True)
class ReleasedProblem:
    """A problem whose query and key were freed: visibility, and the sums of its repeats if any."""

    visibility: Visibility
    heads: int
    leading: tuple[int, ...]
    width: int
    sums_h23: Tensor | None

    @property
    def device_weights(self) -> None:
        return None

    def device_repeats(self, tokens_k: NDArray[np.int64]) -> Tensor | None:
        return self.sums_h23

    def picked(self, index: int) -> ReleasedProblem:
        """One entry of the first leading axis."""
        heads = self.heads // self.leading[0]
        own = slice(index * heads, (index + 1) * heads)
        leading, sums_h23 = self.leading[1:], self.sums_h23
        sums_h23 = None if sums_h23 is None else sums_h23[own]
        visibility = replace(self.visibility, leading=leading)
        return ReleasedProblem(visibility, heads, leading, self.width, sums_h23)

    def cut(self, heads: slice, rows: slice, columns: slice) -> tuple[Problem, slice, slice, slice]:
        raise NotAskedError(RELEASED_MESSAGE)

    def on_host(self) -> Problem:
        raise NotAskedError(RELEASED_MESSAGE)


RELEASED_MESSAGE = (
    "weights need query and key, and this observation released them on the device: read the "
    "weights before, or keep query and key."
)


def release(
    seen: Observation, tokens_k: NDArray[np.int64] | None, stacked: int = 0
) -> tuple[Observation, DeviceCheck] | None:
    """The observation without query, key and output, still enough for ``head_measures``.

    Sums that need query and key are started now and stay on the device, and so does the check of
    the numbers, which is returned with the observation. None where no kernel computes these sums:
    then the measures must be read while query and key are there. The first ``stacked`` axes are
    layers of one text, which errors do not name.
    """
    part, facts = seen.parts[0], seen.facts
    if not (isinstance(facts, LazyFacts) and isinstance(part, LazyProblem)):
        return None
    if not part.has_repeats_kernel:
        return None
    sums_h23 = None
    if tokens_k is not None and not (seen.map_is_weights and part.visibility.is_band):
        sums_h23 = part.device_repeats(tokens_k)
    facts.check.release(stacked)
    released = ReleasedProblem(part.visibility, part.heads, part.leading, part.width, sums_h23)
    lean = replace(seen, facts=facts.without("output"), parts=(released,), _tensor=None)
    return lean, facts.check
