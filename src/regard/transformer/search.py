"""Beam search, shared by the NumPy and the torch transformer.

It keeps the few best beginnings of each sentence, ranked by the mean log-probability of their
tokens, so that short ones are not preferred. Greedy search is beam search with one beam. A search
can be restricted to beginnings that pass a test, such as having no numbers but the sentence's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError
from regard.transformer.config import END, PAD, START, Config
from regard.transformer.decoding import Numbers, StepDecoder, native_decoder
from regard.transformer.intervention import Intervention
from regard.transformer.model import Encoded, Transformer
from regard.typing import Array

IMPOSSIBLE = np.float32(-1e9)  # log-probability of a continuation that is never chosen
MAX_BEAMS = 1000
CANDIDATES = 64  # likeliest continuations that a restricted search looks at
Allows = Callable[[Sequence[int], Sequence[int]], list[bool]]  # which tokens may follow a beginning
OnStep = Callable[[], None]  # called before every step of the model; may raise to cancel


@dataclass(frozen=True)
class Search:
    """Options of beam search: beams, and the power of the length that scores are divided by."""

    beams: int = 4
    length_power: float = 1.0

    def __post_init__(self) -> None:
        if type(self.beams) is not int or not 1 <= self.beams <= MAX_BEAMS:
            raise ArgumentError(
                f"beams must be a whole number from 1 to {MAX_BEAMS}, got {self.beams!r}."
            )


DEFAULT_SEARCH = Search()


@dataclass(frozen=True)
class Hypothesis:
    """A translation as tokens, without END; the mean log-probability of its tokens.

    ``finished`` is False where it was cut because it had grown to its limit without an END.
    """

    tokens: tuple[int, ...]
    score: float
    finished: bool


class Decoder(Protocol):
    """A model that continues rows of tokens, whichever library computes it; n = b x beams."""

    def best_next(self, token_n: Numbers, number: int) -> tuple[Array, Numbers]:
        """Log-probabilities and tokens of the ``number`` likeliest continuations, PAD left out."""

    def reorder(self, rows_n: Numbers) -> None:
        """Take row i from what was row rows_n[i]; sentences without a row are dropped."""


class RestrictedDecoder:
    """A decoder of one sentence in which only some tokens may follow a beginning.

    The probability of the others goes to those that are left, as digits that a number must have
    are no choice. END alone keeps its own, so that a beginning which may not end does not gain.
    """

    def __init__(self, decoder: Decoder, allows: Allows, beams: int, vocabulary: int) -> None:
        self.decoder, self.allows = decoder, allows
        self.beginnings: list[list[int]] = [[] for _ in range(beams)]
        self.candidates = min(CANDIDATES, vocabulary)

    def best_next(self, token_n: Numbers, number: int) -> tuple[Array, Numbers]:
        best_nk, token_nk = self.decoder.best_next(token_n, max(number, self.candidates))
        for row, token in enumerate(token_n.tolist()):
            self.beginnings[row] = [*self.beginnings[row], token]
            if token not in (END, PAD):
                self._restrict(best_nk[row], token_nk[row], self.beginnings[row][1:])
        order_nk = np.argsort(-best_nk, axis=1, kind="stable")[:, :number]
        best_nk, token_nk = (np.take_along_axis(x, order_nk, 1) for x in (best_nk, token_nk))
        return best_nk, token_nk

    def _restrict(self, best_k: Array, token_k: Numbers, beginning: Sequence[int]) -> None:
        allowed_k = np.array(self.allows(beginning, token_k.tolist()))
        probability_k = np.exp(best_k)
        left = probability_k[allowed_k | (token_k == END)].sum()
        if left:
            best_k += np.log(probability_k.sum() / left)
        best_k[~allowed_k] = IMPOSSIBLE

    def reorder(self, rows_n: Numbers) -> None:
        self.beginnings = [self.beginnings[row] for row in rows_n]
        self.decoder.reorder(rows_n)


@dataclass
class Beams:
    """The beginnings of the active sentences, the best of each sentence first."""

    sentence_b: Numbers
    tokens_nt: Numbers
    score_n: NDArray[np.float32]
    length_n: NDArray[np.float32]
    over_n: NDArray[np.bool_]

    @classmethod
    def first(cls, batch: int, beams: int) -> Beams:
        """START alone; all but the first beam begin as IMPOSSIBLE, so as not to repeat it."""
        score_bn = np.full((batch, beams), IMPOSSIBLE)
        score_bn[:, 0] = 0
        rows = batch * beams
        return cls(
            np.arange(batch), np.full((rows, 1), START), score_bn.reshape(-1),
            np.zeros(rows, np.float32), np.zeros(rows, bool),
        )  # fmt: skip

    def advance(self, best_nk: Array, token_nk: Numbers, search: Search) -> Numbers:
        """Add the best next token to the best beams; returns the row that each one continues."""
        number = search.beams
        best_nk[self.over_n] = IMPOSSIBLE
        best_nk[self.over_n, 0], token_nk[self.over_n, 0] = 0, PAD  # PAD alone follows END
        total_nk = self.score_n[:, None] + best_nk
        length_n = self.length_n + ~self.over_n
        ranked_nk = total_nk / length_n[:, None] ** np.float32(search.length_power)
        ranked_bc = ranked_nk.reshape(-1, number * number)
        order_bn = np.argsort(-ranked_bc, axis=1, kind="stable")[:, :number]
        first_b1 = np.arange(len(order_bn))[:, None] * number * number
        chosen_n = (order_bn + first_b1).reshape(-1)
        rows_n: Numbers = chosen_n // number
        token_n = token_nk.reshape(-1)[chosen_n]
        self.tokens_nt = np.concatenate([self.tokens_nt[rows_n], token_n[:, None]], axis=1)
        self.score_n, self.length_n = total_nk.reshape(-1)[chosen_n], length_n[rows_n]
        self.over_n = self.over_n[rows_n] | (token_n == END)
        return rows_n

    def best(self, row: int) -> Hypothesis:
        tokens = self.tokens_nt[row, 1 : 1 + int(self.length_n[row])].tolist()
        finished = tokens[-1] == END
        score = float(self.score_n[row] / self.length_n[row])
        return Hypothesis(tuple(tokens[:-1] if finished else tokens), score, finished)

    def keep(self, active_b: NDArray[np.intp], number: int) -> None:
        """Drop all sentences but these."""
        rows_n = (active_b[:, None] * number + np.arange(number)).reshape(-1)
        self.sentence_b, self.tokens_nt = self.sentence_b[active_b], self.tokens_nt[rows_n]
        self.score_n, self.length_n = self.score_n[rows_n], self.length_n[rows_n]
        self.over_n = self.over_n[rows_n]


def beam_search(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    search: Search = DEFAULT_SEARCH,
    *,
    progress: OnStep | None = None,
    intervention: Intervention | None = None,
) -> list[Hypothesis]:
    """The best translation of each source; a source is its tokens and END.

    ``progress`` is called before the encoders run and before every token; it may raise to cancel.
    An ``intervention`` changes the attentions of the encoders and of every decoding step.
    """
    encoded = encode_sources(model, sources, progress, intervention)
    return search_encoded(model, encoded, search, progress, intervention)


def greedy_search(model: Transformer, sources: Sequence[Sequence[int]]) -> list[Hypothesis]:
    """The likeliest token at every step."""
    return beam_search(model, sources, Search(beams=1))


def encode_sources(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    progress: OnStep | None = None,
    intervention: Intervention | None = None,
) -> Encoded:
    """Run the encoders on a batch of sources, padded to one length."""
    if progress is not None:
        progress()
    lengths_b = np.array([len(source) for source in sources], np.int64)
    source_bt = np.full((len(sources), lengths_b.max()), PAD, np.int64)
    for row, source in zip(source_bt, sources, strict=True):
        row[: len(source)] = source
    return model.encode(source_bt, lengths_b, intervention=intervention)


def search_encoded(
    model: Transformer,
    encoded: Encoded,
    search: Search = DEFAULT_SEARCH,
    progress: OnStep | None = None,
    intervention: Intervention | None = None,
    allows: Allows | None = None,
) -> list[Hypothesis]:
    """The best translation of each encoded source; of one, if ``allows`` restricts the search."""
    if search.beams > model.config.vocabulary:
        raise ArgumentError(
            f"beams must be at most {model.config.vocabulary}, the model's vocabulary, got "
            f"{search.beams}."
        )
    decoder: Decoder | None = None
    if intervention is None:
        decoder = native_decoder(model, encoded, search.beams)
    if decoder is None:
        decoder = StepDecoder(model, encoded, search.beams, intervention)
    if allows is not None:
        decoder = RestrictedDecoder(decoder, allows, search.beams, model.config.vocabulary)
    limit_b = [longest_target(int(length), model.config) for length in encoded.lengths_b]
    return run_search(decoder, limit_b, search, progress)


def run_search(
    decoder: Decoder, limit_b: Sequence[int], search: Search, progress: OnStep | None = None
) -> list[Hypothesis]:
    """The best hypothesis of each sentence, of at most ``limit_b`` tokens.

    A finished hypothesis stays among the beams of its sentence until all of them are finished.
    """
    number, limits = search.beams, np.asarray(limit_b)
    beams = Beams.first(len(limits), number)
    best: dict[int, Hypothesis] = {}
    while len(beams.sentence_b):
        if progress is not None:
            progress()
        best_nk, token_nk = decoder.best_next(beams.tokens_nt[:, -1], number)
        if np.isnan(best_nk).any():
            raise ArgumentError(
                "the model's probabilities must be numbers, got NaN: its parameters are too large."
            )
        rows_n = beams.advance(best_nk, token_nk, search)
        all_over_b = beams.over_n.reshape(-1, number).all(axis=1)
        done_b = all_over_b | (beams.tokens_nt.shape[1] > limits[beams.sentence_b])
        for index in np.flatnonzero(done_b):
            best[int(beams.sentence_b[index])] = beams.best(int(index) * number)
        active_b = np.flatnonzero(~done_b)
        if len(active_b) < len(done_b):
            beams.keep(active_b, number)
        if len(active_b):
            decoder.reorder(rows_n.reshape(-1, number)[active_b].reshape(-1))
    return [best[sentence] for sentence in range(len(limits))]


def longest_target(source_length: int, config: Config) -> int:
    """Largest number of tokens of a translation: 3/2 of the source, plus 12.

    >>> longest_target(10, Config(vocabulary=100)), longest_target(250, Config(vocabulary=100))
    (27, 256)
    """
    return min(config.max_length, source_length * 3 // 2 + 12)
