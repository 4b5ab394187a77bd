"""Layer numbers of attention calls, counted within each forward of a model.

A module usually runs once in a forward and is one layer. Where it runs several times (ALBERT shares
its layers, HRM repeats them) each of its calls is a layer of its own, numbered in the order of the
calls, as ``output_attentions`` of transformers lists them.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.errors import BackendError
from regard.watcher.capture.modules import Forwards, attach_hook, named_modules
from regard.watcher.capture.runs import LayerKey
from regard.watcher.seam.running import is_cross

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.model_call import ModelCall


class CallRelation(Enum):
    """Relation of an attention call to the one before it of the same module."""

    FIRST = "the first of a call of the module"
    SAME = "the same query and key again, for other values, as DiffLlama does"
    NEXT = "the tokens right after those before, as of images packed into one sequence"
    UNKNOWN = "other queries and keys within one call of the module"
    OUTSIDE = "another call of the module, outside any forward of the model"


class LayerCall(NamedTuple):
    """The layer of an attention call, and its relation to the call before."""

    layer: LayerKey
    relation: CallRelation


@dataclass
class ModuleCalls:
    """Calls of one module in a forward; ``entered`` from a call's start to its first attention.

    The last query and key are weak references, so that the model can free them.
    """

    number: int = -1
    entered: bool = True
    last: tuple[Callable[[], Any], ...] = field(default=(), repr=False)


class LayerNumbering:
    """The layer of each attention call of a model."""

    def __init__(self, model: Any, forwards: Forwards, watches: Callable[[int], bool]) -> None:
        self.model, self.forwards, self.watches = model, forwards, watches
        self._names = {id(module): name for name, module in named_modules(model)}
        self._two_sided = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
        self._layers: dict[tuple[int, int], LayerKey] = {}  # by module and number of its call
        self._modules: dict[int, Any] = {}
        self._calls: dict[int, ModuleCalls] = {}
        self._counts: dict[int, int] = {}  # calls of a module in a forward
        self._hooks: list[Callable[[], None]] = []
        forwards.begun, forwards.ended = self._begin, self._end

    @property
    def layers(self) -> list[LayerKey]:
        return list(self._layers.values())

    @property
    def paths(self) -> dict[str, LayerKey]:
        """Layers by the path of their module; a module's second call is 'path#2'."""
        return {
            self._names[module] + (f"#{number + 1}" if number else ""): layer
            for (module, number), layer in self._layers.items()
        }

    def counts_calls_of(self, module: Any) -> bool:
        return self.forwards.on_thread and id(module) in self._names

    def locate(self, call: ModelCall) -> LayerCall:
        module = call.module
        outside = not self.forwards.running and id(module) in self._calls
        calls = self._calls.setdefault(id(module), ModuleCalls())
        relation = CallRelation.FIRST
        if not calls.entered:
            relation = _relation(calls, call)
        elif outside:
            relation = CallRelation.OUTSIDE
        else:
            calls.number += 1
        calls.entered = False
        calls.last = tuple(weakref.ref(x) for x in (call.query, call.key))
        return LayerCall(self._layer(call, calls.number), relation)

    def check(self, layer_call: LayerCall, module: Any) -> None:
        name = f"{layer_call.layer}: {type(module).__name__}"
        if layer_call.relation is CallRelation.OUTSIDE:
            raise BackendError(
                f"{name} ran twice outside a forward of {type(self.model).__name__}: whether that "
                "is another layer or another text is not known. Call the model itself, as "
                "model(...), inside the block."
            )
        if layer_call.relation is CallRelation.UNKNOWN:
            raise BackendError(
                f"{name} attends twice in one call, with other queries and keys: whether that is "
                "one layer or two is not known. Leave this layer out with layers=..."
            )

    def detach(self) -> None:
        for remove in self._hooks:
            remove()
        self._hooks = []

    def _begin(self, inside: set[int]) -> None:
        self._calls = {key: calls for key, calls in self._calls.items() if key not in inside}

    def _end(self, inside: set[int]) -> None:
        """Raise where a watched module runs more or less often than in an earlier forward."""
        for key, calls in self._calls.items():
            if key not in inside:
                continue
            now = calls.number + 1
            before = self._counts.setdefault(key, now)
            if now == before:
                continue
            layers = [layer for (module, _), layer in self._layers.items() if module == key]
            if any(self.watches(layer.layer) for layer in layers):
                raise BackendError(
                    f"{layers[0]}: {type(self._modules[key]).__name__} ran {_times(now)} in this "
                    f"forward and {_times(before)} in an earlier one: which call is which layer is "
                    "not known. Watch each kind of forward in a block of its own."
                )
        if not self.forwards.running:
            self._calls = {}

    def _layer(self, call: ModelCall, number: int) -> LayerKey:
        """The part and layer of a module's call, the same in every forward."""
        module = call.module
        key = (id(module), number)
        if key not in self._layers:
            if id(module) not in self._modules:
                self._modules[id(module)] = module
                self._hooks.append(attach_hook(module, "forward_pre", self._enter))
            self._layers[key] = self._unique_key(self._key_of_name(call, number), module)
        return self._layers[key]

    def _enter(self, module: Any, arguments: Any) -> None:
        if self.forwards.on_thread and id(module) in self._calls:
            self._calls[id(module)].entered = True

    def _key_of_name(self, call: ModelCall, number: int) -> LayerKey:
        """The layer in the module's name; a module of several names runs under each in turn."""
        module, name = call.module, self._names[id(call.module)]
        if number:
            every = self.model.named_modules(remove_duplicate=False)
            names = [name for name, other in every if other is module]
            name = names[min(number, len(names) - 1)]
        numbers = re.findall(r"\.(\d+)(?=\.|$)", f".{name}")
        layer = int(numbers[0]) if numbers else int(getattr(module, "layer_idx", None) or 0)
        if is_cross(module, name):
            return LayerKey("cross", layer)
        words = name.split(".")
        if self._two_sided:
            writes = any(x == "decoder" or x.endswith("_decoder") for x in words)
        else:  # a language model may see its prompt in both directions
            band = None if call.spec is None else call.spec.band
            ordered = band is not None and band[1] == 0
            writes = ordered or getattr(module, "is_causal", False) or "language_model" in words
        return LayerKey("decoder" if writes else "encoder", layer)

    def _unique_key(self, layer: LayerKey, module: Any) -> LayerKey:
        """The layer, or where it is taken the next of its stack, or a part of another name."""
        taken = {other: key for (key, _), other in self._layers.items()}
        if layer in taken and not self._same_stack(id(module), taken[layer]):
            own, other = (self._names[x].split(".") for x in (id(module), taken[layer]))
            pairs = zip_longest(own, other)
            name = next((x for x, y in pairs if x != y and x and not x.isdigit()), own[-1])
            layer = LayerKey(f"{layer.part} {name}", layer.layer)
        if layer in taken:
            numbers = [other.layer for other in taken if other.part == layer.part]
            layer = LayerKey(layer.part, max(numbers) + 1)
        return layer

    def _same_stack(self, one: int, other: int) -> bool:
        """Whether two modules are layers of one stack: of a class, a name and a model."""
        if one == other:
            return True
        classes = {type(self._modules[key]) for key in (one, other)}
        names = {self._names[key].rsplit(".", 1)[-1] for key in (one, other)}
        owners = {self.forwards.owner(self._modules[key]) for key in (one, other)}
        return len(classes) == len(names) == len(owners) == 1


def _relation(calls: ModuleCalls, call: ModelCall) -> CallRelation:
    """Relation of a call to the one before it in the same call of its module."""
    before, now = [reference() for reference in calls.last], (call.query, call.key)
    if all(x is y for x, y in zip(before, now, strict=True)):
        return CallRelation.SAME
    packed = call.spec is None
    if packed and all(_follows(x, y) for x, y in zip(before, now, strict=True)):
        return CallRelation.NEXT
    return CallRelation.UNKNOWN


def _follows(before: torch.Tensor | None, now: torch.Tensor) -> bool:
    """Whether a tensor (b, h, t, d) is the slice right after another of the same storage."""
    if before is None or before.stride() != now.stride():
        return False
    shapes = [(*x.shape[:2], *x.shape[3:]) for x in (before, now)]
    stores = [x.untyped_storage().data_ptr() for x in (before, now)]
    end = before.storage_offset() + before.shape[2] * before.stride(2)
    return shapes[0] == shapes[1] and stores[0] == stores[1] and now.storage_offset() == end


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
