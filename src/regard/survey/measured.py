"""WINDOWS -> DOCUMENTS: one batch, measured, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.survey.corpus import Document
from regard.survey.windows import MOST, NAMES, Array, Facts, Head, Window

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
