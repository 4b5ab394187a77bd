"""Layers of a model in which no attention with a softmax ran, by the classes that stand there."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from regard.watcher.capture.modules import attach_hook, named_modules
from regard.watcher.capture.runs import LayerKey

BESIDE_MIXING = re.compile("norm|mlp|feed|ffn|moe|expert|drop|embed|act|identity", re.IGNORECASE)


@dataclass(frozen=True)
class OtherLayers:
    """Layers of one list of a model that ran without a softmax: their numbers, of how many.

    ``names`` says how many of them have a module of which class where attention would stand.
    """

    path: str
    numbers: tuple[int, ...]
    of: int
    names: Mapping[str, int]

    def __str__(self) -> str:
        names = ", ".join(
            f"{name} ({n})" if len(self.names) > 1 else name for name, n in self.names.items()
        )
        layers = f"{len(self.numbers)} of {self.of} layers of {self.path}"
        return f"No softmax attention was seen in {layers}: {names}."

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path, "numbers": list(self.numbers), "of": self.of,
            "names": dict(self.names),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> OtherLayers:
        names = {str(name): int(number) for name, number in dict(given["names"]).items()}
        return cls(str(given["path"]), tuple(map(int, given["numbers"])), int(given["of"]), names)


class LayerLists:
    """The outermost lists of layers of a model, and which of their layers ran in a block."""

    def __init__(self, model: Any) -> None:
        from torch.nn import ModuleList

        named = [] if model is None else named_modules(model)
        lists = {path: list(module) for path, module in named if isinstance(module, ModuleList)}
        outer = [path for path in lists if not any(_inside(path, x) for x in lists)]
        self._lists = {path: lists[path] for path in outer}
        self._ran: set[int] = set()
        self._thread = threading.get_ident()

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Hooks for the block, each of which is gone after its first call."""
        with ExitStack() as stack:
            for layer in {id(x): x for layers in self._lists.values() for x in layers}.values():
                stack.callback(self._mark(layer))
            yield

    def _mark(self, layer: Any) -> Any:
        def ran(module: Any, arguments: Any) -> None:
            if threading.get_ident() == self._thread:  # as whatever else the block sees
                self._ran.add(id(module))
                remove()

        remove = attach_hook(layer, "forward_pre", ran)
        return remove

    def others(self, paths: Sequence[str]) -> tuple[OtherLayers, ...]:
        """Layers beside those of some paths; in a model without any path, of all its lists.

        >>> import torch
        >>> LayerLists(torch.nn.Linear(2, 2)).others([])
        ()
        """
        watched = [path.partition("#")[0] for path in paths]
        found = (
            self._of_list(path, watched)
            for path in self._lists
            if not watched or any(_inside(x, path) for x in watched)
        )
        return tuple(x for x in found if x is not None)

    def _of_list(self, path: str, watched: Sequence[str]) -> OtherLayers | None:
        layers = self._lists[path]
        attends = [any(_inside(x, f"{path}.{n}") or x == f"{path}.{n}" for x in watched)
                   for n in range(len(layers))]  # fmt: skip
        ran = [id(layer) in self._ran for layer in layers]
        numbers = [n for n in range(len(layers)) if ran[n] and not attends[n]]
        if not numbers:
            return None
        usual = {name for n, x in enumerate(layers) if attends[n] for name in _children(x)}
        names = Counter(name for n in numbers for name in _mixers(layers[n], usual))
        return OtherLayers(path, tuple(numbers), sum(ran), dict(names))


def _inside(path: str, outer: str) -> bool:
    return path != outer and path.startswith(f"{outer}." if outer else "")


def _children(layer: Any) -> list[str]:
    return list(dict.fromkeys(type(x).__name__ for x in layer.children()))


def _mixers(layer: Any, usual: set[str]) -> list[str]:
    """Classes of children that layers with attention do not have; the layer's own without any."""
    other = [name for name in _children(layer) if name not in usual]
    mixing = [name for name in other if not BESIDE_MIXING.search(name)]
    return mixing or other or [type(layer).__name__]


def why_none(others: Sequence[OtherLayers], key: LayerKey) -> str:
    """Why a layer has no attention, as a sentence; empty where that is not known."""
    found = next((x for x in others if key.layer in x.numbers), None)
    return "" if found is None else f" {found}"
