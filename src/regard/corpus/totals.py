"""Totals of a survey: shards merged in the order of their documents, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from regard.corpus.shards import DOCUMENTS, HEADS, SUMS, Shards, part_errors
from regard.corpus.windows import MEASURE_NAMES, POSITION_BANDS
from regard.typing import Array

HISTOGRAM_BINS = 1024
EXAMPLES_PER_HEAD = 3
MIN_EXAMPLE_TOKENS = 8  # tokens of an example, while there are such documents
SHORT_PENALTY = 1e6  # added to the rank of a shorter one: more than any value


class ExampleDocument(NamedTuple):
    """A document and a head's measure in it; sorts by whether it is long enough, then by rank."""

    short: bool
    rank: float
    document: int
    part: int
    value: float


@dataclass
class Moments:
    """Mean and deviation of each measure of each head (m, h), merged shard by shard."""

    count_mh: Array
    mean_mh: Array
    squares_mh: Array

    @classmethod
    def from_values(cls, values_mnh: Array) -> Moments:
        """Moments over the documents that have the measure at all."""
        present = ~np.isnan(values_mnh)
        count_mh = present.sum(axis=1)
        mean_mh = np.where(present, values_mnh, 0).sum(axis=1) / np.maximum(count_mh, 1)
        difference = np.where(present, values_mnh - mean_mh[:, None], 0)
        return cls(count_mh, mean_mh, (difference * difference).sum(axis=1))

    def add(self, other: Moments) -> None:
        """Merge another shard: stable whatever the means are (Chan and others, 1979)."""
        count_mh = self.count_mh + other.count_mh
        share_mh = other.count_mh / np.maximum(count_mh, 1)
        difference_mh = other.mean_mh - self.mean_mh
        self.squares_mh += other.squares_mh + difference_mh**2 * self.count_mh * share_mh
        self.mean_mh += difference_mh * share_mh
        self.count_mh = count_mh

    @property
    def deviation_mh(self) -> Array:
        return np.sqrt(self.squares_mh / np.maximum(self.count_mh, 1))


@dataclass
class Totals:
    """Sums over all documents of a survey; h heads, m measures, b bands, p position bands."""

    heads: int
    bands: int
    longest: int
    documents: int = 0
    failed: int = 0
    tokens: int = 0
    windows: int = 0
    cut: int = 0
    moments: Moments = field(init=False)
    histogram_mhx: Array = field(init=False)
    distance_hb: Array = field(init=False)
    uniform_mh: Array = field(init=False)
    by_position_2hp: Array = field(init=False)
    positions_p: Array = field(init=False)
    cosine_hh: Array = field(init=False)
    most: list[list[list[ExampleDocument]]] = field(init=False)
    least: list[list[list[ExampleDocument]]] = field(init=False)

    def __post_init__(self) -> None:
        shape = (len(MEASURE_NAMES), self.heads)
        self.moments = Moments(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape))
        self.histogram_mhx = np.zeros((*shape, HISTOGRAM_BINS), np.int64)
        self.distance_hb = np.zeros((self.heads, self.bands))
        self.uniform_mh = np.zeros(shape)
        self.by_position_2hp = np.zeros((2, self.heads, POSITION_BANDS))
        self.positions_p = np.zeros(POSITION_BANDS)
        self.cosine_hh = np.zeros((self.heads, self.heads))
        self.most = [[[] for _ in range(self.heads)] for _ in MEASURE_NAMES]
        self.least = [[[] for _ in range(self.heads)] for _ in MEASURE_NAMES]

    @property
    def largest_m(self) -> Array:
        """The largest value of each measure: 1 for shares, the log of the window for entropy."""
        return np.array(
            [np.log(self.longest) if name == "entropy" else 1.0 for name in MEASURE_NAMES]
        )

    def quantiles(self, shares: Iterable[float]) -> Array:
        """(s, m, h), right to within largest / BINS: from counts in bins of that width."""
        upto_mhx = np.cumsum(self.histogram_mhx, axis=-1)
        total_mh1 = upto_mhx[..., -1:]
        quantiles = []
        for share in shares:
            bin_mh = (upto_mhx < share * total_mh1).sum(axis=-1)
            quantiles.append(
                (np.minimum(bin_mh, HISTOGRAM_BINS - 1) + 0.5)
                / HISTOGRAM_BINS
                * self.largest_m[:, None]
            )
        return np.array(quantiles)


def total(shards: Shards, parts: Iterable[int], totals: Totals) -> Totals:
    """Add up the shards, in the order of their documents."""
    for part in parts:
        sums = shards.sums(part)
        documents = shards.columns(DOCUMENTS, part, ["document", "tokens", "windows", "failed"])
        columns = shards.columns(HEADS, part, ["document", "distance", *MEASURE_NAMES])
        with part_errors(shards.path(SUMS, part)):
            _add_sums(totals, sums)
        with part_errors(shards.path(HEADS, part)):
            _add_documents(totals, documents)
            if len(columns["document"]):
                _add_heads(totals, columns, part, documents)
    return totals


def _add_documents(totals: Totals, columns: dict[str, Any]) -> None:
    read = [x is None for x in columns["failed"]]
    totals.documents += sum(read)
    totals.failed += len(read) - sum(read)
    totals.tokens += int(np.nansum(columns["tokens"].astype(np.float64)))
    totals.cut += int((columns["windows"] > 1).sum())


def _add_sums(totals: Totals, sums: dict[str, Array]) -> None:
    totals.windows += int(sums["windows"])
    for name in ("uniform_mh", "by_position_2hp", "positions_p", "cosine_hh"):
        getattr(totals, name)[...] += sums[name]


def _add_heads(totals: Totals, columns: dict[str, Any], part: int, tokens: dict[str, Any]) -> None:
    values_mnh = np.array(
        [columns[name].reshape(-1, totals.heads) for name in MEASURE_NAMES], np.float64
    )
    documents = columns["document"][:: totals.heads]
    distance_nhb = columns["distance"].reshape(len(documents), totals.heads, -1)
    totals.distance_hb += distance_nhb.sum(axis=0, dtype=np.float64)
    totals.moments.add(Moments.from_values(values_mnh))
    _count(totals, values_mnh)
    lengths = dict(zip(tokens["document"].tolist(), tokens["tokens"].tolist(), strict=True))
    short_n = np.array([lengths[number] < MIN_EXAMPLE_TOKENS for number in documents.tolist()])
    _pick_examples(totals, values_mnh, documents, short_n, part)


def _count(totals: Totals, values_mnh: Array) -> None:
    scaled = values_mnh / totals.largest_m[:, None, None] * HISTOGRAM_BINS
    bins = np.clip(np.nan_to_num(scaled), 0, HISTOGRAM_BINS - 1).astype(np.int64)
    offsets_mh = (
        np.arange(len(MEASURE_NAMES) * totals.heads).reshape(len(MEASURE_NAMES), 1, totals.heads)
        * HISTOGRAM_BINS
    )
    present = ~np.isnan(values_mnh)
    counts = np.bincount((bins + offsets_mh)[present], minlength=totals.histogram_mhx.size)
    totals.histogram_mhx += counts.reshape(totals.histogram_mhx.shape)


def _pick_examples(
    totals: Totals, values_mnh: Array, documents: Array, short_n: Array, part: int
) -> None:
    """Keep the documents with the largest and the smallest values, the first of equals."""
    for examples, sign in ((totals.most, -1), (totals.least, 1)):
        ranks_mnh = np.where(np.isnan(values_mnh), np.inf, sign * values_mnh)
        keys_mnh = ranks_mnh + SHORT_PENALTY * short_n[:, None]
        last_mh = [[_last(row) for row in rows] for rows in examples]
        for m, h in np.argwhere(keys_mnh.min(axis=1) < last_mh):
            best = np.argsort(keys_mnh[m, :, h], kind="stable")[:EXAMPLES_PER_HEAD]
            new = [
                ExampleDocument(
                    short=bool(short_n[n]),
                    rank=float(ranks_mnh[m, n, h]),
                    document=int(documents[n]),
                    part=part,
                    value=float(values_mnh[m, n, h]),
                )
                for n in best
                if np.isfinite(ranks_mnh[m, n, h])
            ]
            examples[m][h] = sorted([*examples[m][h], *new])[:EXAMPLES_PER_HEAD]


def _last(examples: list[ExampleDocument]) -> float:
    """The rank that a document must stay below to be an example."""
    return (
        examples[-1].rank + SHORT_PENALTY * examples[-1].short
        if len(examples) == EXAMPLES_PER_HEAD
        else np.inf
    )
