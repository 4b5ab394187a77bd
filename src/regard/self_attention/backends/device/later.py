"""Facts that lie on the device until somebody reads them: nothing waits for the GPU before that."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.backends.device.call import Call, Tensor
from regard.self_attention.backends.tensors import as_array
from regard.self_attention.pairs import Block
from regard.self_attention.profile import Profile
from regard.self_attention.tiles.problem import Array, Problem


class LaterFacts(Mapping[str, Array]):
    """Tensors under their names, each moved to NumPy when it is first read.

    ``check`` runs before the first of them is handed out: what is wrong with the numbers of a call
    can be known only once the device has got that far.
    """

    def __init__(
        self, tensors: dict[str, Tensor], dtype: np.dtype[Any], check: Callable[[], None]
    ) -> None:
        self._tensors, self._dtype, self._check = tensors, dtype, check
        self._arrays: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._arrays:
            tensor = self._tensors[name]
            self.settle()
            self._arrays[name] = as_array(tensor).astype(self._kind(name, tensor), copy=False)
        return self._arrays[name]

    def _kind(self, name: str, tensor: Tensor) -> Any:
        """The dtype that the CPU's engine gives a fact: log-sum-exp is always float64."""
        kinds = {"logsumexp": np.float64, "top_keys": np.int64, "output": None}
        return kinds.get(name, self._dtype) or as_array(tensor[:0]).dtype

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __or__(self, others: dict[str, Array]) -> dict[str, Array]:
        return dict(self) | others

    def settle(self) -> None:
        """Check once; a check that fails fails again the next time."""
        self._check()
        self._check = _nothing


def _nothing() -> None:
    pass


class LaterProfile(Profile):
    """A profile whose sums are moved from the device when they are first read."""

    def __init__(self, make: Callable[[], Profile]) -> None:
        object.__setattr__(self, "_make", make)

    @cached_property
    def _made(self) -> Profile:
        return self._make()  # type: ignore[attr-defined, no-any-return]

    @property
    def first(self) -> NDArray[Any]:
        """As Profile's."""
        return self._made.first

    @property
    def back(self) -> NDArray[np.int64]:
        """As Profile's."""
        return self._made.back

    @property
    def weight(self) -> NDArray[Any]:
        """As Profile's."""
        return self._made.weight


class LaterProblem:
    """What tiles are computed from, on the device; the CPU's form of it is made when asked for."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def cut(self, heads: slice, rows: slice, columns: slice) -> tuple[Problem, slice, slice, slice]:
        """Only the rectangle that is looked at leaves the device."""
        part = self._call.problem(heads, rows, columns)
        sizes = (part.heads, part.sight.queries, part.sight.keys)
        return part, *(slice(0, size) for size in sizes)  # type: ignore[return-value]

    @property
    def sight(self) -> Any:
        """Where one may look; a mask of values is moved with the rest, see whole."""
        return self._call.sight if self._call.mask is None else self.whole.sight

    @property
    def heads(self) -> int:
        """How many heads in all."""
        return self._call.heads

    @property
    def leading(self) -> tuple[int, ...]:
        """The caller's leading axes, heads last."""
        return self._call.leading

    @property
    def listed_there(self) -> Callable[[Array, Block], Tensor] | None:
        """For weights at listed places; masks of values are read on the CPU."""
        if self._call.mask is not None or self._call.sight.mask is not None:
            return None
        from regard.self_attention.backends.device.listed import listed_on_device

        return partial(listed_on_device, self._call)

    @cached_property
    def whole(self) -> Problem:
        """Query and key moved to the CPU, for what needs all of them: merging and saving."""
        return self._call.whole_problem()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)
