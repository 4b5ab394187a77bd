"""What a watcher is asked to look at and to keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import ArgumentError

Layers = str | int | Iterable[int]
Spans = Mapping[str, tuple[int, int]] | Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Options:
    """Which layers to watch, how many best keys and blocks, which layers' query and key to keep.

    ``spans`` are (start, stop) in tokens of the text, by name.
    """

    layers: frozenset[int] | None
    top: int
    map: int
    keep: frozenset[int] | None
    spans: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, layers: Layers, top: int, map: int, keep: Layers, spans: Spans | None) -> Options:
        """Checked; None stands for every layer."""
        for name, number in (("top", top), ("map", map)):
            if not isinstance(number, int | np.integer) or number < 0:
                raise ArgumentError(f"{name} needs a whole number from 0 up, but it is {number!r}.")
        return cls(_layers("layers", layers), top, map, _layers("keep", keep), _spans(spans))

    def watches(self, layer: int) -> bool:
        """Whether facts of this layer are wanted."""
        return self.layers is None or layer in self.layers

    def keeps(self, layer: int) -> bool:
        """Whether query and key of this layer are kept."""
        return self.keep is None or layer in self.keep

    @property
    def edges(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The text cut wherever a span begins or ends."""
        return np.unique([place for span in self.spans.values() for place in span]).astype(np.int64)


def _layers(name: str, wanted: Layers) -> frozenset[int] | None:
    if isinstance(wanted, str):
        if wanted == "all":
            return None
    elif isinstance(wanted, int | np.integer):
        return frozenset((int(wanted),))
    else:
        numbers = list(wanted)
        if all(isinstance(x, int | np.integer) for x in numbers):
            return frozenset(int(x) for x in numbers)
    raise ArgumentError(
        f"{name} needs 'all' or numbers of layers, counted from 0, but it is {wanted!r}."
    )


def _spans(spans: Spans | None) -> Mapping[str, tuple[int, int]]:
    if spans is None:
        return {}
    pairs = dict(spans) if isinstance(spans, Mapping) else {str(i): s for i, s in enumerate(spans)}
    for name, span in pairs.items():
        whole = [isinstance(x, int | np.integer) for x in span]
        if whole != [True, True] or not 0 <= span[0] < span[1]:
            raise ArgumentError(
                f"spans needs (start, stop) in tokens, 0 <= start < stop, but {name!r} is {span!r}."
            )
    return {name: (int(a), int(b)) for name, (a, b) in pairs.items()}
