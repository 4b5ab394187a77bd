"""Dataset of a round: corpora augmented, encoded and tagged."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sentencepiece

from regard.errors import ArgumentError, FileError
from regard.transformer.train.augment import alter
from regard.transformer.train.data import (
    EncodedPairs,
    Pair,
    Ragged,
    concatenate,
    encode_pairs,
    file_stamp,
    no_links,
    no_targets,
    read_links,
    read_pairs,
    rows_within,
    tagged,
    without_links,
)
from regard.transformer.train.recipe import Corpus, Hyperparameters, Round
from regard.transformer.train.token_links import KINDS


@dataclass(frozen=True)
class Dataset:
    """Pairs of a round, and the chance of each to be in an epoch."""

    pairs: EncodedPairs
    chance_n: np.ndarray

    @classmethod
    def of_all(cls, pairs: EncodedPairs, chance: float = 1.0) -> Dataset:
        """Pairs with the same chance."""
        return cls(pairs, np.full(len(pairs), chance, dtype=np.float32))

    def draw(self, rng: np.random.Generator) -> EncodedPairs:
        """The pairs of one epoch; all of them where chance would leave none."""
        rows = np.flatnonzero(rng.random(len(self.pairs), dtype=np.float32) < self.chance_n)
        return self.pairs if len(rows) in (0, len(self.pairs)) else self.pairs.take(rows)


def gather(
    part: Round, tokens: sentencepiece.SentencePieceProcessor, hyperparameters: Hyperparameters
) -> Dataset:
    """The dataset of a round, without pairs longer than `hyperparameters.longest` tokens."""
    if not part.corpora:
        raise ArgumentError(f"round {part.name!r} needs text, but has none: name its files.")
    parts = [
        encoded
        for number, corpus in enumerate(part.corpora)
        for encoded in _copies(corpus, file_stamp(corpus.path), number, tokens, hyperparameters)
    ]
    pairs = concatenate([x.pairs for x in parts])
    short = rows_within(pairs, hyperparameters.longest)
    if not len(short):
        raise FileError(
            f"round {part.name!r} needs pairs of at most {hyperparameters.longest} tokens a side, "
            f"but none of its {len(pairs):,} pairs is that short: put one sentence on a line."
        )
    return Dataset(pairs.take(short), np.concatenate([x.chance_n for x in parts])[short])


# Rounds that list a corpus alike, at the same number, share its encoded copies.
@lru_cache(maxsize=16)
def _copies(
    corpus: Corpus,
    stamp: tuple[int, int],
    number: int,
    tokens: sentencepiece.SentencePieceProcessor,
    hyperparameters: Hyperparameters,
) -> list[Dataset]:
    pairs, links = read_corpus(corpus, {head.of for head in hyperparameters.taught})
    copies = []
    for copy in range(math.ceil(corpus.copies)):
        seed = (hyperparameters.seed * 100 + number) * 100 + copy
        altered = alter(pairs, hyperparameters.alterations, seed)
        chance = min(1.0, corpus.copies - copy)
        copies += [Dataset.of_all(x, chance) for x in _encoded(altered, links, corpus, tokens)]
    return copies


def read_corpus(corpus: Corpus, taught: Collection[str]) -> tuple[list[Pair], Ragged]:
    """Pairs of a corpus that its patterns select, and their links if of a kind that is taught."""
    if corpus.links not in taught:
        pairs = read_pairs(corpus.path)
        links = no_links(len(pairs))
    else:
        pairs, words = read_links(corpus.path)
        column = np.full((len(words.tokens), 1), KINDS.index(corpus.links), dtype=np.int32)
        links = Ragged(np.concatenate([column, words.tokens], 1), words.starts)
    rows = matching(pairs, corpus)
    return [pairs[row] for row in rows], links.take(rows)


def matching(pairs: list[Pair], corpus: Corpus) -> np.ndarray:
    """Numbers of the pairs whose two sides hold the corpus's patterns, of all without patterns.

    >>> from pathlib import Path
    >>> some = Corpus(Path("p.tsv"), source=r"\\bit\\b", target=r"\\belle\\b")
    >>> matching([("I saw it.", "Je le vis."), ("Is it new?", "Est-elle neuve ?")], some)
    array([1])
    """
    if not (corpus.source or corpus.target):
        return np.arange(len(pairs))
    source, target = re.compile(corpus.source), re.compile(corpus.target)
    matches = (bool(source.search(pair[0]) and target.search(pair[1])) for pair in pairs)
    return np.flatnonzero(np.fromiter(matches, dtype=bool, count=len(pairs)))


def _encoded(
    pairs: list[Pair],
    links: Ragged,
    corpus: Corpus,
    tokens: sentencepiece.SentencePieceProcessor,
) -> list[EncodedPairs]:
    encoded = encode_pairs(tokens, pairs)
    source = encoded.source
    if corpus.tag:
        source = tagged(source, tokens.piece_to_id(corpus.tag))
    target = encoded.target if corpus.translated else no_targets(len(pairs))
    forward = EncodedPairs(source, target, links)
    if not corpus.both_ways:
        return [forward]
    back = tagged(encoded.target, tokens.piece_to_id("<reverse>"))
    return [forward, without_links(back, encoded.source)]
