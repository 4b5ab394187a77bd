"""Short texts measured from their weights: the definitions of HeadMeasures, many texts at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from regard.corpus.windows import (
    COMPARED,
    NAMES,
    PLACES,
    Facts,
    cosines,
    most_received,
    place_bands,
)
from regard.heads.measures import BANDS
from regard.typing import Array

_ROW = {name: number for number, name in enumerate(NAMES)}


@dataclass(frozen=True)
class Repeats:
    """Where a query's token stands elsewhere, and what follows it there.

    ``texts`` are those of the group that repeat any token; marks_bqk2 is True at such keys.
    """

    texts: NDArray[np.intp]
    marks_bqk2: NDArray[np.bool_]

    @cached_property
    def numbers_bx2(self) -> Array:
        """The marks as numbers, (b, q * k, 2), to multiply weights with."""
        texts, length = self.marks_bqk2.shape[:2]
        return self.marks_bqk2.reshape(texts, length * length, 2).astype(np.float32)

    def counted(self, visible_qk: NDArray[np.bool_]) -> tuple[Array, Array]:
        """What even attention gives to marked keys, and queries that see any; (b, 2) each."""
        number_bq2 = (self.marks_bqk2 & visible_qk[..., None]).sum(axis=2)
        choices_q1 = np.maximum(visible_qk.sum(axis=1), 1)[:, None]
        return (number_bq2 / choices_q1).sum(axis=1), (number_bq2 > 0).sum(axis=1)


@dataclass
class Measuring:
    """Puts what is measured of one run through the layers into its place among all windows.

    ``chosen`` are the windows of this run; each group of ``tokens`` is (b, t), windows in order.
    """

    facts: Facts
    chosen: Sequence[int]
    bands: slice
    tokens: Sequence[NDArray[np.int64]]
    groups: list[NDArray[np.intp]] = field(init=False)
    repeats: list[Repeats] = field(init=False)
    compared: list[list[Array]] = field(init=False)

    def __post_init__(self) -> None:
        ends = np.cumsum([len(tokens_bt) for tokens_bt in self.tokens])
        self.groups = np.split(np.array(self.chosen, np.intp), ends[:-1])
        self.repeats = [find_repeats(tokens_bt) for tokens_bt in self.tokens]
        self.compared = [[] for _ in self.tokens]
        for tokens_bt in self.tokens:
            places = np.bincount(place_bands(tokens_bt.shape[1]), minlength=PLACES)
            self.facts.places_p[...] += len(tokens_bt) * places

    def add(
        self, group: int, heads: slice, weights_bhqk: Array, visible_qk: NDArray[np.bool_]
    ) -> None:
        """Measure one layer, whose heads are these of all, in one group."""
        windows, facts, length = self.groups[group], self.facts, weights_bhqk.shape[-1]
        distance_bhn = by_distance(weights_bhqk)
        received_bhk = weights_bhqk.sum(axis=-2)
        entropy_bhq = entropy(weights_bhqk)
        place = {
            "entropy": entropy_bhq.sum(axis=-1),
            "first": received_bhk[..., 0],
            "itself": distance_bhn[..., length - 1],
            "previous": _at(distance_bhn, length - 2),
            "next": _at(distance_bhn, length),
        }
        for name, sums_bh in place.items():
            facts.sums_mwh[_ROW[name], windows, heads] = sums_bh
        facts.distance_whb[windows, heads] = banded(distance_bhn, self.bands)
        most = most_received(received_bhk)
        facts.most_keys_whn[windows, heads, : most[0].shape[-1]] = most[0]
        facts.most_whn[windows, heads, : most[1].shape[-1]] = most[1]
        self._even(windows, heads, visible_qk)
        self._repeated(group, heads, weights_bhqk, visible_qk)
        self._by_place(heads, entropy_bhq, received_bhk)
        first = weights_bhqk[..., :COMPARED, :COMPARED]
        self.compared[group].append(first.reshape(*first.shape[:2], -1).copy())

    def end(self) -> None:
        """Compare heads, once all layers are there."""
        for layers in self.compared:
            self.facts.alike_hh[...] += cosines(np.concatenate(layers, axis=1))

    def _repeated(
        self, group: int, heads: slice, weights_bhqk: Array, visible_qk: NDArray[np.bool_]
    ) -> None:
        found = self.repeats[group]
        if not found.texts.size:
            return
        weights_bhx = weights_bhqk[found.texts].reshape(len(found.texts), weights_bhqk.shape[1], -1)
        sums_bh2 = np.matmul(weights_bhx, found.numbers_bx2)
        even_b2, queries_b2 = found.counted(visible_qk)
        windows, facts = self.groups[group][found.texts], self.facts
        for column, name in enumerate(("duplicate", "induction")):
            facts.sums_mwh[_ROW[name], windows, heads] = sums_bh2[..., column]
            facts.even_mwh[_ROW[name], windows, heads] = even_b2[:, column, None]
            facts.queries_mwh[_ROW[name], windows, heads] = queries_b2[:, column, None]

    def _by_place(self, heads: slice, entropy_bhq: Array, received_bhk: Array) -> None:
        edges = _place_edges(entropy_bhq.shape[-1])
        for row, values in enumerate((entropy_bhq, received_bhk)):
            banded_hp = np.add.reduceat(values.sum(axis=0, dtype=np.float64), edges, axis=-1)
            self.facts.by_place_2hp[row, heads, : len(edges)] += banded_hp

    def _even(self, windows: NDArray[np.intp], heads: slice, visible_qk: NDArray[np.bool_]) -> None:
        """Baselines and numbers of queries, the same for every head of a layer."""
        choices_q1 = np.maximum(visible_qk.sum(axis=1), 1)[:, None]
        even_qk = visible_qk / choices_q1
        even = {
            "entropy": np.log(choices_q1).sum(), "first": even_qk[:, 0].sum(),
            "itself": np.trace(even_qk), "previous": np.trace(even_qk, -1),
            "next": np.trace(even_qk, 1),
        }  # fmt: skip
        for name, number in even.items():
            self.facts.even_mwh[_ROW[name], windows, heads] = number
            self.facts.queries_mwh[_ROW[name], windows, heads] = visible_qk.any(axis=1).sum()


def find_repeats(tokens_bt: NDArray[np.int64]) -> Repeats:
    """Mark the keys that ``duplicate`` and ``induction`` look for, visible or not."""
    length = tokens_bt.shape[1]
    ordered_bt = np.sort(tokens_bt, axis=1)
    texts = np.flatnonzero((ordered_bt[:, 1:] == ordered_bt[:, :-1]).any(axis=1))
    tokens_bt = tokens_bt[texts]
    other_qk = ~np.eye(length, dtype=bool)
    same_bqk = (tokens_bt[:, :, None] == tokens_bt[:, None, :]) & other_qk
    after_bqk = np.zeros_like(same_bqk)
    after_bqk[:, :, 1:] = same_bqk[:, :, :-1]
    after_bqk &= other_qk
    return Repeats(texts, np.stack([same_bqk, after_bqk], axis=-1))


def entropy(weights_bhqk: Array) -> Array:
    """In nats, one number a query."""
    logs = np.maximum(weights_bhqk, np.finfo(weights_bhqk.dtype).tiny)
    np.log(logs, out=logs)
    logs *= weights_bhqk
    entropy_bhq: Array = -logs.sum(axis=-1)
    return entropy_bhq


def by_distance(weights_bhqk: Array) -> Array:
    """Weight added along every diagonal, far back first: (b, h, 2 t - 1), the own place at t - 1.

    >>> by_distance(np.array([[[[1.0, 2.0], [3.0, 4.0]]]]))[0, 0]
    array([3., 5., 2.])
    """
    texts, heads, length, _ = weights_bhqk.shape
    # Rows of 2 t numbers, read as rows of 2 t - 1, stand one place further right each.
    skewed = np.zeros((texts, heads, length, 2 * length), weights_bhqk.dtype)
    skewed[..., :length] = weights_bhqk[..., ::-1]
    flat = skewed.reshape(texts, heads, -1)[..., : length * (2 * length - 1)]
    added = np.add.reduce(flat.reshape(texts, heads, length, 2 * length - 1), axis=2)
    return np.ascontiguousarray(added[..., ::-1])


def banded(distance_bhn: Array, bands: slice) -> Array:
    """Weight by doubling distance, far back first, for these of BANDS."""
    edges, places = _band_edges(distance_bhn.shape[-1], bands.start, bands.stop)
    sums = np.zeros((*distance_bhn.shape[:2], bands.stop - bands.start))
    sums[..., places] = np.add.reduceat(distance_bhn, edges, axis=-1)
    return sums


@lru_cache(maxsize=512)
def _place_edges(length: int) -> NDArray[np.intp]:
    return np.unique(place_bands(length), return_index=True)[1]


@lru_cache(maxsize=512)
def _band_edges(distances: int, start: int, stop: int) -> tuple[NDArray[np.intp], slice]:
    """Where each band begins among the distances, and which bands these are."""
    length = (distances + 1) // 2
    far = [near for near, _ in BANDS[start:stop] if abs(near) < length]
    first = next(i for i, (near, _) in enumerate(BANDS[start:stop]) if abs(near) < length)
    ends = [min(2 * near - 1, length - 1) if near > 0 else near for near in far]
    edges = np.array([length - 1 - end for end in ends], np.intp)
    return edges, slice(first, first + len(far))


def _at(distance_bhn: Array, index: int) -> Array:
    if not 0 <= index < distance_bhn.shape[-1]:
        return np.zeros(distance_bhn.shape[:-1], distance_bhn.dtype)
    column: Array = distance_bhn[..., index]
    return column
