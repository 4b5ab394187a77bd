"""regard.watch(model, on_step=f): the facts of every forward, given to a function as it ends.

The same source of attention, forward by forward, feeds the monitor of a training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, NotFiniteError, count
from regard.typing import Array
from regard.watcher.capture.modules import attach_hook, in_backward, uncompiled
from regard.watcher.capture.observation import (
    given_weights,
    observe_part,
    observe_weights,
    weights_with_nan,
)
from regard.watcher.capture.operators import as_call, event_segment
from regard.watcher.capture.runs import LayerKey
from regard.watcher.options import Options
from regard.watcher.seam.call import AttentionCall
from regard.watcher.seam.source import AttentionSource

if TYPE_CHECKING:
    from types import TracebackType

    from regard.engine.observation import Observation
    from regard.watcher.capture.model_call import ModelCall
    from regard.watcher.capture.segments import Segment


@dataclass(frozen=True)
class Step:
    """The attention of one forward: an observation of its queries in every layer.

    ``step[4]`` or ``step["decoder", 4]`` is one, with all leading axes (b, h): ``logsumexp`` and
    ``entropy`` (b, h, q), ``top(k)``, ``received`` (b, h, k), ``row`` and ``tile``. On a GPU facts
    stay there, and the host waits for it when one is read.
    """

    number: int
    layers: Mapping[LayerKey, Observation] = field(repr=False)
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict, repr=False)

    def __getitem__(self, layer: int | tuple[str, int]) -> Observation:
        wanted = layer if isinstance(layer, tuple) else None
        for key, seen in self.layers.items():
            if key == wanted or (wanted is None and key.layer == layer):
                return seen
        listed = ", ".join(f"{part!r}, {number}" for part, number in self.layers)
        raise ArgumentError(f"layer must be one of {listed}, got {layer!r}.")

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def keys(self) -> int:
        """Keys that the last query of this forward could see, in the layer that has most."""
        return max((seen.keys for seen in self.layers.values()), default=0)

    def weights(self, rows: int = 1) -> Array:
        """The weights of the last ``rows`` queries, (layers, b, h, rows, k).

        Keys that a layer does not have, as behind the window of a sliding cache, get 0.
        """
        tiles = [_last_rows(seen, rows) for seen in self.layers.values()]
        keys = max(tile.shape[-1] for tile in tiles)
        return np.stack(
            [np.pad(x, [(0, 0)] * (x.ndim - 1) + [(keys - x.shape[-1], 0)]) for x in tiles]
        )

    def share(self, span: str | tuple[int, int] | slice) -> Array:
        """The weight of the last query on a span of keys, (layers, b, h).

        Parameters
        ----------
        span : the name of one of the block's spans, or (start, stop) in tokens.
        """
        if isinstance(span, str):
            if span not in self.spans:
                known = ", ".join(map(repr, self.spans)) or "none"
                raise ArgumentError(f"span must be one of the block's, {known}, got {span!r}.")
            span = self.spans[span]
        where = span if isinstance(span, slice) else slice(*span)
        summed: Array = self.weights()[..., 0, where].sum(axis=-1)
        return summed

    def __repr__(self) -> str:
        return f"Step({self.number}: {count(len(self), 'layer')}, {count(self.keys, 'key')})"


def _last_rows(seen: Observation, rows: int) -> Array:
    """Weights (b, h, rows, k) of the last queries."""
    first = max(0, seen.queries - rows)
    tile: Array = seen.tile(slice(first, seen.queries), slice(0, seen.keys))
    return tile.reshape(-1, *tile.shape[-3:]) if tile.ndim != 4 else tile


class SteppedBlock(AbstractContextManager["SteppedBlock"]):
    """The block of ``with regard.watch(model, on_step=f):``; ``number`` counts its forwards.

    Nothing is recorded: what ``f`` does not keep of a step is freed.
    """

    def __init__(self, model: Any, options: Options, on_step: Callable[[Step], Any]) -> None:
        self.model, self.options, self.on_step = model, options, on_step
        self.number = 0
        self._layers: dict[LayerKey, Observation] = {}
        self._spans: Mapping[str, tuple[int, int]] | None = None  # of the first text, by its words
        self._stack = ExitStack()

    def __enter__(self) -> SteppedBlock:
        source = self._source = AttentionSource(self.model, self._observe)
        with ExitStack() as stack:
            stack.enter_context(uncompiled())
            stack.callback(attach_hook(self.model, "forward", self._end))
            stack.enter_context(source.attached())
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._layers = {}
        self._stack.close()

    def _observe(self, seen: AttentionCall) -> None:
        layer_key = LayerKey(seen.place.part, seen.place.layer)
        if not self.options.watches(layer_key.layer):
            return
        call = as_call(seen.detached)
        queries, keys = call.query.shape[2], call.key.shape[2]
        cached = not seen.causal and self._source.modules.has_cache(queries, keys)
        if self._spans is None and self.options.text_spans is not None:
            ids = self._source.modules.ids((call.query.shape[0], queries))
            self._spans = None if ids is None else self.options.text_spans.within(ids[0])
        segment = event_segment(call, seen, keys - queries if cached else 0)
        self._layers[layer_key] = _observed(call, segment, self.options)

    def _end(self, model: Any, arguments: Any, output: Any) -> None:
        if in_backward() or not self._layers:
            return
        step = Step(self.number, self._layers, self._spans or self.options.spans)
        self.number, self._layers = self.number + 1, {}
        self.on_step(step)


def _observed(call: ModelCall, segment: Segment, options: Options) -> Observation:
    """Observation of a call, by the weights where they were given or hold nan."""
    weights = given_weights(call, segment)
    if weights is None:
        try:
            return observe_part(call, segment, options, True, False, True)
        except NotFiniteError:
            weights = weights_with_nan(call, segment)
    return observe_weights(weights, segment, options)


def check_on_step(model: Any, on_step: Any) -> None:
    """Raise where a block cannot call a function after each forward."""
    if not callable(on_step):
        raise ArgumentError(f"on_step must be a function of a step, got {on_step!r:.200}.")
    if model is None:
        raise ArgumentError("on_step needs a model, whose forward is a step, got model=None.")
