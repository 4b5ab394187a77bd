"""Measures of each document of a batch: the sums of its windows, as means over its queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.corpus.readers import Document
from regard.corpus.window_sums import MOST, NAMES, HeadKey, WindowSums
from regard.corpus.windows import Window
from regard.typing import Array

SHOWN = 300  # characters of a document that are recorded to show it


@dataclass(frozen=True)
class BatchMeasures:
    """Measures of one batch: n documents were read; h heads; m measures, as in NAMES.

    means_mnh is nan where a measure has no query in a document; distance_nhb the share of weight
    in each band; most_* the most received tokens, position -1 where a document has fewer. ``sums``
    are over the documents of the batch: the uniform baseline, and what WindowSums adds up over
    windows.
    """

    number: int
    heads: tuple[HeadKey, ...]
    documents: tuple[Document, ...]
    failed: tuple[Document, ...]
    tokens_n: Array
    windows_n: Array
    means_mnh: Array
    distance_nhb: Array
    most_token_nhx: Array
    most_position_nhx: Array
    most_share_nhx: Array
    pieces: tuple[str, ...]
    sums: dict[str, Array]


def batch_measures(
    number: int,
    heads: tuple[HeadKey, ...],
    read: Sequence[tuple[Document, Sequence[Window]]],
    failed: Sequence[Document],
    sums: WindowSums,
    piece: Callable[[int], str],
) -> BatchMeasures:
    """The windows of each document added up."""
    counts = np.array([len(windows) for _, windows in read], np.int64)
    starts = np.cumsum(counts) - counts
    queries_mnh = _by_document(sums.queries_mwh, starts, axis=1)
    queries_nh1 = queries_mnh[NAMES.index("entropy")][..., None]
    with np.errstate(invalid="ignore"):  # 0 / 0 is nan: a measure that a document does not have
        means_mnh = _by_document(sums.sums_mwh, starts, axis=1) / queries_mnh
        uniform_mnh = _by_document(sums.uniform_mwh, starts, axis=1) / queries_mnh
    every = [window for _, windows in read for window in windows]
    position_nhx, received_nhx = _most_received(sums, every, starts, counts)
    tokens, pieces = _tokens_at(position_nhx, [windows for _, windows in read], piece)
    return BatchMeasures(
        number=number,
        heads=heads,
        documents=tuple(document for document, _ in read),
        failed=tuple(failed),
        tokens_n=np.array([sum(len(x.tokens) for x in windows) for _, windows in read], np.int32),
        windows_n=counts.astype(np.int32),
        means_mnh=means_mnh.astype(np.float32),
        distance_nhb=_shares(_by_document(sums.distance_whb, starts, axis=0), queries_nh1),
        most_token_nhx=tokens,
        most_position_nhx=position_nhx.astype(np.int32),
        most_share_nhx=_shares(received_nhx, queries_nh1),
        pieces=pieces,
        sums=_batch_sums(sums, uniform_mnh),
    )


def _batch_sums(sums: WindowSums, uniform_mnh: Array) -> dict[str, Array]:
    return {
        "uniform_mh": np.nansum(uniform_mnh, axis=1),
        "by_position_2hp": sums.by_position_2hp,
        "positions_p": sums.positions_p,
        "cosine_hh": sums.cosine_hh,
        "windows": np.array(sums.sums_mwh.shape[1]),
    }


def _shares(sums: Array, queries: Array) -> Array:
    return (sums / queries).astype(np.float32)


def _by_document(values: Array, starts: NDArray[np.int64], axis: int) -> Array:
    """Windows added up; most documents have one, and nothing is done then."""
    if len(starts) == values.shape[axis]:
        return values
    return np.add.reduceat(values, starts, axis=axis)


def _most_received(
    sums: WindowSums,
    windows: Sequence[Window],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> tuple[Array, Array]:
    """The most received positions of each document and what they received, (n, h, MOST)."""
    begin_w11 = np.array([window.start for window in windows], np.int64)[:, None, None]
    position_whx = np.where(sums.most_keys_whn < 0, -1, sums.most_keys_whn + begin_w11)
    position_nhx, most_nhx = position_whx[starts], sums.most_whn[starts]
    for n in np.flatnonzero(counts > 1):
        windows_n = slice(starts[n], starts[n] + counts[n])
        position_hx, most_hx = (
            x[windows_n].swapaxes(0, 1).reshape(x.shape[1], -1)
            for x in (position_whx, sums.most_whn)
        )
        best = np.argsort(-most_hx, axis=1, kind="stable")[:, :MOST]
        position_nhx[n] = np.take_along_axis(position_hx, best, axis=1)
        most_nhx[n] = np.take_along_axis(most_hx, best, axis=1)
    return position_nhx, most_nhx


def _tokens_at(
    position_nhx: Array, read: Sequence[Sequence[Window]], piece: Callable[[int], str]
) -> tuple[Array, tuple[str, ...]]:
    """The tokens at these positions as indices into a list of pieces; -1 without a position."""
    token_nhx = np.full(position_nhx.shape, -1, np.int64)
    for n, windows in enumerate(read):
        tokens = np.concatenate([x.tokens for x in windows])
        token_nhx[n] = np.where(position_nhx[n] < 0, -1, tokens[position_nhx[n]])
    distinct, index_x = np.unique(token_nhx, return_inverse=True)
    pieces = tuple(piece(int(token)) for token in distinct if token >= 0)
    missing = len(distinct) - len(pieces)
    return index_x.reshape(position_nhx.shape) - missing, pieces
