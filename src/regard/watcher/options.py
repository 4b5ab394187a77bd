"""Options of regard.watch: layers to record, sizes of the facts, and spans of the text."""

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
    """Layers to record, sizes of top and map, and the layers whose query and key are kept.

    None stands for every layer. ``spans`` are (start, stop) in tokens of the text, by name.
    """

    layers: frozenset[int] | None
    top: int
    map: int
    keep: frozenset[int] | None
    spans: Mapping[str, tuple[int, int]]

    @classmethod
    def from_arguments(
        cls,
        layers: Layers = "all",
        top: int = 16,
        map: int = 512,
        keep: Layers = (),
        spans: Spans | None = None,
    ) -> Options:
        """Check the arguments of ``watch``; raises ArgumentError."""
        for name, number in (("top", top), ("map", map)):
            whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
            if not whole or number < 0:
                raise ArgumentError(f"{name} must be a whole number from 0 up, got {number!r}.")
        return cls(_layers("layers", layers), top, map, _layers("keep", keep), _spans(spans))

    def watches(self, layer: int) -> bool:
        return self.layers is None or layer in self.layers

    def keeps(self, layer: int) -> bool:
        return self.keep is None or layer in self.keep

    @property
    def edges(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The positions where a span begins or ends, sorted."""
        return np.unique([edge for span in self.spans.values() for edge in span]).astype(np.int64)


def _layers(name: str, requested: Layers) -> frozenset[int] | None:
    if isinstance(requested, str):
        if requested == "all":
            return None
    elif isinstance(requested, int | np.integer):
        return frozenset((int(requested),))
    elif isinstance(requested, Iterable):
        numbers = list(requested)
        if all(isinstance(x, int | np.integer) for x in numbers):
            return frozenset(int(x) for x in numbers)
    raise ArgumentError(
        f"{name} must be 'all' or numbers of layers, counted from 0, got {requested!r}."
    )


def _spans(spans: Spans | None) -> Mapping[str, tuple[int, int]]:
    if spans is None:
        return {}
    if not isinstance(spans, Mapping | Sequence) or isinstance(spans, str | bytes):
        raise ArgumentError(
            f"spans must be {{name: (start, stop)}} or several (start, stop), got {spans!r:.200}."
        )
    pairs = dict(spans) if isinstance(spans, Mapping) else {str(i): s for i, s in enumerate(spans)}
    for name, span in pairs.items():
        given = list(span) if isinstance(span, Iterable) else []
        integers = [isinstance(x, int | np.integer) for x in given]
        if integers != [True, True] or not 0 <= given[0] < given[1]:
            raise ArgumentError(
                f"spans must be (start, stop) in tokens, 0 <= start < stop, got {span!r} for "
                f"{name!r}."
            )
    return {name: (int(a), int(b)) for name, (a, b) in pairs.items()}
