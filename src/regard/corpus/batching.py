"""Batches of documents: the subsample that is surveyed, so many documents at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from regard.corpus.readers import Document
from regard.errors import ArgumentError

_SPAN = 2**64


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
            raise ArgumentError(f"limit needs a whole number from 1 up, but it is {self.limit}.")
        if self.sample is not None and not 0 < self.sample <= 1:
            raise ArgumentError(
                f"sample needs a share above 0 and up to 1, but it is {self.sample:g}: 0.1 is a "
                "tenth of the documents."
            )
        if self.batch < 1:
            raise ArgumentError(f"batch needs a whole number from 1 up, but it is {self.batch}.")

    def expected(self, documents: int) -> int:
        """About how many of so many documents are chosen."""
        chosen = documents if self.sample is None else round(documents * self.sample)
        return chosen if self.limit is None else min(chosen, self.limit)

    def chosen(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents that are surveyed, in order."""
        sampled = (document for document in documents if self._sampled(document.number))
        return islice(sampled, self.limit)

    def batches(self, documents: Iterable[Document]) -> Iterator[DocumentBatch]:
        """The chosen documents, so many at a time; the last batch may be smaller."""
        chosen, number = self.chosen(documents), 0
        while batch := tuple(islice(chosen, self.batch)):
            yield DocumentBatch(number, batch)
            number += 1

    def _sampled(self, number: int) -> bool:
        return self.sample is None or mixed(number + self.seed * 0x9E3779B97F4A7C15) < (
            self.sample * _SPAN
        )


def mixed(number: int) -> int:
    """A number that looks random, 64 bits, always the same for the same number (splitmix64).

    >>> hex(mixed(0))
    '0xe220a8397b1dcdaf'
    """
    mix = (number + 0x9E3779B97F4A7C15) % _SPAN
    mix = ((mix ^ (mix >> 30)) * 0xBF58476D1CE4E5B9) % _SPAN
    mix = ((mix ^ (mix >> 27)) * 0x94D049BB133111EB) % _SPAN
    return mix ^ (mix >> 31)
