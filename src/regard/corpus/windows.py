"""Windows of a document, which fit the model, and the sums over the queries of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.heads.measures import (
    HeadMeasures,
    UniformBaseline,
    WeightStatistics,
    uniform_in_band,
    uniform_where,
)
from regard.heads.repeats import RepeatPairs, repeat_pairs
from regard.typing import Array
from regard.watcher.layer import LayerObservation
from regard.watcher.seen import Seen

MAX_LAYER_WEIGHTS = 2**18  # of a layer in memory at once: a megabyte stays in the cache


class Window(NamedTuple):
    """A segment of one document that fits the model: its tokens, and how many came before."""

    start: int
    tokens: tuple[int, ...]


def cut(
    tokens: Sequence[int], window: int, first: Sequence[int] = (), last: Sequence[int] = ()
) -> list[Window]:
    """Windows of at most ``window`` tokens, ``first`` and ``last`` put around each.

    >>> [(x.start, x.tokens) for x in cut([5, 6, 7, 8, 9], window=3, last=[3])]
    [(0, (5, 6, 3)), (3, (7, 8, 3)), (6, (9, 3))]
    """
    step = window - len(first) - len(last)
    return [
        Window(number * window, (*first, *tokens[start : start + step], *last))
        for number, start in enumerate(range(0, max(1, len(tokens)), step))
    ]


@dataclass(frozen=True)
class LengthGroup:
    """Windows of one length: a slice of the windows, and the rows of their tokens."""

    windows: slice
    rows: slice
    length: int


def window_runs(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Windows that run through the model together, the shortest first, about ``tokens`` at once.

    >>> list(window_runs([5, 2, 5, 9], tokens=8))
    [[1, 0], [2], [3]]
    """
    run: list[int] = []
    total = 0
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if run and total + lengths[i] > tokens:
            yield run
            run, total = [], 0
        run.append(i)
        total += lengths[i]
    if run:
        yield run


def length_groups(lengths: Sequence[int], heads: int) -> Iterator[LengthGroup]:
    """Windows of equal length, given in order of length, as many as fit MAX_LAYER_WEIGHTS.

    >>> [(group.windows, group.length) for group in length_groups([2, 5, 5], heads=8)]
    [(slice(0, 1, None), 2), (slice(1, 3, None), 5)]
    """
    start = row = 0
    while start < len(lengths):
        length = lengths[start]
        most = max(1, MAX_LAYER_WEIGHTS // (heads * length * length))
        stop = start + 1
        while stop < len(lengths) and lengths[stop] == length and stop - start < most:
            stop += 1
        rows = (stop - start) * length
        yield LengthGroup(slice(start, stop), slice(row, row + rows), length)
        start, row = stop, row + rows


MEASURE_NAMES = tuple(field.name for field in fields(HeadMeasures) if field.name != "distance")
MOST_RECEIVED_TOKENS = 3  # recorded of each document
COMPARED_TOKENS = 64  # heads are compared by their weights among the first tokens
POSITION_BANDS = 24  # positions in doubling bands: 0, 1, 2 to 3, 4 to 7, ...


class HeadKey(NamedTuple):
    """Part, layer and number of one head of the model."""

    part: str
    layer: int
    head: int


@dataclass(frozen=True)
class WindowSums:
    """Sums over the queries of w windows, for h heads, so that windows add up to documents.

    sums, uniform, queries (m, w, h): one entry for each of NAMES, as in Measure
    distance (w, h, b): one for each of ``bands``, a slice of BANDS
    most_keys, most (w, h, n): the most received keys of a window and what they received
    by_position (2, h, p): entropy of queries and attention received by keys, over all windows
    positions (p,): the number of tokens in each band of positions, over all windows
    cosine (h, h): cosines between heads' weights beyond the first token, added over all windows
    """

    bands: slice
    sums_mwh: Array
    uniform_mwh: Array
    queries_mwh: Array
    distance_whb: Array
    most_keys_whn: Array
    most_whn: Array
    by_position_2hp: Array
    positions_p: Array
    cosine_hh: Array

    @classmethod
    def empty(cls, windows: int, heads: int, bands: slice) -> WindowSums:
        """Zeros, to be filled window by window."""
        shape = (len(MEASURE_NAMES), windows, heads)
        return cls(
            bands,
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros((windows, heads, bands.stop - bands.start)),
            np.full((windows, heads, MOST_RECEIVED_TOKENS), -1, np.int64),
            np.zeros((windows, heads, MOST_RECEIVED_TOKENS)),
            np.zeros((2, heads, POSITION_BANDS)),
            np.zeros(POSITION_BANDS),
            np.zeros((heads, heads)),
        )

    def set_measures(
        self, windows: int | NDArray[np.intp], heads: slice, measures: HeadMeasures
    ) -> None:
        """Write the measures of one layer, whose heads are these of all."""
        for row, name in enumerate(MEASURE_NAMES):
            measure = getattr(measures, name)
            self.sums_mwh[row, windows, heads] = measure.sum_h
            self.uniform_mwh[row, windows, heads] = measure.uniform_h
            self.queries_mwh[row, windows, heads] = measure.queries_h
        self.distance_whb[windows, heads] = measures.distance.sum_h[..., self.bands]

    def set_received(
        self, windows: int | NDArray[np.intp], heads: slice, received_hk: Array
    ) -> None:
        """Write the most received keys of one layer; ``received_hk`` may have a windows axis."""
        keys, most = most_received(received_hk)
        self.most_keys_whn[windows, heads, : keys.shape[-1]] = keys
        self.most_whn[windows, heads, : most.shape[-1]] = most

    def add_by_position(self, heads: slice, entropy_hq: Array, received_hk: Array) -> None:
        """Add one layer's entropy and received attention to the bands of their positions."""
        for row, values_ht in enumerate((entropy_hq, received_hk)):
            edges = _band_edges(values_ht.shape[-1])
            sums_hp = np.add.reduceat(values_ht, edges, axis=-1)
            self.by_position_2hp[row, heads, : len(edges)] += sums_hp

    def count_positions(self, tokens: int, windows: int = 1) -> None:
        """Count the positions of ``windows`` windows of one length."""
        counts_p = np.bincount(position_bands(tokens), minlength=POSITION_BANDS)
        self.positions_p[...] += windows * counts_p

    def set_seen(self, window: int, seen: Seen) -> None:
        """Write all layers of a watched window whose query and key were kept."""
        start, compared = 0, []
        for key in seen.names:
            layer = seen[key]
            heads = slice(start, start + layer.head_shape[-1])
            self._set_layer(window, heads, layer)
            compared.append(_compared_weights(layer))
            start = heads.stop
        self.count_positions(layer.keys)
        self.cosine_hh[...] += cosines(np.concatenate(compared).astype(np.float32)[None])

    def _set_layer(self, window: int, heads: slice, layer: LayerObservation) -> None:
        if layer.measures is not None:
            self.set_measures(window, heads, layer.measures)
        received_hk = np.asarray(layer.received, np.float64)
        self.set_received(window, heads, received_hk)
        self.add_by_position(heads, np.asarray(layer.entropy, np.float64), received_hk)


@dataclass
class MeasuredRun:
    """One run of some windows through the layers of a model that returns its weights.

    ``chosen`` are the windows of this run; each group of ``tokens`` is (b, t), windows in order.
    """

    sums: WindowSums
    chosen: Sequence[int]
    tokens: Sequence[NDArray[np.int64]]
    groups: list[NDArray[np.intp]] = field(init=False)
    pairs: list[dict[str, RepeatPairs]] = field(init=False)
    uniform: list[UniformBaseline] = field(init=False)
    compared: list[list[Array]] = field(init=False)

    def __post_init__(self) -> None:
        ends = np.cumsum([len(tokens_bt) for tokens_bt in self.tokens])
        self.groups = np.split(np.array(self.chosen, np.intp), ends[:-1])
        self.pairs = [repeat_pairs(x_bt, x_bt.shape[1]) for x_bt in self.tokens]
        self.uniform = [uniform_in_band(x_bt.shape[1], x_bt.shape[1]) for x_bt in self.tokens]
        self.compared = [[] for _ in self.tokens]
        for tokens_bt in self.tokens:
            self.sums.count_positions(tokens_bt.shape[1], len(tokens_bt))

    def add(
        self,
        group: int,
        heads: slice,
        weights_bhqk: Array,
        visible_qk: NDArray[np.bool_] | None = None,
    ) -> None:
        """Measure one layer, whose heads are these of all, in one group; None: all is visible."""
        windows, statistics = self.groups[group], WeightStatistics.from_weights(weights_bhqk)
        uniform = self.uniform[group] if visible_qk is None else uniform_where(visible_qk)
        measures = statistics.measures(self.pairs[group], uniform, visible_qk)
        self.sums.set_measures(windows, heads, measures)
        self.sums.set_received(windows, heads, statistics.received_bhk)
        self.sums.add_by_position(
            heads,
            statistics.entropy_bhq.sum(axis=0, dtype=np.float64),
            statistics.received_bhk.sum(axis=0, dtype=np.float64),
        )
        few = slice(0, COMPARED_TOKENS)
        visible = None if visible_qk is None else visible_qk[few, few]
        self.compared[group].append(beyond_sink(weights_bhqk[..., few, few], visible))

    def compare_heads(self) -> None:
        """Add the cosines between heads, once all layers are measured."""
        for layers in self.compared:
            self.sums.cosine_hh[...] += cosines(np.concatenate(layers, axis=1))


def position_bands(tokens: int) -> NDArray[np.intp]:
    """The band of every position: its number of binary digits.

    >>> position_bands(9)
    array([0, 1, 2, 2, 3, 3, 3, 3, 4])
    """
    return np.frexp(np.arange(tokens))[1].astype(np.intp)


@lru_cache(maxsize=512)
def _band_edges(tokens: int) -> NDArray[np.intp]:
    return np.unique(position_bands(tokens), return_index=True)[1]


def most_received(received: Array) -> tuple[Array, Array]:
    """The MOST largest of the last axis, high to low, the first of equals first."""
    keys = np.argsort(-received, axis=-1, kind="stable")[..., :MOST_RECEIVED_TOKENS]
    return keys, np.take_along_axis(received, keys, axis=-1)


def _compared_weights(layer: LayerObservation) -> Array:
    """``beyond_sink`` of a layer whose query and key were kept, (h, x)."""
    few = slice(0, min(COMPARED_TOKENS, layer.queries)), slice(0, min(COMPARED_TOKENS, layer.keys))
    weights_hqk = layer.tile(*few)
    heads = slice(0, layer.head_shape[-1])
    visible_hqk = layer.parts[0].visibility.visible(heads, *few) if layer.parts else None
    return beyond_sink(weights_hqk, visible_hqk)


def beyond_sink(weights_bhqk: Array, visible_qk: NDArray[np.bool_] | None = None) -> Array:
    """Weights without the first key, less what would lie there evenly; queries and keys flattened.

    Most heads of a language model rest on the first token, and any two that do are alike in
    nothing else. What is left of a row is compared with an even spread over its visible keys, so
    that two heads are alike by what both prefer; a row counts by what it gives beyond the sink.

    >>> beyond_sink(np.array([[1.0, 0.0, 0.0], [0.8, 0.2, 0.0], [0.6, 0.4, 0.0]]))[[7, 8]]
    array([ 0.2, -0.2])
    """
    rest_bhqk = weights_bhqk.copy()
    rest_bhqk[..., 0] = 0
    shape = rest_bhqk.shape[-2:]
    visible = np.ones(shape, bool) if visible_qk is None else np.array(visible_qk)
    visible[..., 0] = False
    even = visible / np.maximum(visible.sum(axis=-1, keepdims=True), 1)
    rest_bhqk -= rest_bhqk.sum(axis=-1, keepdims=True) * even.astype(rest_bhqk.dtype)
    return rest_bhqk.reshape(*rest_bhqk.shape[:-2], -1)


def cosines(weights_bhx: Array) -> NDArray[np.float64]:
    """Cosines between heads in each of b windows, added over the windows: (h, h)."""
    gram_bhh = np.matmul(weights_bhx, weights_bhx.swapaxes(-1, -2)).astype(np.float64)
    size_bh = np.sqrt(np.diagonal(gram_bhh, axis1=-2, axis2=-1))
    size_bh = np.maximum(size_bh, np.finfo(np.float32).tiny)
    gram_bhh /= size_bh[:, :, None] * size_bh[:, None, :]
    sums_hh: NDArray[np.float64] = gram_bhh.sum(axis=0)
    return sums_hh
