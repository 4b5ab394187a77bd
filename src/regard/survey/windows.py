"""What is measured of each window of a document, and how windows add up to documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.heads import BANDS, HeadMeasures

Array = NDArray[Any]
NAMES = tuple(field.name for field in fields(HeadMeasures) if field.name != "distance")
"""entropy, first, itself, previous, next, duplicate, induction: as in HeadMeasures."""
MOST = 3  # most received tokens that are kept of a document
COMPARED = 64  # heads are compared by their weights among this many first tokens
PLACES = 24  # positions in doubling bands: 0, 1, 2 to 3, 4 to 7, ...


class Head(NamedTuple):
    """One head of the model."""

    part: str
    layer: int
    head: int


class Window(NamedTuple):
    """A stretch of one document that fits the model: its tokens, and how many came before."""

    start: int
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """What was seen in w windows by h heads; sums over queries, so that windows add up.

    sums, even, queries (m, w, h): one entry for each of NAMES, as in Measure
    distance (w, h, b): one for each of the bands; most_keys, most (w, h, n): the most received
    keys of a window and what they received; by_place (2, h, p): entropy of queries and attention
    received by keys, added over all windows by position; places (p,): how many positions that
    were; alike (h, h): cosines between heads, added over all windows.
    """

    sums_mwh: Array
    even_mwh: Array
    queries_mwh: Array
    distance_whb: Array
    most_keys_whn: Array
    most_whn: Array
    by_place_2hp: Array
    places_p: Array
    alike_hh: Array

    @classmethod
    def empty(cls, windows: int, heads: int, bands: int) -> Facts:
        """Room for what is yet to be seen."""
        shape = (len(NAMES), windows, heads)
        return cls(
            np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((windows, heads, bands)),
            np.full((windows, heads, MOST), -1, np.int64), np.zeros((windows, heads, MOST)),
            np.zeros((2, heads, PLACES)), np.zeros(PLACES), np.zeros((heads, heads)),
        )  # fmt: skip


def cut(
    tokens: Sequence[int], room: int, first: Sequence[int] = (), last: Sequence[int] = ()
) -> list[Window]:
    """Windows of at most ``room`` tokens, ``first`` and ``last`` put around each.

    >>> [(x.start, x.tokens) for x in cut([5, 6, 7, 8, 9], room=3, last=[3])]
    [(0, (5, 6, 3)), (3, (7, 8, 3)), (6, (9, 3))]
    """
    step = room - len(first) - len(last)
    return [
        Window(number * room, (*first, *tokens[start : start + step], *last))
        for number, start in enumerate(range(0, max(1, len(tokens)), step))
    ]


def bands_within(room: int) -> slice:
    """The bands of BANDS that a window of so many tokens can fill.

    >>> BANDS[bands_within(4)]
    ((2, 3), (1, 1), (0, 0), (-1, -1), (-2, -3))
    """
    reach, middle = (room - 1).bit_length(), BANDS.index((0, 0))
    return slice(middle - reach, middle + reach + 1)


def place_bands(tokens: int) -> NDArray[np.intp]:
    """The band of every position: its number of binary digits.

    >>> place_bands(9)
    array([0, 1, 2, 2, 3, 3, 3, 3, 4])
    """
    return np.frexp(np.arange(tokens))[1].astype(np.intp)


def most_received(received: Array) -> tuple[Array, Array]:
    """The MOST largest of the last axis, high to low, the first of equals first; -1 fills up."""
    keys = np.argsort(-received, axis=-1, kind="stable")[..., :MOST]
    return keys, np.take_along_axis(received, keys, axis=-1)


def cosines(weights_bhx: Array) -> NDArray[np.float64]:
    """How alike heads are in each of b windows, added over the windows: (h, h)."""
    gram_bhh = np.matmul(weights_bhx, weights_bhx.swapaxes(-1, -2)).astype(np.float64)
    size_bh = np.sqrt(np.diagonal(gram_bhh, axis1=-2, axis2=-1))
    size_bh = np.maximum(size_bh, np.finfo(np.float32).tiny)
    gram_bhh /= size_bh[:, :, None] * size_bh[:, None, :]
    added_hh: NDArray[np.float64] = gram_bhh.sum(axis=0)
    return added_hh
