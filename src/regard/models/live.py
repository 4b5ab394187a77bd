"""A watcher's runs as the layers of a Seen, made when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError
from regard.inputs.subwords import Side
from regard.models.labels import side_of_ids
from regard.models.layer import LayerSeen
from regard.models.run import Place, Run
from regard.models.track import Track
from regard.self_attention.tiles.problem import Array

if TYPE_CHECKING:
    from regard.models.watcher import Watcher

ORDER = {"encoder": 0, "decoder": 1, "cross": 2}


class Live:
    """The last run of a watcher, or a given one."""

    def __init__(self, watcher: Watcher, tokenizer: Any, number: int | None = None) -> None:
        self.watcher, self.tokenizer, self.number = watcher, tokenizer, number
        self._made: dict[tuple[int, Place, int, int], LayerSeen] = {}

    def at(self, number: int) -> Live:
        """One of several runs, from 0."""
        if not 0 <= number < len(self.watcher.runs):
            raise ArgumentError(
                f"{len(self.watcher.runs)} texts were seen, counted from 0, so none is {number}."
            )
        return Live(self.watcher, self.tokenizer, number)

    @property
    def _run(self) -> Run:
        if not self.watcher.runs:
            return Run()
        self.watcher.read()
        return self.watcher.runs[-1 if self.number is None else self.number]

    @property
    def places(self) -> tuple[Place, ...]:
        """Every watched layer: encoder, decoder, cross, then others by name."""
        return tuple(sorted(self._run.tracks, key=lambda x: (ORDER.get(x.part, 9), *x)))

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""
        return max((len(tracks) for tracks in self._run.tracks.values()), default=0)

    def memory(self) -> str:
        """The estimate of the first call."""
        held, layers = self.watcher.memory, self.watcher.watched_layers
        return (
            f"about {held.total(layers) / 1e6:,.1f} MB for {layers} layers, "
            f"{layers * held.kept / 1e6:,.1f} MB of it query and key"
        )

    def layer(self, place: Place, sentence: int) -> LayerSeen:
        """Made once for as much as was seen so far."""
        run = self._run
        track = run.tracks[place][sentence]
        track.settle()
        key = (id(run), place, sentence, track.queries)
        if key not in self._made:
            self._made[key] = self._layer(run, track, place, sentence)
        return self._made[key]

    def _layer(self, run: Run, track: Track, place: Place, sentence: int) -> LayerSeen:
        queries, keys = self._sides(run, track, place, sentence)
        problem = track.problem()
        grown = track.map
        return LayerSeen(
            track.facts(),
            track.profile(),
            () if problem is None else (problem,),
            track.keys,
            track.cost,
            name=str(place),
            queries_side=queries,
            keys_side=keys,
            row_edges=None if grown is None else grown.row_edges,
            column_edges=None if grown is None else grown.column_edges,
            measures=track.measures,
            span_names=tuple(self.watcher.options.spans),
            span_weights=self._span_weights(track),
        )

    def _span_weights(self, track: Track) -> Array | None:
        """Sums over queries become means over the queries of a span that were seen."""
        if track.span_sums is None:
            return None
        first, last = track.first_row, track.first_row + track.queries
        sizes = [
            max(0, min(stop, last) - max(start, first))
            for start, stop in self.watcher.options.spans.values()
        ]
        return np.asarray(track.span_sums / np.maximum(sizes, 1)[:, None])

    def _sides(self, run: Run, track: Track, place: Place, sentence: int) -> tuple[Side, Side]:
        """Rows and columns; in cross-attention the decoder's tokens and the encoder's."""
        if place.part.split()[0] == "cross":
            rows = self._side(run, "decoder", sentence, track.queries)
            return rows, self._side(run, "encoder", sentence, track.keys)
        keys = self._side(run, place.part, sentence, track.keys)
        if (track.first_row, track.queries) == (0, track.keys):
            return keys, keys
        ids = self._ids(run, place.part, sentence)
        start, stop = track.first_row, track.first_row + track.queries
        return side_of_ids(self.tokenizer, None if ids is None else ids[start:stop],
                           track.queries), keys  # fmt: skip

    def _side(self, run: Run, part: str, sentence: int, length: int) -> Side:
        ids = self._ids(run, part, sentence)
        if ids is not None and len(ids) != length:
            ids = None if len(ids) < length else ids[:length]
        return side_of_ids(self.tokenizer, ids, length)

    def _ids(self, run: Run, part: str, sentence: int) -> Any:
        known = run.tokens.get(part)
        return known[sentence] if known is not None and sentence < len(known) else None
