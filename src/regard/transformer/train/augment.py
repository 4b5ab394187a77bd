"""Augmentation of training pairs: small changes of the text, and random splits of sub-words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sentencepiece

from regard.transformer.train.data import Pair, Ragged
from regard.transformer.train.subwords import SYMBOLS


@dataclass(frozen=True)
class Alterations:
    """The share of pairs that each change is made to."""

    joined: float = 0.05
    unstopped: float = 0.08
    lowered: float = 0.03
    titled: float = 0.02


NONE = Alterations(joined=0.0, unstopped=0.0, lowered=0.0, titled=0.0)


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
    all_splits = [_splits_of(piece, ids) if piece in ids else [] for piece in pieces]
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


def _splits_of(piece: str, ids: dict[str, int]) -> list[tuple[int, int]]:
    halves = ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
    return [(ids[a], ids[b]) for a, b in halves if a in ids and b in ids]
