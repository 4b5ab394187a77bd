"""Lazy results on a device.

Facts, problems and profiles copied to the host when they are first read.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.gpu.call import Call, Tensor, reasons_against_kernels
from regard.engine.gpu.device_checks import Check
from regard.engine.observation import Observation, in_map
from regard.engine.pairs import Block
from regard.engine.profile import Profile
from regard.engine.tensors import as_array, is_tensor
from regard.engine.tiles.problem import Problem
from regard.engine.tiles.rows import Wanted
from regard.engine.visibility import Sight
from regard.typing import Array


class LaterFacts(Mapping[str, Array]):
    """Tensors under their names, each moved to NumPy, and let go, when it is first read.

    ``check`` runs before the first of them is handed out: what is wrong with the numbers of a call
    can be known only once the device has got that far.
    """

    def __init__(self, tensors: dict[str, Tensor], dtype: np.dtype[Any], check: Check) -> None:
        self._held: dict[str, Any] = dict(tensors)
        self._dtype, self.check = dtype, check

    def __getitem__(self, name: str) -> Array:
        if is_tensor(self._held[name]):
            self.check()
            self._held[name] = self._moved(name, self._held[name])
        array: Array = self._held[name]
        return array

    def _moved(self, name: str, tensor: Tensor) -> Array:
        """In the dtype that the CPU's engine gives a fact: log-sum-exp is always float64."""
        if name == "top_keys":
            return as_array(tensor.int()).astype(np.int64)  # half as much to move
        if name == "output":
            return as_array(tensor)
        kind = np.float64 if name == "logsumexp" else self._dtype
        return as_array(tensor).astype(kind, copy=False)

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Known without moving anything."""
        return tuple(self._held[name].shape)

    @property
    def held(self) -> int:
        """Bytes that still lie on the device."""
        return size_of(*(x for x in self._held.values() if is_tensor(x)))

    def without(self, name: str) -> "LaterFacts":
        """All but one."""
        others = {x: held for x, held in self._held.items() if x != name}
        return LaterFacts(others, self._dtype, self.check)

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __or__(self, others: dict[str, Array]) -> dict[str, Array]:
        return dict(self) | others


def size_of(*tensors: Tensor) -> int:
    """Bytes of tensors together."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class LaterProfile(Profile):
    """A profile whose sums are moved from the device, and let go, when they are first read."""

    def __init__(self, make: Callable[..., Profile], *sums: Tensor) -> None:
        object.__setattr__(self, "_make", make)
        object.__setattr__(self, "_sums", sums)

    @cached_property
    def _made(self) -> Profile:
        mine: Any = self
        arrays = [as_array(x).astype(np.float64, copy=False) for x in mine._sums]
        object.__setattr__(self, "_sums", ())
        made: Profile = mine._make(*arrays)
        return made

    @property
    def held(self) -> int:
        """Bytes that still lie on the device."""
        mine: Any = self
        return size_of(*mine._sums)

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

    def __init__(self, call: Call, total_hq: Tensor) -> None:
        self._call, self._total_hq = call, total_hq

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
        from regard.engine.gpu.torch_path import listed_on_device

        return partial(listed_on_device, self._call)

    @property
    def serves_repeats(self) -> bool:
        """Whether a kernel finds repeats in this problem."""
        return not reasons_against_kernels(self._call, Wanted())

    def repeats_there(self, tokens_k: NDArray[np.int64]) -> Tensor | None:
        """The sums of ``repeats``, left on the device; None where no kernel serves."""
        if not self.serves_repeats:
            return None
        from regard.engine.gpu.triton_facts import repeats_on_device

        return repeats_on_device(self._call, self._total_hq, tokens_k)

    @cached_property
    def whole(self) -> Problem:
        """Query and key moved to the CPU, for what needs all of them: merging and saving."""
        return self._call.whole_problem()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)


@dataclass(frozen=True)
class Left:
    """What is left of a problem: where one may look, and the sums of its repeats if any."""

    sight: Sight
    heads: int
    leading: tuple[int, ...]
    sums_h23: Tensor | None

    def repeats_there(self, tokens_k: NDArray[np.int64]) -> Tensor | None:
        """As LaterProblem's, for the tokens that were told before."""
        return self.sums_h23


def let_go(seen: Observation, tokens_k: NDArray[np.int64] | None) -> Observation | None:
    """The same without query, key and output, ready for ``head_measures`` with these tokens.

    What has to be asked of query and key is asked now, and the answer left on the device. None
    where there is no kernel to ask: then it must be read while they are there.
    """
    part, facts = seen.parts[0], seen.facts
    if not (isinstance(facts, LaterFacts) and isinstance(part, LaterProblem)):
        return None
    if not part.serves_repeats:
        return None
    sums_h23 = None
    if tokens_k is not None and not in_map(seen, part.sight):
        sums_h23 = part.repeats_there(tokens_k)
    facts.check.let_go()
    left: Any = Left(part.sight, part.heads, part.leading, sums_h23)
    kept: Any = facts.without("output")
    return replace(seen, facts=kept, parts=(left,), _tensor=None)


def held(seen: Observation) -> tuple[int, Check]:
    """Bytes of an observation that still lie on the device, and what is still to be asked of it."""
    facts: Any = seen.facts
    profile: Any = seen._profile
    return facts.held + (0 if profile is None else profile.held), facts.check
