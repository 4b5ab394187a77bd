"""Windows of a document: what is measured of each, and how windows add up to documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.corpus.readers import Document
from regard.heads.measures import BANDS, HeadMeasures
from regard.typing import Array

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


SHOWN = 300  # characters of a document that are kept to show it


@dataclass(frozen=True)
class Measured:
    """What a batch came to. n documents were read; h heads; m measures, as in NAMES.

    means_mnh is nan where a measure has no query in a document; distance_nhb the share of weight
    in each band; most_* the most received tokens, place -1 where a document has fewer. The rest
    are sums over the documents of the batch: even_mh what even attention would give, and what Facts
    adds up over windows.
    """

    number: int
    heads: tuple[Head, ...]
    documents: tuple[Document, ...]
    failed: tuple[Document, ...]
    tokens_n: Array
    windows_n: Array
    means_mnh: Array
    distance_nhb: Array
    most_token_nhx: Array
    most_place_nhx: Array
    most_share_nhx: Array
    pieces: tuple[str, ...]
    sums: dict[str, Array]


def measured(
    number: int,
    heads: tuple[Head, ...],
    read: Sequence[tuple[Document, Sequence[Window]]],
    failed: Sequence[Document],
    facts: Facts,
    piece: Callable[[int], str],
) -> Measured:
    """Add the windows of each document up."""
    counts = np.array([len(windows) for _, windows in read], np.int64)
    starts = np.cumsum(counts) - counts
    queries_mnh = _added(facts.queries_mwh, starts, axis=1)
    queries_nh1 = queries_mnh[NAMES.index("entropy")][..., None]
    with np.errstate(invalid="ignore"):  # 0 / 0 is nan: a measure that a document does not have
        means_mnh = _added(facts.sums_mwh, starts, axis=1) / queries_mnh
        even_mnh = _added(facts.even_mwh, starts, axis=1) / queries_mnh
    place, share = _most(facts, [window for _, own in read for window in own], starts, counts)
    tokens, pieces = _named(place, [own for _, own in read], piece)
    return Measured(
        number=number,
        heads=heads,
        documents=tuple(document for document, _ in read),
        failed=tuple(failed),
        tokens_n=np.array([sum(len(x.tokens) for x in own) for _, own in read], np.int32),
        windows_n=counts.astype(np.int32),
        means_mnh=means_mnh.astype(np.float32),
        distance_nhb=_shares(_added(facts.distance_whb, starts, axis=0), queries_nh1),
        most_token_nhx=tokens,
        most_place_nhx=place.astype(np.int32),
        most_share_nhx=_shares(share, queries_nh1),
        pieces=pieces,
        sums=_sums(facts, even_mnh),
    )


def _sums(facts: Facts, even_mnh: Array) -> dict[str, Array]:
    return {
        "even_mh": np.nansum(even_mnh, axis=1),
        "by_place_2hp": facts.by_place_2hp,
        "places_p": facts.places_p,
        "alike_hh": facts.alike_hh,
        "windows": np.array(facts.sums_mwh.shape[1]),
    }


def _shares(sums: Array, queries: Array) -> Array:
    return (sums / queries).astype(np.float32)


def _added(values: Array, starts: NDArray[np.int64], axis: int) -> Array:
    """Windows added up; most documents have one, and nothing is done then."""
    if len(starts) == values.shape[axis]:
        return values
    return np.add.reduceat(values, starts, axis=axis)


def _most(
    facts: Facts, windows: Sequence[Window], starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[Array, Array]:
    """The most received places of each document and what they received, (n, h, MOST)."""
    begin_w11 = np.array([window.start for window in windows], np.int64)[:, None, None]
    place_whx = np.where(facts.most_keys_whn < 0, -1, facts.most_keys_whn + begin_w11)
    place_nhx, most_nhx = place_whx[starts], facts.most_whn[starts]
    for n in np.flatnonzero(counts > 1):
        own = slice(starts[n], starts[n] + counts[n])
        place_hx, most_hx = (
            x[own].swapaxes(0, 1).reshape(x.shape[1], -1) for x in (place_whx, facts.most_whn)
        )
        best = np.argsort(-most_hx, axis=1, kind="stable")[:, :MOST]
        place_nhx[n] = np.take_along_axis(place_hx, best, axis=1)
        most_nhx[n] = np.take_along_axis(most_hx, best, axis=1)
    return place_nhx, most_nhx


def _named(
    place_nhx: Array, read: Sequence[Sequence[Window]], piece: Callable[[int], str]
) -> tuple[Array, tuple[str, ...]]:
    """The tokens at these places as numbers into a list of pieces; -1 where there is none."""
    numbers_nhx = np.full(place_nhx.shape, -1, np.int64)
    for n, own in enumerate(read):
        tokens = np.concatenate([x.tokens for x in own])
        numbers_nhx[n] = np.where(place_nhx[n] < 0, -1, tokens[place_nhx[n]])
    known, tokens_x = np.unique(numbers_nhx, return_inverse=True)
    pieces = tuple(piece(int(number)) for number in known if number >= 0)
    missing = len(known) - len(pieces)
    return tokens_x.reshape(place_nhx.shape) - missing, pieces
