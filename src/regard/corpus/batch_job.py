"""The work: a batch of documents in, arrays out. Every engine runs this and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.corpus.batching import Batch
from regard.corpus.models import ModelPlace, Observer
from regard.corpus.readers import Document
from regard.corpus.windows import Facts, Measured, Window, measured
from regard.engine.tiles.blas import one_blas_thread
from regard.engine.tiles.threads import using_threads
from regard.errors import RegardError

Read = tuple[Document, list[Window]]


@dataclass(frozen=True)
class Work:
    """Measure every head of a model in every document of a batch.

    It can be pickled, and holds no model: that is loaded in the process that works.
    """

    place: ModelPlace

    def __call__(self, batch: Batch) -> Measured:
        """The same bits for the same batch, in any process: BLAS has one thread."""
        observer = self.place.observer()
        with using_threads(1), one_blas_thread():
            read, failed = _tokens(observer, batch)
            facts, read, broken = _observed(observer, read)
        return measured(
            batch.number, observer.heads, read, [*failed, *broken], facts, observer.piece
        )

    def lost(self, batch: Batch, reason: str) -> Measured:
        """Every document of a batch recorded as failed."""
        observer = self.place.observer()
        failed = [x if x.fault else x._replace(fault=reason) for x in batch.documents]
        nothing = observer.observe([])
        return measured(batch.number, observer.heads, [], failed, nothing, observer.piece)


def _tokens(observer: Observer, batch: Batch) -> tuple[list[Read], list[Document]]:
    read, failed = [], [document for document in batch.documents if document.fault]
    for document in batch.documents:
        if document.fault:
            continue
        try:
            read.append((document, observer.windows(document.text)))
        except RegardError as error:
            failed.append(document._replace(fault=str(error)))
    return read, failed


def _observed(observer: Observer, read: list[Read]) -> tuple[Facts, list[Read], list[Document]]:
    """All together; if that breaks, one by one, so that only what breaks is left out."""
    try:
        return _observe(observer, read), read, []
    except Exception:
        whole, broken = [], []
        for document, windows in read:
            try:
                _observe(observer, [(document, windows)])
                whole.append((document, windows))
            except Exception as error:
                broken.append(document._replace(fault=f"{type(error).__name__}: {error}"))
        return _observe(observer, whole), whole, broken


def _observe(observer: Observer, read: Sequence[Read]) -> Facts:
    facts = observer.observe([window for _, windows in read for window in windows])
    if not np.isfinite(facts.sums_mwh).all():
        raise ArithmeticError("the model's weights are not numbers here")
    return facts
