"""Batches of documents: which are surveyed, and windows of like length together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from regard.corpus.readers import Document
from regard.errors import ArgumentError

_SPAN = 2**64


class Batch(NamedTuple):
    """Documents that are worked on together and written together."""

    number: int
    documents: tuple[Document, ...]


@dataclass(frozen=True)
class Choice:
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
        kept = (document for document in documents if self._sampled(document.number))
        return islice(kept, self.limit)

    def batches(self, documents: Iterable[Document]) -> Iterator[Batch]:
        """The chosen documents, so many at a time; the last batch may be smaller."""
        chosen, number = self.chosen(documents), 0
        while held := tuple(islice(chosen, self.batch)):
            yield Batch(number, held)
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


WEIGHTS = 2**18  # weights of a layer held at once: a megabyte stays in the cache


@dataclass(frozen=True)
class Alike:
    """Windows of one length: which they are, and the rows of their tokens."""

    windows: slice
    rows: slice
    length: int


def together(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Runs of windows, the shortest first, of about so many tokens each.

    >>> list(together([5, 2, 5, 9], tokens=8))
    [[1, 0], [2], [3]]
    """
    chosen: list[int] = []
    held = 0
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if chosen and held + lengths[i] > tokens:
            yield chosen
            chosen, held = [], 0
        chosen.append(i)
        held += lengths[i]
    if chosen:
        yield chosen


def alike(lengths: Sequence[int], heads: int) -> Iterator[Alike]:
    """Windows of equal length, given in order of length, as many as keep weights in the cache.

    >>> [(group.windows, group.length) for group in alike([2, 5, 5], heads=8)]
    [(slice(0, 1, None), 2), (slice(1, 3, None), 5)]
    """
    start = row = 0
    while start < len(lengths):
        length = lengths[start]
        most = max(1, WEIGHTS // (heads * length * length))
        stop = start + 1
        while stop < len(lengths) and lengths[stop] == length and stop - start < most:
            stop += 1
        rows = (stop - start) * length
        yield Alike(slice(start, stop), slice(row, row + rows), length)
        start, row = stop, row + rows
