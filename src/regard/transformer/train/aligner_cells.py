"""Cells of a word aligner: every source word of a pair with every target word, in flat arrays.

Pairs of one size stand together in blocks, so that a block's cells are one array without padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.text.words import split_words
from regard.transformer.train.data import Pair

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]

PREFIX = 6  # a word is known by its first letters: French and English endings hide the stem
LONGEST = 60  # words of a sentence; a pair with a longer one is left out
BLOCK_CELLS = 1 << 18  # the arrays of a block stay in the cache
SLAB_BITS = 24  # 2^24 cells are sorted and counted at once


@dataclass(frozen=True)
class SentenceBlock:
    """Pairs of one size: their rows, their words, and where their cells begin.

    Cells are in the order (b, q, k): pair, target word, source word.
    """

    rows: Int64Array
    source_bk: Int32Array
    target_bq: Int32Array
    start: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Pairs, target words and source words."""
        pairs, targets = self.target_bq.shape
        return pairs, targets, self.source_bk.shape[1]

    @property
    def stop(self) -> int:
        """The end of the block's cells."""
        return int(self.start + self.target_bq.size * self.source_bk.shape[1])


Slab = list[SentenceBlock]


@dataclass(frozen=True)
class Cells:
    """All cells of a corpus, and the lexicon: the pairs of words that share a cell.

    ``entries`` has the number in the lexicon of each cell, ``source_of`` and ``target_of`` the
    words of each entry, ``same`` whether they are written alike.
    """

    slabs: list[Slab]
    entries: Int32Array
    source_of: Int32Array
    target_of: Int32Array
    same: NDArray[np.bool_]
    sources: int
    targets: int

    @property
    def target_counts(self) -> Int64Array:
        """How often each target word occurs."""
        words = [block.target_bq.ravel() for slab in self.slabs for block in slab]
        return np.bincount(np.concatenate(words), minlength=self.targets)

    def entries_of(self, block: SentenceBlock) -> Int32Array:
        """The entries of a block's cells, (b, q, k)."""
        return self.entries[block.start : block.stop].reshape(block.shape)


@dataclass(frozen=True)
class _Words:
    """One language: the number of every word, and where each sentence begins."""

    numbers: Int32Array
    starts: Int64Array
    vocabulary: dict[str, int]

    @property
    def lengths(self) -> Int64Array:
        return np.diff(self.starts)

    def take(self, rows: Int64Array, length: int) -> Int32Array:
        taken: Int32Array = self.numbers[self.starts[rows, None] + np.arange(length)]
        return taken


def corpus_cells(pairs: Sequence[Pair]) -> Cells:
    """The cells of sentence pairs; pairs with an overlong sentence are left out."""
    source = _words([split_words(pair[0].lower()) for pair in pairs])
    target = _words([split_words(pair[1].lower(), elisions=True) for pair in pairs])
    slabs = list(_slabs(_blocks(source, target)))
    keys, entries = _lexicon(slabs, len(target.vocabulary))
    source_of, target_of = np.divmod(keys, max(1, len(target.vocabulary)))
    twins = np.array([target.vocabulary.get(word, -1) for word in source.vocabulary], dtype=int)
    return Cells(
        slabs,
        entries,
        source_of.astype(np.int32),
        target_of.astype(np.int32),
        twins[source_of] == target_of,
        len(source.vocabulary),
        len(target.vocabulary),
    )


def _words(sentences: Sequence[Sequence[str]]) -> _Words:
    stems = [[word[:PREFIX] for word in sentence] for sentence in sentences]
    different = dict.fromkeys(stem for sentence in stems for stem in sentence)
    vocabulary = {stem: number for number, stem in enumerate(different)}
    numbers = np.fromiter((vocabulary[x] for sentence in stems for x in sentence), np.int32)
    starts = np.cumsum([0, *map(len, stems)])
    return _Words(numbers, starts, vocabulary)


def _blocks(source: _Words, target: _Words) -> Iterator[SentenceBlock]:
    """Pairs sorted by their two lengths, those of one size together."""
    keys, queries = source.lengths, target.lengths
    longest, shortest = np.maximum(keys, queries), np.minimum(keys, queries)
    usable = np.flatnonzero((shortest > 0) & (longest <= LONGEST))
    order = usable[np.lexsort((keys[usable], queries[usable]))]
    sizes = queries[order] * (LONGEST + 1) + keys[order]
    start = 0
    for group in np.split(order, np.flatnonzero(np.diff(sizes)) + 1) if len(order) else ():
        sources, targets = int(keys[group[0]]), int(queries[group[0]])
        step = max(1, BLOCK_CELLS // (sources * targets))
        for first in range(0, len(group), step):
            rows = group[first : first + step]
            block = SentenceBlock(
                rows, source.take(rows, sources), target.take(rows, targets), start
            )
            yield block
            start = block.stop


def _slabs(blocks: Iterator[SentenceBlock]) -> Iterator[Slab]:
    """Neighbouring blocks with at most 2^SLAB_BITS cells together."""
    slab: Slab = []
    for block in blocks:
        if slab and block.stop - slab[0].start > 1 << SLAB_BITS:
            yield slab
            slab = []
        slab.append(block)
    if slab:
        yield slab


def _lexicon(slabs: Sequence[Slab], targets: int) -> tuple[Int64Array, Int32Array]:
    """Sorted keys (source word * targets + target word), and the index of every cell's key."""
    entries = np.zeros(slabs[-1][-1].stop if slabs else 0, np.int32)
    of_slab = []
    for slab in slabs:
        keys, entries[slab[0].start : slab[-1].stop] = _sorted_keys(slab, targets)
        of_slab.append(keys)
    every_key = np.sort(np.concatenate([np.zeros(0, np.int64), *of_slab]))
    every_key = every_key[_changes(every_key)]
    for slab, keys in zip(slabs, of_slab, strict=True):
        cells = slice(slab[0].start, slab[-1].stop)
        entries[cells] = np.searchsorted(every_key, keys).astype(np.int32)[entries[cells]]
    return every_key, entries


def _sorted_keys(slab: Slab, targets: int) -> tuple[Int64Array, Int32Array]:
    """Unique keys of a slab and each cell's index among them.

    Key and position are sorted as one integer: several times as fast as sorting indices.
    """
    keys = np.concatenate([_keys(block, targets) for block in slab])
    packed = np.sort(keys << SLAB_BITS | np.arange(len(keys)))
    keys = packed >> SLAB_BITS
    first = _changes(keys)
    indices = np.empty(len(keys), np.int32)
    indices[packed & ((1 << SLAB_BITS) - 1)] = np.cumsum(first) - 1
    return keys[first], indices


def _changes(sorted_keys: Int64Array) -> NDArray[np.bool_]:
    """Whether each key differs from the one before; np.unique would hash them, and is slower."""
    return np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]])[: len(sorted_keys)]


def _keys(block: SentenceBlock, targets: int) -> Int64Array:
    source_bk = block.source_bk.astype(np.int64) * targets
    keys: Int64Array = (source_bk[:, None, :] + block.target_bq[:, :, None]).ravel()
    return keys
