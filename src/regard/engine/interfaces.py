"""Interfaces of an observation's contents: facts, profile and problem, on the host or a device.

The host's classes (ArrayFacts, Profile, Problem) hold NumPy arrays; those of ``engine.gpu.lazy``
hold tensors that are copied to the host when they are first read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.engine.tensors import Tensor
from regard.engine.visibility import Visibility
from regard.typing import Array

if TYPE_CHECKING:
    from regard.engine.pairs import Block
    from regard.engine.profile import Profile
    from regard.engine.tiles.problem import Problem

ListedWeights = Callable[[Array, "Block"], Tensor]


class FactsLike(Mapping[str, Array]):
    """Facts of an observation under their names, each a NumPy array once it is read."""

    @property
    @abstractmethod
    def on_device(self) -> bool:
        """Whether the facts were computed on a device and are copied when they are read."""

    @property
    @abstractmethod
    def device_bytes(self) -> int:
        """Bytes still on the device."""

    @abstractmethod
    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of a fact, known without a copy."""

    @abstractmethod
    def tensor(self, name: str) -> Any:
        """A fact where it lies: a tensor of the device until it is read, else an array."""

    @abstractmethod
    def without(self, name: str) -> FactsLike:
        """All facts but one, without a copy."""


class ArrayFacts(dict[str, Array], FactsLike):
    """Facts on the host: a dict of NumPy arrays."""

    @property
    def on_device(self) -> bool:
        """False: everything is on the host."""
        return False

    @property
    def device_bytes(self) -> int:
        """0: nothing is on a device."""
        return 0

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of a fact."""
        return self[name].shape

    def tensor(self, name: str) -> Array:
        """The array."""
        return self[name]

    def without(self, name: str) -> ArrayFacts:
        """All facts but one."""
        return ArrayFacts({other: array for other, array in self.items() if other != name})


class ProfileLike(Protocol):
    """A Profile, or the sums on a device that one is made from."""

    @property
    def device_bytes(self) -> int:
        """Bytes still on the device."""

    def resolve(self) -> Profile:
        """The profile on the host."""


class ProblemLike(Protocol):
    """Query, key and visibility of one call, from which exact weights are computed on demand."""

    @property
    def visibility(self) -> Visibility:
        """The keys that each query may look at."""

    @property
    def heads(self) -> int:
        """The number of heads over every leading axis."""

    @property
    def leading(self) -> tuple[int, ...]:
        """The caller's leading axes, heads last."""

    @property
    def width(self) -> int:
        """Features of a head's query and key."""

    @property
    def device_weights(self) -> ListedWeights | None:
        """The device's function of weights at listed pairs; None: the host computes them."""

    def device_repeats(self, tokens_k: NDArray[np.int64]) -> Tensor | None:
        """Sums of ``heads.repeats`` as a device tensor; None: the host computes them."""

    def cut(self, heads: slice, rows: slice, columns: slice) -> tuple[Problem, slice, slice, slice]:
        """A problem on the host that has this rectangle, and the rectangle's slices in it."""

    def on_host(self) -> Problem:
        """The problem with all of its query and key on the host."""
