"""Links between words as spans of tokens, whatever pieces the words are split into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sentencepiece

from regard.text.tokens import MARKS, SPACE
from regard.text.words import split_words
from regard.transformer.train.data import AT_END, EncodedPairs, Ragged
from regard.transformer.train.subwords import TAGS

KINDS = ("anaphora", "alignment")
_WORDS_AT_MOST = 1 << 20


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
    def of(cls, sentences: Ragged, table: WordTable) -> WordSpans:
        """Number the words of all sentences in one ascending sequence."""
        base = np.repeat(np.arange(len(sentences)) * _WORDS_AT_MOST, sentences.lengths)
        first, last = word_numbers(sentences, table)
        return cls(sentences, base + first, base + last)

    def tokens(
        self, rows: np.ndarray, first: np.ndarray, last: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Start and stop, in their sentences, of the tokens of words `first` to `last`.

        A word that is not there has none: start equals stop. `AT_END` is the END of the source.
        """
        begin, end = self.sentences.starts[rows], self.sentences.starts[rows + 1] - 1
        start = np.searchsorted(self.last, rows * _WORDS_AT_MOST + first, side="left")
        stop = np.searchsorted(self.first, rows * _WORDS_AT_MOST + last, side="right")
        start, stop = np.clip(start, begin, end) - begin, np.clip(stop, begin, end) - begin
        at_end = first == AT_END
        length = end - begin
        start, stop = np.where(at_end, length, start), np.where(at_end, length + 1, stop)
        return start, np.maximum(start, stop)


def token_links(pairs: EncodedPairs, tables: tuple[WordTable, WordTable]) -> Ragged:
    """Links of every pair as rows (kind, query start, query stop, key start, key stop) of tokens.

    `tables` are those of sources and targets. Links whose words are not there are left out.
    """
    rows = np.flatnonzero(pairs.links.lengths)
    links = pairs.links.take(rows)
    kind, query, first, last = links.tokens.astype(np.int64).T
    local = np.repeat(np.arange(len(rows)), links.lengths)
    source = WordSpans.of(pairs.source.take(rows), tables[0])
    target = WordSpans.of(pairs.target.take(rows), tables[1])
    in_source, in_target = (side.tokens(local, query, query) for side in (source, target))
    queries = np.where(kind == KINDS.index("anaphora"), in_source, in_target)
    spans = np.column_stack([kind, *queries, *source.tokens(local, first, last)])
    valid = (spans[:, 1] < spans[:, 2]) & (spans[:, 3] < spans[:, 4])
    counts = np.zeros(len(pairs), dtype=np.int64)
    counts[rows] = np.bincount(local[valid], minlength=len(rows))
    return Ragged(spans[valid], np.concatenate([[0], np.cumsum(counts)]))
