"""Batches of one shape: rows of fixed width, each packed with several pairs and their links."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import sentencepiece

from regard.text.tokens import MARKS, SPACE
from regard.text.words import split_words
from regard.transformer.config import PAD, START
from train.data import AT_END, TAGS, EncodedPairs, Ragged
from train.recipe import TAUGHT_PARTS

_PAIRS_PER_GROUP = 512  # pairs that are packed together


@dataclass(frozen=True)
class BatchShape:
    """Rows of a batch, and the positions of a row for sources and for targets."""

    rows: int
    source: int = 128
    target: int = 128


class PackedSide(NamedTuple):
    """One side of a packed batch, each of axes (b, t).

    Segments number the pairs of a row from 1, 0 is padding; positions start again in each. The row
    of a query with `start` < `stop` is taught to rest on these positions of the source.
    """

    tokens: np.ndarray
    segments: np.ndarray
    positions: np.ndarray
    start: np.ndarray
    stop: np.ndarray


class PackedBatch(NamedTuple):
    """Sources, the decoder's inputs, and its labels."""

    source: PackedSide
    given: PackedSide
    labels_bt: np.ndarray

    @property
    def size(self) -> int:
        """Tokens without padding."""
        return int((self.source.segments > 0).sum() + (self.given.segments > 0).sum())

    @property
    def filled(self) -> float:
        """The share of the rows that are used; below 1 in the last batch of an epoch."""
        return float((self.source.segments[:, 0] > 0).mean())


@dataclass(frozen=True)
class Packing:
    """Positions of the pairs of an epoch in rows; row r has pairs cuts[r] to cuts[r + 1]."""

    order: np.ndarray
    cuts: np.ndarray
    source_start: np.ndarray
    target_start: np.ndarray


def pack(pairs: EncodedPairs, shape: BatchShape, rng: np.random.Generator) -> Packing:
    """Fill rows with the shuffled pairs, several hundred at a time, the long ones first.

    Pairs longer than a row are left out. Rows are in random order; the pairs that are left over
    from the last hundreds follow.
    """
    sources, targets = pairs.source.lengths, pairs.target.lengths
    order = rng.permutation(np.flatnonzero((sources <= shape.source) & (targets <= shape.target)))
    groups = len(order) // _PAIRS_PER_GROUP
    grouped, rest = np.split(order, [groups * _PAIRS_PER_GROUP])
    row = _first_fit(sources[grouped], targets[grouped], shape)
    rest = np.concatenate([grouped[row < 0], rest])
    grouped, row = grouped[row >= 0], row[row >= 0]
    row = rng.permutation(row.max(initial=-1) + 1)[row]
    by_row = np.argsort(row, kind="stable")
    cuts = np.cumsum(np.bincount(row)[np.unique(row)]) if len(row) else np.zeros(0, dtype=int)
    rest_cuts = _row_cuts(np.cumsum(sources[rest]), np.cumsum(targets[rest]), shape)
    return _packing(
        np.concatenate([grouped[by_row], rest]),
        np.concatenate([[0], cuts, len(grouped) + np.array(rest_cuts[1:], dtype=int)]),
        (sources, targets),
    )


def _packing(order: np.ndarray, cuts: np.ndarray, sides: tuple[np.ndarray, np.ndarray]) -> Packing:
    cuts = cuts.astype(np.int64)
    starts = (_starts_in_rows(np.cumsum(side[order]), side[order], cuts) for side in sides)
    return Packing(order, cuts, *starts)


def _first_fit(sources: np.ndarray, targets: np.ndarray, shape: BatchShape) -> np.ndarray:
    """Rows of pairs, -1 for those without: in every group, the first row with space for a pair.

    All groups take their pair of a rank at once, from the longest pair down to the shortest.
    """
    lengths = np.stack([sources, targets]).reshape(2, -1, _PAIRS_PER_GROUP).astype(np.int16)
    widths = np.array([shape.source, shape.target], dtype=np.int16)
    size_gn = (lengths / widths[:, None, None]).max(axis=0)
    rank_gn = np.argsort(-size_gn, axis=1, kind="stable")
    groups = np.arange(len(size_gn))
    rows = int(1.1 * size_gn.sum(axis=1).max(initial=0)) + 2
    free = np.tile(widths[:, None, None], (1, len(groups), rows))
    row_gn = np.empty(size_gn.shape, dtype=np.int64)
    for pair_g in rank_gn.T:
        needed = lengths[:, groups, pair_g]
        fits = (free[0] >= needed[0, :, None]) & (free[1] >= needed[1, :, None])
        first_g = fits.argmax(axis=1)
        fitting_g = fits[groups, first_g]
        free[:, groups, first_g] -= needed * fitting_g
        row_gn[groups, pair_g] = np.where(fitting_g, groups * rows + first_g, -1)
    return row_gn.ravel()


def _row_cuts(sources: np.ndarray, targets: np.ndarray, shape: BatchShape) -> list[int]:
    """Cuts between the rows of pairs, given where they end, that follow one another."""
    source_ends, target_ends = sources.tolist(), targets.tolist()
    cuts, begin, source, target = [0], 0, 0, 0
    while begin < len(source_ends):
        limit = min(len(source_ends), begin + shape.source)
        begin = min(
            bisect_right(source_ends, source + shape.source, begin, limit),
            bisect_right(target_ends, target + shape.target, begin, limit),
        )
        source, target = source_ends[begin - 1], target_ends[begin - 1]
        cuts.append(begin)
    return cuts


def _starts_in_rows(ends: np.ndarray, lengths: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    starts = ends - lengths
    first = starts[cuts[:-1]] if len(starts) else starts
    result: np.ndarray = starts - np.repeat(first, np.diff(cuts))
    return result


@dataclass(frozen=True)
class Epoch:
    """One pass over the pairs: their rows, in the order they are trained on.

    The links are those of `token_links.token_links`.
    """

    pairs: EncodedPairs
    links: Ragged
    packing: Packing
    shape: BatchShape

    def __len__(self) -> int:
        return -(-(len(self.packing.cuts) - 1) // self.shape.rows)

    def batch(self, number: int) -> PackedBatch:
        """The batch of this number; rows without pairs follow the last ones."""
        cuts = self.packing.cuts[number * self.shape.rows : (number + 1) * self.shape.rows + 1]
        chosen = slice(cuts[0], cuts[-1])
        pairs = self.packing.order[chosen]
        row = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        segment = np.arange(cuts[0], cuts[-1]) - cuts[row] + 1
        source = _Side(self.shape.rows, self.shape.source, row, self.packing.source_start[chosen])
        target = _Side(self.shape.rows, self.shape.target, row, self.packing.target_start[chosen])
        sources, labels = self.pairs.source.take(pairs), self.pairs.target.take(pairs)
        spans = _spans(self.links.take(pairs), source, target)
        return PackedBatch(
            source.packed(sources, sources.tokens, segment, spans[0]),
            target.packed(labels, _shifted(labels), segment, spans[1]),
            target.filled(labels, labels.tokens, PAD),
        )


Spans = tuple[np.ndarray, np.ndarray]


class _Side(NamedTuple):
    """Rows and first positions of the pairs of a batch on one side."""

    rows: int
    width: int
    row: np.ndarray
    start: np.ndarray

    def packed(
        self, sentences: Ragged, tokens: np.ndarray, segment: np.ndarray, spans: Spans
    ) -> PackedSide:
        lengths = sentences.lengths
        position = np.arange(len(tokens)) - np.repeat(sentences.starts[:-1], lengths)
        segments = np.repeat(segment, lengths)
        return PackedSide(
            self.filled(sentences, tokens, PAD),
            self.filled(sentences, segments, 0),
            self.filled(sentences, position, 0),
            *spans,
        )

    def filled(self, sentences: Ragged, values: np.ndarray, fill: int) -> np.ndarray:
        """Values of the tokens of all sentences at their positions, `fill` elsewhere."""
        flat = np.full(self.rows * self.width, fill, dtype=np.int32)
        shift = self.row * self.width + self.start - sentences.starts[:-1]
        flat[np.arange(len(values)) + np.repeat(shift, sentences.lengths)] = values
        return flat.reshape(self.rows, self.width)


def _shifted(labels: Ragged) -> np.ndarray:
    """The decoder's inputs: START, then every label but the last."""
    given = np.concatenate([[START], labels.tokens[:-1]])
    given[labels.starts[:-1]] = START
    return given


def _spans(links: Ragged, source: _Side, target: _Side) -> tuple[Spans, Spans]:
    """Taught spans of the sources' positions and of the decoder's."""
    part, start, stop, *keys = links.tokens.T
    pair = np.repeat(np.arange(len(links)), links.lengths)
    in_source = part == TAUGHT_PARTS.index("encoder")
    # The piece that is label i is the decoder's input at position i + 1.
    shift = np.where(
        in_source,
        source.row[pair] * source.width + source.start[pair],
        target.row[pair] * target.width + target.start[pair] + 1,
    )
    first, last = (source.start[pair] + key for key in keys)
    count = stop - start
    total = int(count.sum())
    query = np.arange(total) - np.repeat(np.cumsum(count) - count - start - shift, count)
    first, last, in_source = (np.repeat(x, count) for x in (first, last, in_source))
    result = []
    for side, chosen in ((source, in_source), (target, ~in_source)):
        spans = np.zeros((2, side.rows * side.width), dtype=np.int32)
        spans[:, query[chosen]] = first[chosen], last[chosen]
        start_bt, stop_bt = spans.reshape(2, side.rows, side.width)
        result.append((start_bt, stop_bt))
    return result[0], result[1]


Prepare = Callable[[np.random.Generator], tuple[EncodedPairs, Ragged]]


def epochs(prepare: Prepare, shape: BatchShape, seed: int, first: int) -> Iterator[Epoch]:
    """Endless passes over the pairs, the next prepared in a thread while this one is used."""

    def make(number: int) -> Epoch:
        rng = np.random.default_rng((seed, number))
        pairs, links = prepare(rng)
        return Epoch(pairs, links, pack(pairs, shape, rng), shape)

    with ThreadPoolExecutor(1) as pool:
        pending: Future[Epoch] = pool.submit(make, first)
        while True:
            epoch, first = pending.result(), first + 1
            pending = pool.submit(make, first)
            yield epoch


_MAX_WORDS = 1 << 20


@dataclass(frozen=True)
class WordTable:
    """For each entry of the vocabulary, how it begins, continues and ends words.

    `begins`: its first character starts a word whatever came before. `ends`: the next piece
    starts a word. `inner`: words that begin inside it. `counted`: False for tags, which are no
    words. `space`: the lone space, part of the word after it unless that is a mark.
    """

    begins: np.ndarray
    ends: np.ndarray
    inner: np.ndarray
    counted: np.ndarray
    mark: np.ndarray
    space: int


def word_table(
    tokens: sentencepiece.SentencePieceProcessor, *, elisions: bool = False
) -> WordTable:
    """The words of each piece; with elisions a word also ends after an apostrophe."""
    pieces = [tokens.id_to_piece(v) for v in range(tokens.vocab_size())]
    special = np.array([tokens.is_control(v) or tokens.is_unknown(v) for v in range(len(pieces))])
    mark = np.array([piece.lstrip(SPACE) in MARKS for piece in pieces]) | special
    tags = np.array([piece in TAGS for piece in pieces])
    elided = np.array([elisions and piece.endswith("'") for piece in pieces])
    inner = [max(1, len(split_words(piece.lstrip(SPACE), elisions=elisions))) for piece in pieces]
    return WordTable(
        begins=np.array([piece.startswith(SPACE) for piece in pieces]) | mark,
        ends=mark | tags | elided,
        inner=np.where(mark | tags, 0, np.array(inner) - 1),
        counted=~tags,
        mark=mark,
        space=tokens.piece_to_id(SPACE),
    )


def word_numbers(sentences: Ragged, table: WordTable) -> tuple[np.ndarray, np.ndarray]:
    """First and last word of each token, counted from 0 in its sentence; END is the last word.

    A tag has the number -1.
    """
    tokens = sentences.tokens
    first = np.zeros(len(tokens), dtype=bool)
    first[sentences.starts[:-1]] = True
    after_end = np.concatenate([[True], table.ends[tokens[:-1]]]) | first
    before_mark = np.concatenate([table.mark[tokens[1:]], [False]])
    starts = (table.begins[tokens] | after_end) & table.counted[tokens]
    starts &= ~((tokens == table.space) & before_mark)
    last = np.cumsum(starts + table.inner[tokens])
    before = np.concatenate([[0], last])[sentences.starts[:-1]]
    last = last - 1 - np.repeat(before, sentences.lengths)
    return last - table.inner[tokens], last


@dataclass(frozen=True)
class WordSpans:
    """The tokens of any word of any sentence, by binary search."""

    sentences: Ragged
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def from_sentences(cls, sentences: Ragged, table: WordTable) -> WordSpans:
        """Number the words of all sentences in one ascending sequence."""
        base = np.repeat(np.arange(len(sentences)) * _MAX_WORDS, sentences.lengths)
        first, last = word_numbers(sentences, table)
        return cls(sentences, base + first, base + last)

    def tokens(
        self, rows: np.ndarray, first: np.ndarray, last: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Start and stop, in their sentences, of the tokens of words `first` to `last`.

        A word that is not there has none: start equals stop. `AT_END` is the END of the source.
        """
        begin, end = self.sentences.starts[rows], self.sentences.starts[rows + 1] - 1
        start = np.searchsorted(self.last, rows * _MAX_WORDS + first, side="left")
        stop = np.searchsorted(self.first, rows * _MAX_WORDS + last, side="right")
        start, stop = np.clip(start, begin, end) - begin, np.clip(stop, begin, end) - begin
        at_end = first == AT_END
        length = end - begin
        start, stop = np.where(at_end, length, start), np.where(at_end, length + 1, stop)
        return start, np.maximum(start, stop)


def token_links(pairs: EncodedPairs, tables: tuple[WordTable, WordTable]) -> Ragged:
    """Links of every pair as rows (part, query start, query stop, key start, key stop) of tokens.

    `tables` are those of sources and targets. Links whose words are not there are left out.
    """
    rows = np.flatnonzero(pairs.links.lengths)
    links = pairs.links.take(rows)
    part, query, first, last = links.tokens.astype(np.int64).T
    local = np.repeat(np.arange(len(rows)), links.lengths)
    source = WordSpans.from_sentences(pairs.source.take(rows), tables[0])
    target = WordSpans.from_sentences(pairs.target.take(rows), tables[1])
    in_source, in_target = (side.tokens(local, query, query) for side in (source, target))
    queries = np.where(part == TAUGHT_PARTS.index("encoder"), in_source, in_target)
    spans = np.column_stack([part, *queries, *source.tokens(local, first, last)])
    valid = (spans[:, 1] < spans[:, 2]) & (spans[:, 3] < spans[:, 4])
    counts = np.zeros(len(pairs), dtype=np.int64)
    counts[rows] = np.bincount(local[valid], minlength=len(rows))
    return Ragged(spans[valid], np.concatenate([[0], np.cumsum(counts)]))
