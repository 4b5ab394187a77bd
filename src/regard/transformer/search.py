"""TOKENS -> TOKENS: choosing a translation, token by token.

Beam search keeps the few best beginnings of each sentence, judged by the mean log-probability of
their tokens, so that short ones are not preferred. Greedy search is beam search with one beam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.engine.tiles.topk import largest
from regard.errors import ArgumentError
from regard.transformer.config import END, PAD, START, Config
from regard.transformer.decoding import Decoding, Numbers
from regard.transformer.model import Transformer
from regard.typing import Array

NEVER = np.float32(-1e9)


@dataclass(frozen=True)
class Search:
    """How to choose: beams kept, and the power of the length that scores are divided by."""

    beams: int = 4
    length_power: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.beams, int) or self.beams < 1:
            raise ArgumentError(f"beams needs a whole number from 1 up, but it is {self.beams!r}.")


BEAM = Search()


@dataclass(frozen=True)
class Found:
    """A translation as tokens, without END; the mean log-probability of its tokens.

    ``finished`` is False where it was cut because it had grown to its limit without an END.
    """

    tokens: tuple[int, ...]
    score: float
    finished: bool


@dataclass
class _Beams:
    """Beginnings of sentences that are not over; the best of each sentence comes first."""

    sentence_b: Numbers
    said_nt: Numbers
    score_n: NDArray[np.float32]
    length_n: NDArray[np.float32]
    over_n: NDArray[np.bool_]

    @classmethod
    def first(cls, batch: int, beams: int) -> _Beams:
        """START alone; the other beams must not repeat the first one, so they begin at NEVER."""
        score_bn = np.full((batch, beams), NEVER)
        score_bn[:, 0] = 0
        rows = batch * beams
        return cls(
            np.arange(batch), np.full((rows, 1), START), score_bn.reshape(-1),
            np.zeros(rows, np.float32), np.zeros(rows, bool),
        )  # fmt: skip


def beam_search(
    model: Transformer, sources: Sequence[Sequence[int]], search: Search = BEAM
) -> list[Found]:
    """The best translation found of each source; a source is its tokens and END.

    A translation that is over keeps its place among the beams until all of them are over.
    """
    source_bt, lengths_b = _padded(sources)
    decoding = Decoding(model, model.encode(source_bt, lengths_b), search.beams)
    beams = _Beams.first(len(sources), search.beams)
    found: dict[int, Found] = {}
    limit_b = np.array([longest_target(int(length), model.config) for length in lengths_b])
    while len(beams.sentence_b):
        logits_nv = decoding.next_logits(beams.said_nt[:, -1])
        rows_n = _advance(beams, logits_nv, search)
        kept_b = _hand_over(beams, limit_b, search.beams, found)
        decoding.reorder(rows_n.reshape(-1, search.beams)[kept_b].reshape(-1))
    return [found[number] for number in range(len(sources))]


def greedy_search(model: Transformer, sources: Sequence[Sequence[int]]) -> list[Found]:
    """The likeliest token at every step."""
    return beam_search(model, sources, Search(beams=1))


def longest_target(source_length: int, config: Config) -> int:
    """How many tokens a translation may have: half as many again as the source, and 12 more.

    >>> longest_target(10, Config(vocabulary=100)), longest_target(250, Config(vocabulary=100))
    (27, 256)
    """
    return min(config.max_length, source_length * 3 // 2 + 12)


def _advance(beams: _Beams, logits_nv: Array, search: Search) -> Numbers:
    """Add the best next token to the best beams; returns which row each one continues."""
    number = search.beams
    best_nk, token_nk = _best_next(logits_nv, beams.over_n, number)
    total_nk = beams.score_n[:, None] + best_nk
    length_n = beams.length_n + ~beams.over_n
    ranked_bc = (total_nk / length_n[:, None] ** np.float32(search.length_power)).reshape(
        -1, number * number
    )
    order_bn = np.argsort(-ranked_bc, axis=1, kind="stable")[:, :number]
    first_b1 = np.arange(len(order_bn))[:, None] * number * number
    chosen_n = (order_bn + first_b1).reshape(-1)
    rows_n: Numbers = chosen_n // number
    token_n = token_nk.reshape(-1)[chosen_n]
    beams.said_nt = np.concatenate([beams.said_nt[rows_n], token_n[:, None]], axis=1)
    beams.score_n, beams.length_n = total_nk.reshape(-1)[chosen_n], length_n[rows_n]
    beams.over_n = beams.over_n[rows_n] | (token_n == END)
    return rows_n


def _best_next(
    logits_nv: Array, over_n: NDArray[np.bool_], number: int
) -> tuple[NDArray[np.float32], Numbers]:
    """Log-probabilities and tokens of the likeliest continuations; PAD alone after END."""
    # PAD is no word, so it never competes; it still has its share of the probability.
    pad_n = logits_nv[:, PAD].copy()
    logits_nv[:, PAD] = -np.inf
    best_nk, token_nk = largest(logits_nv, number)
    highest_n1 = np.maximum(best_nk[:, :1], pad_n[:, None])
    np.subtract(logits_nv, highest_n1, out=logits_nv)
    total_n1 = np.exp(logits_nv, out=logits_nv).sum(axis=1, keepdims=True)
    total_n1 += np.exp(pad_n[:, None] - highest_n1)
    best_nk = best_nk - (highest_n1 + np.log(total_n1))
    best_nk[over_n] = NEVER
    best_nk[over_n, 0], token_nk[over_n, 0] = 0, PAD
    return best_nk, token_nk


def _hand_over(
    beams: _Beams, limit_b: Numbers, number: int, found: dict[int, Found]
) -> NDArray[np.intp]:
    """Move sentences that are over, or at their limit, to ``found``; returns which go on."""
    all_over_b = beams.over_n.reshape(-1, number).all(axis=1)
    done_b = all_over_b | (beams.said_nt.shape[1] > limit_b[beams.sentence_b])
    for place in np.flatnonzero(done_b):
        row = place * number
        said = beams.said_nt[row, 1 : 1 + int(beams.length_n[row])].tolist()
        finished = said[-1] == END
        score = float(beams.score_n[row] / beams.length_n[row])
        tokens = tuple(said[:-1] if finished else said)
        found[int(beams.sentence_b[place])] = Found(tokens, score, finished)
    kept_b = np.flatnonzero(~done_b)
    if len(kept_b) < len(done_b):
        kept_n = np.flatnonzero(np.repeat(~done_b, number))
        beams.sentence_b, beams.said_nt = beams.sentence_b[kept_b], beams.said_nt[kept_n]
        beams.score_n, beams.length_n = beams.score_n[kept_n], beams.length_n[kept_n]
        beams.over_n = beams.over_n[kept_n]
    return kept_b


def _padded(sources: Sequence[Sequence[int]]) -> tuple[Numbers, Numbers]:
    lengths_b = np.array([len(source) for source in sources], np.int64)
    source_bt = np.full((len(sources), lengths_b.max()), PAD, np.int64)
    for row, source in zip(source_bt, sources, strict=True):
        row[: len(source)] = source
    return source_bt, lengths_b
