"""Pieces split in two at random, so that a model learns to spell its words as well.

A rare word arrives as small pieces. A model that only ever saw the longest pieces has hardly met
the small ones; splitting a few pieces of every sentence anew in each epoch lets it practise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sentencepiece

from regard.transformer.train.corpus import Ragged
from regard.transformer.train.tokens import SYMBOLS


@dataclass(frozen=True)
class Splits:
    """Every way to write a piece as two others: those of piece v are first[v] to first[v + 1]."""

    left: np.ndarray
    right: np.ndarray
    first: np.ndarray


def find_splits(tokens: sentencepiece.SentencePieceProcessor) -> Splits:
    """List, for each piece, the pairs of pieces it is made of."""
    pieces = [tokens.id_to_piece(v) for v in range(tokens.vocab_size())]
    known = {piece: v for v, piece in enumerate(pieces) if _is_word_piece(tokens, v, piece)}
    found = [_splits_of(piece, known) if piece in known else [] for piece in pieces]
    pairs = np.array([pair for ways in found for pair in ways], dtype=np.int32).reshape(-1, 2)
    first = np.concatenate([[0], np.cumsum([len(ways) for ways in found])])
    return Splits(pairs[:, 0], pairs[:, 1], first)


def split_pieces(
    sentences: Ragged, splits: Splits, share: float, rng: np.random.Generator
) -> Ragged:
    """Replace a share of the tokens by two that spell the same."""
    tokens = sentences.tokens
    ways = np.diff(splits.first)[tokens]
    chosen = np.flatnonzero((rng.random(len(tokens), dtype=np.float32) < share) & (ways > 0))
    way = splits.first[tokens[chosen]] + (rng.random(len(chosen)) * ways[chosen]).astype(np.int64)
    repeats = np.ones(len(tokens), dtype=np.int64)
    repeats[chosen] = 2
    ends = np.cumsum(repeats)
    split = np.repeat(tokens, repeats)
    split[ends[chosen] - 2], split[ends[chosen] - 1] = splits.left[way], splits.right[way]
    return Ragged(split, np.concatenate([[0], ends])[sentences.starts])


def _is_word_piece(tokens: sentencepiece.SentencePieceProcessor, v: int, piece: str) -> bool:
    special = tokens.is_control(v) or tokens.is_unknown(v) or tokens.is_byte(v)
    return not special and piece not in SYMBOLS


def _splits_of(piece: str, known: dict[str, int]) -> list[tuple[int, int]]:
    halves = ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
    return [(known[a], known[b]) for a, b in halves if a in known and b in known]
