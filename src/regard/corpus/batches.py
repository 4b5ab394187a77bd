"""Batches of documents: the sample that is surveyed, and the job that measures one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.blas import one_blas_thread
from regard.corpus.models import ModelSpec, Observer
from regard.corpus.readers import Document
from regard.corpus.windows import MEASURE_NAMES, MOST_RECEIVED_TOKENS, HeadKey, Window, WindowSums
from regard.engine.threads import using_threads
from regard.errors import ArgumentError, RegardError
from regard.typing import Array

_HASH_RANGE = 2**64


class DocumentBatch(NamedTuple):
    """Documents that are measured together and written as one shard."""

    number: int
    documents: tuple[Document, ...]


@dataclass(frozen=True)
class Sampling:
    """All documents, or a ``sample`` (a share, from 0 to 1) of them; of these at most ``limit``.

    Whether a document belongs to the sample depends on its number and the seed alone.
    """

    limit: int | None = None
    sample: float | None = None
    seed: int = 0
    batch: int = 256

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ArgumentError(f"limit must be at least 1, got {self.limit}.")
        if self.sample is not None and not 0 < self.sample <= 1:
            raise ArgumentError(
                f"sample must be above 0 and at most 1, got {self.sample:g}: 0.1 is a tenth of the "
                "documents."
            )
        if self.batch < 1:
            raise ArgumentError(f"batch must be at least 1, got {self.batch}.")

    def expected(self, documents: int) -> int:
        """Expected sample size for this number of documents."""
        chosen = documents if self.sample is None else round(documents * self.sample)
        return chosen if self.limit is None else min(chosen, self.limit)

    def chosen(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents that are surveyed, in order."""
        sampled = (document for document in documents if self._sampled(document.number))
        return islice(sampled, self.limit)

    def batches(self, documents: Iterable[Document]) -> Iterator[DocumentBatch]:
        """The chosen documents in batches; the last one may be smaller."""
        chosen, number = self.chosen(documents), 0
        while batch := tuple(islice(chosen, self.batch)):
            yield DocumentBatch(number, batch)
            number += 1

    def _sampled(self, number: int) -> bool:
        return self.sample is None or hash64(number + self.seed * 0x9E3779B97F4A7C15) < (
            self.sample * _HASH_RANGE
        )


def hash64(number: int) -> int:
    """A 64-bit hash of a number (splitmix64).

    >>> hex(hash64(0))
    '0xe220a8397b1dcdaf'
    """
    mix = (number + 0x9E3779B97F4A7C15) % _HASH_RANGE
    mix = ((mix ^ (mix >> 30)) * 0xBF58476D1CE4E5B9) % _HASH_RANGE
    mix = ((mix ^ (mix >> 27)) * 0x94D049BB133111EB) % _HASH_RANGE
    return mix ^ (mix >> 31)


RECORDED_CHARACTERS = 300  # of a document, to show it as an example


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
    queries_nh1 = queries_mnh[MEASURE_NAMES.index("entropy")][..., None]
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
    """Sums over the windows of each document; most documents have one, which is returned as is."""
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
        best = np.argsort(-most_hx, axis=1, kind="stable")[:, :MOST_RECEIVED_TOKENS]
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


Tokenized = tuple[Document, list[Window]]


@dataclass(frozen=True)
class BatchJob:
    """Measures every head of a model in every document of a batch.

    It can be pickled, and holds no model: the process that runs it loads one.
    """

    model: ModelSpec

    def __call__(self, batch: DocumentBatch) -> BatchMeasures:
        """The same bits for the same batch, in any process: BLAS has one thread."""
        observer = self.model.observer()
        with using_threads(1), one_blas_thread():
            read, unreadable = _tokenize(observer, batch)
            sums, read, failed = _observe_each(observer, read)
        return batch_measures(
            batch.number, observer.heads, read, [*unreadable, *failed], sums, observer.piece
        )

    def failed(self, batch: DocumentBatch, reason: str) -> BatchMeasures:
        observer = self.model.observer()
        failed = [x if x.fault else x._replace(fault=reason) for x in batch.documents]
        no_sums = observer.observe([])
        return batch_measures(batch.number, observer.heads, [], failed, no_sums, observer.piece)


def _tokenize(observer: Observer, batch: DocumentBatch) -> tuple[list[Tokenized], list[Document]]:
    read, failed = [], [document for document in batch.documents if document.fault]
    for document in batch.documents:
        if document.fault:
            continue
        try:
            read.append((document, observer.windows(document.text)))
        except RegardError as error:
            failed.append(document._replace(fault=str(error)))
    return read, failed


def _observe_each(
    observer: Observer, read: list[Tokenized]
) -> tuple[WindowSums, list[Tokenized], list[Document]]:
    """All documents at once; if that fails, one by one, to leave out only those that fail."""
    try:
        return _observe(observer, read), read, []
    except Exception:
        good, failed = [], []
        for document, windows in read:
            try:
                _observe(observer, [(document, windows)])
                good.append((document, windows))
            except Exception as error:
                failed.append(document._replace(fault=f"{type(error).__name__}: {error}"))
        return _observe(observer, good), good, failed


def _observe(observer: Observer, read: Sequence[Tokenized]) -> WindowSums:
    sums = observer.observe([window for _, windows in read for window in windows])
    if not np.isfinite(sums.sums_mwh).all():
        raise ArithmeticError("the model's weights are not numbers here")
    return sums
