"""The job on one batch: documents in, measures out. Every engine runs this and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.blas import one_blas_thread
from regard.corpus.batching import DocumentBatch
from regard.corpus.document_measures import BatchMeasures, batch_measures
from regard.corpus.models import ModelSpec, Observer
from regard.corpus.readers import Document
from regard.corpus.window_sums import WindowSums
from regard.corpus.windows import Window
from regard.engine.threads import using_threads
from regard.errors import RegardError

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
        """Every document of a batch recorded as failed."""
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
    """All documents at once; if that fails, one by one, so that only the bad ones are left out."""
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
