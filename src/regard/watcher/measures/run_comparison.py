"""Comparison of two watched runs, head by head: two prompts, two checkpoints, base and tuned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay
from regard.errors import ArgumentError, NotAskedError
from regard.heads.divergence import divergence_from_entropies, entropy_in_bits
from regard.heads.names import MEASURES
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.layer import LayerObservation
from regard.watcher.trace import Parting

if TYPE_CHECKING:
    from regard.watcher.seen import Seen

MAX_COMPARED_ROWS = 512  # queries of a layer that are compared, evenly spaced where there are more
DEFINITION = (
    "Jensen-Shannon divergence in bits of a head's rows in the two runs, the mean over aligned "
    "tokens: 0 the same, 1 nothing in common. Keys without a counterpart are one further key."
)
USUAL_DEFINITION = "the same between a head and the next one of its layer, the mean over the layer"
Positions = NDArray[np.int64]


class KeyWeight(NamedTuple):
    """The key with the largest weight of a row."""

    token: str
    position: int
    weight: float


@dataclass(frozen=True)
class RowDifference:
    """One query in both runs: its token and positions, its divergence, its best key in each."""

    token: str
    positions: tuple[int, int]
    distance: float
    one: KeyWeight
    other: KeyWeight


@dataclass(frozen=True)
class HeadDifference:
    """One head in both runs; ``distance`` and ``usual`` in bits, measures as (one, other).

    ``usual`` is the distance of two different heads of the layer, None where it has one head.
    """

    part: str
    layer: int
    head: int
    distance: float
    usual: float | None
    largest: RowDifference
    measured: dict[str, tuple[float, float]]

    def to_dict(self) -> dict[str, Any]:
        row = self.largest
        best = {"one": row.one._asdict(), "other": row.other._asdict()}
        largest = {"token": row.token, "positions": list(row.positions)} | best
        return {
            **{name: getattr(self, name) for name in ("part", "layer", "head", "distance")},
            "usual": self.usual,
            "largest": largest | {"distance": row.distance},
            "measured": {name: list(both) for name, both in self.measured.items()},
        }


@dataclass(frozen=True, repr=False)
class RunComparison(TextDisplay):
    """Every head of two runs, those that differ most first; ``print`` it for a table.

    ``aligned`` has the number of aligned tokens and the tokens of each run, by part; ``compared``
    the number of rows that were compared, by part. ``notes`` say what could not be compared.
    ``parting`` says where two judged runs on one text part by more than rounding explains.
    """

    heads: tuple[HeadDifference, ...]
    aligned: dict[str, tuple[int, int, int]]
    compared: dict[str, int]
    notes: tuple[str, ...] = ()
    definition: str = field(default=DEFINITION, repr=False)
    parting: Parting | None = None

    def to_dict(self) -> dict[str, Any]:
        names = ("aligned", "one", "other")
        return {
            "definition": self.definition,
            "usual": USUAL_DEFINITION,
            "tokens": {
                part: dict(zip(names, numbers, strict=True)) | {"compared": self.compared[part]}
                for part, numbers in self.aligned.items()
            },
            "heads": [head.to_dict() for head in self.heads],
            "notes": list(self.notes),
            "counting": "layers and heads count from 0",
            **({} if self.parting is None else {"parting": self.parting.to_dict()}),
        }


def compare(seen: Seen, other: Seen) -> RunComparison:
    """Every head in this run and in another, those that differ most first.

    Two prompts in one model, or one text in two checkpoints; layers that both runs have. Tokens
    are aligned, and a head's distance is the Jensen-Shannon divergence of its rows in bits, given
    with that of two different heads of its layer for comparison. Where both runs were judged on
    one text, ``parting`` says where they part by more than rounding explains.
    """
    common = [key for key in seen.names if key in other.names]
    if not common:
        raise ArgumentError(
            "compare needs layers that both runs have, and they have none in common: "
            f"{_listed(seen.names)} and {_listed(other.names)}."
        )
    heads: list[HeadDifference] = []
    aligned: dict[str, tuple[int, int, int]] = {}
    compared: dict[str, int] = {}
    apart: dict[str, None] = {}
    for key in common:
        pair = LayerPair.aligned(key, seen[key], other[key])
        if pair is None:
            apart[key.part] = None
            continue
        heads += pair.differences()
        aligned[key.part], compared[key.part] = pair.sizes, len(pair.rows[0])
    if not heads:
        raise ArgumentError(
            "compare needs tokens that both texts have, and there are none: compare texts that "
            "differ in a few words, or one text in two models."
        )
    heads.sort(key=lambda head: -head.distance)
    alone = [
        key
        for run, rest in ((seen, other), (other, seen))
        for key in run.names
        if key not in rest.names
    ]
    notes = [f"only in one of the runs: {_listed(alone)}."] if alone else []
    notes += [f"{part}: the texts have no token in common." for part in apart]
    for part, rows in compared.items():
        if rows < aligned[part][0]:
            notes.append(f"{part}: {rows} of {aligned[part][0]:,} aligned rows, evenly spaced.")
    return RunComparison(
        tuple(heads), aligned, compared, tuple(notes), parting=_parting(seen, other)
    )


def _parting(one: Seen, other: Seen) -> Parting | None:
    if one.verdict is None or other.verdict is None:
        return None
    return one.verdict.compare(other.verdict)


@dataclass(frozen=True)
class LayerPair:
    """One layer in two runs; ``rows`` and ``columns`` are aligned positions in each."""

    key: LayerKey
    one: LayerObservation
    other: LayerObservation
    rows: tuple[Positions, Positions]
    columns: tuple[Positions, Positions]
    sizes: tuple[int, int, int]

    @classmethod
    def aligned(
        cls, key: LayerKey, one: LayerObservation, other: LayerObservation
    ) -> LayerPair | None:
        """Align the tokens of a layer of two runs; None where they have none in common."""
        if one.head_shape != other.head_shape:
            raise ArgumentError(
                f"both runs must have the same number of heads: {key} has {one.head_shape[-1]} and "
                f"{other.head_shape[-1]}."
            )
        rows, columns = (
            aligned_positions(_text(getattr(one, x)), _text(getattr(other, x)))
            for x in ("query_text", "key_text")
        )
        sizes = (len(rows[0]), one.queries, other.queries)
        if not sizes[0] or not len(columns[0]):
            return None
        some = np.unique(
            np.linspace(0, sizes[0] - 1, min(sizes[0], MAX_COMPARED_ROWS)).astype(np.int64)
        )
        return cls(key, one, other, (rows[0][some], rows[1][some]), columns, sizes)

    def differences(self) -> list[HeadDifference]:
        one_hqk, other_hqk = self._weights(0), self._weights(1)
        distance_hq, usual = self._distances(one_hqk, other_hqk)
        heads = len(distance_hq)
        return [
            HeadDifference(
                *self.key,
                head,
                float(distance_hq[head].mean()),
                usual,
                self._row(
                    int(distance_hq[head].argmax()),
                    distance_hq[head],
                    one_hqk[head],
                    other_hqk[head],
                ),
                self._measured(head),
            )
            for head in range(heads)
        ]

    def _distances(self, one_hqk: Array, other_hqk: Array) -> tuple[Array, float | None]:
        """Distances of every head and row, and the mean one of two different heads."""
        one_hqk, other_hqk = self._merged(one_hqk, other_hqk)
        entropies = entropy_in_bits(one_hqk), entropy_in_bits(other_hqk)
        distance_hq = divergence_from_entropies(one_hqk, other_hqk, *entropies)
        if len(distance_hq) < 2:
            return distance_hq, None
        next_hqk, next_hq = (np.roll(x, 1, axis=0) for x in (other_hqk, entropies[1]))
        return distance_hq, float(
            divergence_from_entropies(one_hqk, next_hqk, entropies[0], next_hq).mean()
        )

    def _weights(self, run: int) -> Array:
        """weights_hqk of the aligned rows, on all keys."""
        layer = (self.one, self.other)[run]
        rows = self.rows[run]
        layer.check_weights("compare", "watch both runs")
        tiles = [layer.tile(part, slice(None)) for part in _slices(rows)]
        return np.asarray(np.concatenate(tiles, axis=-2), np.float64)

    def _merged(self, one_hqk: Array, other_hqk: Array) -> tuple[Array, Array]:
        """Weights on the aligned keys, and on all others together."""
        merged = []
        for weights_hqk, columns in zip((one_hqk, other_hqk), self.columns, strict=True):
            common_hqk = weights_hqk[..., columns]
            rest_hqk = np.maximum(
                weights_hqk.sum(axis=-1, keepdims=True) - common_hqk.sum(axis=-1, keepdims=True), 0
            )
            merged.append(np.concatenate([common_hqk, rest_hqk], axis=-1))
        return merged[0], merged[1]

    def _row(self, row: int, distance_q: Array, one_qk: Array, other_qk: Array) -> RowDifference:
        positions = int(self.rows[0][row]), int(self.rows[1][row])
        best = [
            KeyWeight(_text(layer.key_text)[key], key, float(weights_qk[row, key]))
            for layer, weights_qk in ((self.one, one_qk), (self.other, other_qk))
            for key in [int(weights_qk[row].argmax())]
        ]
        token = _text(self.one.query_text)[positions[0]]
        return RowDifference(token, positions, float(distance_q[row]), best[0], best[1])

    def _measured(self, head: int) -> dict[str, tuple[float, float]]:
        one, other = self.one.measures, self.other.measures
        if one is None or other is None:
            return {}
        return {
            name: (float(getattr(one, name).mean_h[head]), float(getattr(other, name).mean_h[head]))
            for name in MEASURES
        }


def aligned_positions(one: Sequence[str], other: Sequence[str]) -> tuple[Positions, Positions]:
    """Positions of the tokens that two texts have in common, in order.

    >>> aligned_positions(["the", "big", "dog"], ["the", "dog", "ran"])
    (array([0, 2]), array([0, 1]))
    """
    if list(one) == list(other):
        return np.arange(len(one)), np.arange(len(one))
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    pairs = [(x.a + i, x.b + i) for x in blocks for i in range(x.size)]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _slices(rows: Positions) -> list[slice]:
    """Runs of neighbouring rows."""
    starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2) != 1)
    return [slice(int(x[0]), int(x[-1]) + 1) for x in np.split(rows, starts[1:])]


def _text(text: TokenizedText | None) -> tuple[str, ...]:
    if text is None:
        raise NotAskedError("compare needs the tokens of both runs, and they were not recorded.")
    return text.tokens


def _listed(keys: Sequence[LayerKey]) -> str:
    return ", ".join(map(str, keys[:4])) + (", ..." if len(keys) > 4 else "")
