"""What each mixer of a watched model was given, kept while the block runs, and joined to texts.

A mixer is an innermost module that mixes positions and in which no softmax was recorded: its class
is tried once, on a copy with random input. Only a hook runs with the model, so that its output
stays the same to the bit.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from regard.typing import Array
from regard.watcher.capture.modules import all_modules, attach_hook, in_backward, is_traced
from regard.watcher.capture.modules import named_modules as modules_by_path
from regard.watcher.mixers.module_call import ModuleCall, apart, first_tensor, separate_copy
from regard.watcher.mixers.replay import Stream
from regard.watcher.mixers.stream import SHORT, mixes
from regard.watcher.options import KEPT_BYTES, Options

MOST_WIDENED = 10**8  # parameters of a module that is tried in float32; of larger ones as they are
COMPARED_ROWS = 8  # of the output of each call, with which the replayed output is compared


@dataclass(frozen=True)
class KeptCall:
    """One call of a mixer: its sentences (b, t, e), other arguments, and rows of its output."""

    forward: int
    hidden: Tensor = field(repr=False)
    others: Mapping[str, Any] = field(repr=False)
    outputs: Mapping[int, Tensor] = field(repr=False)  # (b, e) by position in the call

    @property
    def size(self) -> int:
        rows = sum(x.nbytes for x in self.outputs.values())
        return int(self.hidden.nbytes + rows)


@dataclass
class KeptMixer:
    """The calls of one mixer in a block; ``problem`` says why there are none."""

    path: str
    layer: int
    module: nn.Module = field(repr=False)
    name: str  # of the argument that the sentences are
    calls: list[KeptCall] = field(default_factory=list, repr=False)
    problem: str = ""

    def call_of(self, dtype: torch.dtype) -> Callable[[int], ModuleCall]:
        """Calls of a copy with one random sentence of any length."""
        first = self.calls[0]
        module = separate_copy(self.module, dtype)
        return lambda n: random_call(module, self.name, first.hidden, first.others, n, dtype)

    def joined(self, numbers: Sequence[int], sentence: int, first: int, stop: int) -> ModuleCall:
        """A sentence over several calls, cut to some positions, as one call without a cache."""
        calls = [self.calls[i] for i in numbers]
        dtype = wide(calls[0].hidden.dtype)
        hidden = torch.cat([_one(x.hidden, sentence) for x in calls], dim=1)[:, first:stop]
        others = tree_map(
            lambda *given: _joined_argument(given, calls, sentence, (first, stop)),
            *(dict(x.others) for x in calls),
        )
        module = separate_copy(self.module, dtype)
        return ModuleCall(module, self.name, _plain(hidden, dtype), _all_plain(others, dtype))


def wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype of a replay: float32 of what is narrower."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def random_call(
    module: nn.Module, name: str, like: Tensor, others: Mapping[str, Any], n: int, dtype: Any
) -> ModuleCall:
    """A random sentence of ``n`` positions, the other arguments repeated or cut to its length."""
    generator = torch.Generator().manual_seed(n)
    hidden = torch.randn(1, n, like.shape[2], generator=generator).to(like.device, dtype)
    given = tree_map(lambda x: _resized(x, like.shape[1], n), dict(others))
    return ModuleCall(module, name, hidden, _all_plain(given, dtype))


def _position_axes(shape: Sequence[int], tokens: int) -> list[int]:
    """The axes of positions of an argument beside sentences of so many tokens."""
    if len(shape) == 4 and tuple(shape[2:]) == (tokens, tokens):
        return [2, 3]
    places = {1: [0], 2: [1], 3: [1], 4: [1, 2]}.get(len(shape), [])
    return [axis for axis in places if shape[axis] == tokens][:1]


def _resized(given: Any, tokens: int, n: int) -> Any:
    """An argument beside sentences of so many tokens, for one of ``n``."""
    if not isinstance(given, Tensor):
        return given
    if given.ndim > 1:
        given = given[:1]
    for axis in _position_axes(given.shape, tokens):
        given = given.index_select(axis, torch.arange(n, device=given.device) % tokens)
    return given


def _one(given: Tensor, sentence: int) -> Tensor:
    return given if given.shape[0] == 1 else given[sentence : sentence + 1]


def _joined_argument(
    given: Sequence[Any], calls: Sequence[KeptCall], sentence: int, cut: tuple[int, int]
) -> Any:
    """An argument of several calls, along its axis of positions; the first call's without one."""
    first = given[0]
    if not isinstance(first, Tensor):
        return first
    rows = [_one(x, sentence) if x.ndim > 1 else x for x in given]
    axes = _position_axes(first.shape, calls[0].hidden.shape[1])
    if len(axes) == 2 and len(calls) > 1:
        return None  # a table of positions by positions: the replayed output shows if it matters
    for axis in axes:
        joined = rows[0] if len(axes) == 2 else torch.cat(rows, dim=axis)
        rows = [joined.narrow(axis, cut[0], cut[1] - cut[0])]
    return rows[0]


def _plain(given: Any, dtype: torch.dtype) -> Any:
    """A tensor that gradients may pass, of the dtype if it has numbers with a fraction."""
    if not isinstance(given, Tensor):
        return given
    given = given.detach().clone() if given.is_inference() else given.detach()
    return given.to(dtype) if given.is_floating_point() else given


def _all_plain(given: Any, dtype: torch.dtype) -> Any:
    return tree_map(lambda x: _plain(x, dtype), given)


def _without_caches(given: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """Arguments that a call without a cache has: no mask of padding, which is cut, and no state."""
    return {
        # A flag to return a cache needs the cache that is left out.
        name: False if isinstance(x, bool) and "cache" in name else _replayable(x, tokens)
        for name, x in given.items()
    }


def _replayable(given: Any, tokens: int) -> Any:
    if isinstance(given, Tensor):
        return None if _is_padding_mask(given) else given.detach()
    if isinstance(given, tuple) and given and all(isinstance(x, Tensor) for x in given):
        with_positions = all(_position_axes(x.shape, tokens) for x in given)
        return tuple(x.detach() for x in given) if with_positions else None
    return given if isinstance(given, bool | int | float | str) else None


def _is_padding_mask(given: Tensor) -> bool:
    """Whether a table of whole numbers is 0 or 1 everywhere, and does not count positions."""
    if given.ndim != 2 or given.is_floating_point():
        return False
    counts = torch.equal(given.long(), torch.arange(given.shape[1], device=given.device)[None])
    return not counts and bool((given.long() >> 1 == 0).all())


@dataclass(frozen=True)
class KeptForward:
    """Token ids and the mask of padding (b, t) that the model was given in one forward."""

    ids_bt: Array | None = field(default=None, repr=False)
    mask_bt: Array | None = field(default=None, repr=False)


class MixerInputs:
    """Hooks that keep the inputs of all mixers of a model, up to a limit of bytes."""

    def __init__(
        self, model: nn.Module, options: Options, paths: Callable[[], Mapping[str, Any]]
    ) -> None:
        self.model, self.options, self._paths = model, options, paths
        self.mixers: dict[str, KeptMixer] = {}
        self.forwards: list[KeptForward] = []
        unlimited = options.keep is None and options.keep_bytes is None
        self.limit = None if unlimited else (options.keep_bytes or KEPT_BYTES)
        self.bytes = 0
        self.streams: dict[Any, Stream | str] = {}  # found by class, or why there is none
        self._thread = threading.get_ident()
        self._names = {id(module): path for path, module in modules_by_path(model)}
        self._mixing: dict[int, bool] = {}  # by module: whether it or one inside mixes
        self._is_mixer: dict[int, bool] = {}
        self._verdicts: dict[Any, bool] = {}  # by class and shapes of parameters
        self._numbers: dict[int, int] = {}  # of the calls of a module in this forward

    @contextmanager
    def attached(self) -> Iterator[None]:
        with ExitStack() as stack:
            for path, module in modules_by_path(self.model):
                if path and type(module).__module__.startswith("torch."):
                    continue
                stack.callback(attach_hook(module, "forward", self._look, with_kwargs=True))
            begin = attach_hook(self.model, "forward_pre", self._begin, with_kwargs=True)
            stack.callback(begin)
            yield

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""
        return max((len(x.calls[-1].hidden) for x in self.mixers.values() if x.calls), default=0)

    def _begin(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self._watches():
            return
        given = _bound(module, args, kwargs)
        ids = given.get("input_ids", next(iter(given.values()), None))
        self.forwards.append(KeptForward(_integers(ids), _integers(given.get("attention_mask"))))
        self._numbers = {}

    def _watches(self) -> bool:
        return threading.get_ident() == self._thread and not is_traced() and not in_backward()

    def _look(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        """Decide at a module's first call whether it is a mixer, and keep what one was given."""
        if not self._watches() or self._is_mixer.get(id(module)) is False:
            return
        given = _bound(module, args, kwargs)
        name = next((x for x, value in given.items() if _is_sentences(value)), None)
        if name is None or given[name].shape[1] == 0:
            return
        if id(module) not in self._is_mixer:
            self._is_mixer[id(module)] = self._decide(module, name, given)
        if self._is_mixer[id(module)]:
            self._keep(module, name, given, out)

    def _decide(self, module: Any, name: str, given: dict[str, Any]) -> bool:
        mixing = [x for x in all_modules(module)[1:] if self._mixing.get(id(x))]
        path = self._names[id(module)]
        if self._attends(path):
            self._mixing[id(module)] = True
            return False
        inner = [x for x in mixing if self._is_mixer.get(id(x))]
        inside = inner[0] if len(inner) == 1 else None
        if mixing and inside is None:
            self._mixing[id(module)] = True
            return False
        shapes = tuple((x, tuple(y.shape)) for x, y in module.named_parameters())
        key = type(module), inside is None, shapes
        if key not in self._verdicts:
            self._verdicts[key] = _is_mixing(module, name, given, inside)
        self._mixing[id(module)] = self._verdicts[key] or inside is not None
        if self._verdicts[key] and inside is not None:  # what enters the inner one is mixed already
            self._is_mixer[id(inside)] = False
            self.mixers.pop(self._names[id(inside)], None)
        return self._verdicts[key]

    def _attends(self, path: str) -> bool:
        """Whether a softmax was recorded in a module."""
        inside = (x.partition("#")[0] for x in self._paths())
        return any(x == path or not path or x.startswith(f"{path}.") for x in inside)

    def _keep(self, module: Any, name: str, given: dict[str, Any], output: Any) -> None:
        path, number = self._names[id(module)], self._numbers.get(id(module), 0)
        self._numbers[id(module)] = number + 1
        layer = next((int(x) for x in path.split(".") if x.isdigit()), len(self.mixers))
        if not self.options.watches(layer):
            return
        path = f"{path}#{number + 1}" if number else path
        kept = self.mixers.setdefault(path, KeptMixer(path, layer, module, name))
        if kept.problem:
            return
        hidden = given.pop(name).detach().clone()
        rows = np.unique(np.linspace(0, hidden.shape[1] - 1, COMPARED_ROWS).round()).astype(int)
        made = first_tensor(output).detach()
        outputs = {int(row): made[:, row].clone() for row in rows}
        others = _without_caches(given, hidden.shape[1])
        call = KeptCall(len(self.forwards) - 1, hidden, others, outputs)
        self.bytes += call.size
        if self.limit is not None and self.bytes > self.limit:
            self.bytes -= call.size + sum(x.size for x in kept.calls)
            kept.calls = []
            kept.problem = (
                f"the inputs of all mixers take more than {self.limit / 2**30:g} GiB: choose "
                "layers=..., or keep='all' for every one"
            )
            return
        kept.calls.append(call)


def _bound(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = inspect.signature(module.forward).parameters
    return dict(zip(names, args, strict=False)) | kwargs


def _is_sentences(given: Any) -> bool:
    return isinstance(given, Tensor) and given.ndim == 3 and given.is_floating_point()


def _integers(given: Any) -> Array | None:
    """A table of whole numbers (b, t), on the host; None for anything else."""
    whole = isinstance(given, Tensor) and given.ndim == 2 and not given.is_floating_point()
    return given.detach().cpu().numpy() if whole else None


def _is_mixing(module: Any, name: str, given: dict[str, Any], inside: Any) -> bool:
    """Whether a copy of a module mixes positions of a random sentence; no mode sees it run.

    Of a module with a mixer inside: whether it mixes positions before that one.
    """
    like = given[name]
    few = sum(x.numel() for x in module.parameters()) < MOST_WIDENED
    dtype = wide(like.dtype) if few else like.dtype
    others = _without_caches({x: y for x, y in given.items() if x != name}, like.shape[1])
    with apart(), torch.random.fork_rng([]):
        copied = separate_copy(module, dtype)
        path = next((x for x, y in module.named_modules() if y is inside), None)
        try:
            call = random_call(copied, name, like, others, SHORT, dtype)
            return mixes(call, None if path is None else copied.get_submodule(path))
        except Exception:  # any error of the module: it cannot be run alone
            return False
