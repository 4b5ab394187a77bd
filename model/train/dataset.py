"""Dataset of a round: corpora augmented, encoded and tagged; random splits of sub-words."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sentencepiece

from regard.errors import ArgumentError, FileError
from train.data import (
    SYMBOLS,
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
from train.recipe import TAUGHT_PARTS, Alterations, Corpus, Hyperparameters, Round


@dataclass(frozen=True)
class Dataset:
    """Pairs of a round, and the chance of each to be in an epoch."""

    pairs: EncodedPairs
    chance_n: np.ndarray

    @classmethod
    def from_pairs(cls, pairs: EncodedPairs, chance: float = 1.0) -> Dataset:
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
        raise ArgumentError(f"round {part.name!r} must have at least one corpus, got none.")
    parts = [
        encoded
        for number, corpus in enumerate(part.corpora)
        for encoded in _copies(corpus, file_stamp(corpus.path), number, tokens, hyperparameters)
    ]
    pairs = concatenate([x.pairs for x in parts])
    short = rows_within(pairs, hyperparameters.longest)
    if not len(short):
        raise FileError(
            f"round {part.name!r} must have pairs of at most {hyperparameters.longest} tokens a "
            f"side, but none of its {len(pairs):,} pairs is that short: put one sentence on a line."
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
    pairs, links = read_corpus(corpus, hyperparameters.link_parts)
    copies = []
    for copy in range(math.ceil(corpus.copies)):
        seed = (hyperparameters.seed * 100 + number) * 100 + copy
        altered = alter(pairs, hyperparameters.alterations, seed)
        chance = min(1.0, corpus.copies - copy)
        copies += [Dataset.from_pairs(x, chance) for x in _encoded(altered, links, corpus, tokens)]
    return copies


def read_corpus(corpus: Corpus, taught: Mapping[str, str]) -> tuple[list[Pair], Ragged]:
    """Pairs of a corpus that its patterns select, and their links if of a kind that is taught.

    `taught` names the part of the heads that a kind of links teaches.
    """
    if corpus.links not in taught:
        pairs = read_pairs(corpus.path)
        links = no_links(len(pairs))
    else:
        pairs, words = read_links(corpus.path)
        part = TAUGHT_PARTS.index(taught[corpus.links])
        column = np.full((len(words.tokens), 1), part, dtype=np.int32)
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
    pairs: list[Pair], links: Ragged, corpus: Corpus, tokens: sentencepiece.SentencePieceProcessor
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


def alter(pairs: Sequence[Pair], shares: Alterations, seed: int) -> list[Pair]:
    """Change a share of the pairs, the same ones for the same seed.

    >>> shares = Alterations(joined=0.0, unstopped=1.0, lowered=1.0, titled=0.0)
    >>> alter([("I am good.", "Je suis bon.")], shares, seed=0)
    [('i am good', 'Je suis bon')]
    """
    rng = random.Random(seed)
    return [_altered(pair, pairs, shares, rng) for pair in pairs]


def _altered(pair: Pair, pairs: Sequence[Pair], shares: Alterations, rng: random.Random) -> Pair:
    source, target = pair
    if rng.random() < shares.joined:
        second = pairs[rng.randrange(len(pairs))]
        source, target = f"{source} {second[0]}", f"{target} {second[1]}"
    if rng.random() < shares.unstopped and source.endswith(".") and target.endswith("."):
        source, target = source.rstrip("."), target.rstrip(".")
    if rng.random() < shares.lowered:
        source = source.lower()
    elif rng.random() < shares.titled:
        source = " ".join(word[:1].upper() + word[1:] for word in source.split())
    return (source, target) if source and target else pair


@dataclass(frozen=True)
class Splits:
    """Splits of every piece into two others: those of piece v are first[v] to first[v + 1]."""

    left: np.ndarray
    right: np.ndarray
    first: np.ndarray


def find_splits(tokens: sentencepiece.SentencePieceProcessor) -> Splits:
    """List, for each piece, the pairs of pieces it is made of."""
    pieces = [tokens.id_to_piece(v) for v in range(tokens.vocab_size())]
    ids = {piece: v for v, piece in enumerate(pieces) if _is_word_piece(tokens, v, piece)}
    all_splits = [_piece_splits(piece, ids) if piece in ids else [] for piece in pieces]
    pairs = np.array([pair for splits in all_splits for pair in splits], dtype=np.int32).reshape(
        -1, 2
    )
    first = np.concatenate([[0], np.cumsum([len(splits) for splits in all_splits])])
    return Splits(pairs[:, 0], pairs[:, 1], first)


def split_pieces(
    sentences: Ragged, splits: Splits, share: float, rng: np.random.Generator
) -> Ragged:
    """Replace a share of the tokens by two that spell the same."""
    tokens = sentences.tokens
    counts = np.diff(splits.first)[tokens]
    chosen = np.flatnonzero((rng.random(len(tokens), dtype=np.float32) < share) & (counts > 0))
    drawn = (rng.random(len(chosen)) * counts[chosen]).astype(np.int64)
    pick = splits.first[tokens[chosen]] + drawn
    repeats = np.ones(len(tokens), dtype=np.int64)
    repeats[chosen] = 2
    ends = np.cumsum(repeats)
    split = np.repeat(tokens, repeats)
    split[ends[chosen] - 2], split[ends[chosen] - 1] = splits.left[pick], splits.right[pick]
    return Ragged(split, np.concatenate([[0], ends])[sentences.starts])


def _is_word_piece(tokens: sentencepiece.SentencePieceProcessor, v: int, piece: str) -> bool:
    special = tokens.is_control(v) or tokens.is_unknown(v) or tokens.is_byte(v)
    return not special and piece not in SYMBOLS


def _piece_splits(piece: str, ids: dict[str, int]) -> list[tuple[int, int]]:
    halves = ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
    return [(ids[a], ids[b]) for a, b in halves if a in ids and b in ids]
