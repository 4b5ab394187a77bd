"""A module with the input it had, run again apart from the model, and places inside its forward."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, _len_torch_function_stack, _pop_mode, _push_mode
from torch.utils._python_dispatch import _disable_current_modes

from regard.watcher.capture.modules import HOOK_TABLES
from regard.watcher.mixers.slices import Slices

Key = tuple[str, int, int]  # a function, which of its calls from the start, which of its tensors
Visit = Callable[[Key, Tensor], Tensor]


@dataclass(frozen=True)
class Place:
    """Which tensor of a forward: a result of a function, counted from the start or the end.

    ``axis`` is that of positions. A count below 0 is from the end, since a forward over more
    positions may call a function more often before it.
    """

    function: str
    number: int
    part: int  # of the tensors that the function returned
    axis: int

    def __str__(self) -> str:
        where = f"#{self.number + 1}" if self.number >= 0 else f"#{-self.number} from the end"
        return f"{self.function} {where}" + (f" [{self.part}]" if self.part else "")

    @property
    def key(self) -> Key:
        return self.function, self.number, self.part

    def flat(self, tensor: Tensor) -> Tensor:
        """A tensor at this place as (t, v): positions and channels of its only sentence."""
        return tensor.movedim(self.axis, 0).reshape(tensor.shape[self.axis], -1)

    def unflat(self, flat_tv: Tensor, like: Tensor) -> Tensor:
        """Positions and channels in the axes of a tensor at this place."""
        moved = like.movedim(self.axis, 0)
        return flat_tv.reshape(moved.shape).movedim(0, self.axis)


@dataclass(frozen=True)
class ModuleCall:
    """A module of its own, the one sentence (1, t, e) that went in, and its other arguments."""

    module: nn.Module
    name: str  # of the argument that the sentence is
    hidden: Tensor
    others: Mapping[str, Any]

    @property
    def positions(self) -> int:
        return int(self.hidden.shape[1])

    def output(self, hidden: Tensor | None = None) -> Tensor:
        """The first tensor that the module returns."""
        arguments = {self.name: self.hidden if hidden is None else hidden, **self.others}
        return first_tensor(self.module(**arguments))


def first_tensor(output: Any) -> Tensor:
    """The output of a module, the first where it returns several."""
    while not isinstance(output, Tensor):
        output = output[0]
    return output


def separate_copy(module: nn.Module, dtype: torch.dtype | None = None) -> nn.Module:
    """A copy without hooks, in eval mode; in the same dtype it shares the parameters' memory.

    Parameters of the copy need no gradient. What a forward leaves behind on the module (a state, a
    counter) stays on the copy.
    """
    memo: dict[int, Any] = {}
    for inside in module.modules():
        memo |= {id(vars(inside)[name]): type(vars(inside)[name])() for name in HOOK_TABLES}
        for parameter in inside._parameters.values():
            if parameter is not None:
                memo[id(parameter)] = nn.Parameter(parameter.detach(), requires_grad=False)
    copied: nn.Module = copy.deepcopy(module, memo).eval()
    return copied if dtype is None else copied.to(dtype)


@contextmanager
def apart() -> Iterator[None]:
    """Gradients, and no mode of the block that would take what runs here for the program's."""
    modes = []
    while _len_torch_function_stack():
        modes.append(_pop_mode())
    try:
        with _disable_current_modes(), torch.inference_mode(mode=False), torch.enable_grad():
            yield
    finally:
        for mode in reversed(modes):
            _push_mode(mode)


class Enough(Exception):  # noqa: N818 (no error)
    """Raised by a visit that needs nothing of the rest of a forward."""


class Results(TorchFunctionMode):  # type: ignore[misc]
    """Calls ``visit(key, tensor)`` for each tensor that a function returns, and takes its answer.

    ``gates`` holds activations as gates.
    """

    def __init__(self, visit: Visit, gates: bool = False) -> None:
        super().__init__()
        self.visit, self.gates, self.counts = visit, gates, Counter[str]()
        self._slices = Slices()

    def __exit__(self, *error: Any) -> bool:
        super().__exit__(*error)
        return error[0] is Enough

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = self._slices.run(func, args, kwargs or {})
        name = getattr(func, "__name__", str(func))
        number, self.counts[name] = self.counts[name], self.counts[name] + 1
        if self.gates and name in ACTIVATIONS and isinstance(result, Tensor):
            result = held_gate(args[0], result)
        if isinstance(result, Tensor):
            return self.visit((name, number, 0), result)
        if type(result) in (tuple, list) and any(isinstance(x, Tensor) for x in result):
            return type(result)(
                self.visit((name, number, i), x) if isinstance(x, Tensor) else x
                for i, x in enumerate(result)
            )
        return result


ACTIVATIONS = frozenset(
    ("silu", "gelu", "relu", "tanh", "elu", "mish", "selu", "leaky_relu", "hardswish", "softplus")
)


def held_gate(given: Tensor, activated: Tensor) -> Tensor:
    """An activation as a gate: its input times their quotient, which no gradient passes."""
    quotient = torch.where(given == 0, torch.zeros_like(given), activated / given)
    return given * quotient.detach()
