"""Outcome of an experiment: the words that differ, and the probabilities where the runs part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from regard.blas import one_blas_thread
from regard.transformer.config import END, START
from regard.transformer.layers import times
from regard.transformer.reading import Reading
from regard.typing import Array

MOST_CANDIDATES = 6
NOTICEABLE = 0.005  # half a percent: what rounds to 0 % is not listed as a candidate


@dataclass(frozen=True)
class WordProbability:
    """A word of a translation and its probability, given the words before it, in both runs."""

    word: str
    before: float
    after: float


@dataclass(frozen=True)
class Parting:
    """The first word in which two translations differ, and the candidates for it.

    ``prefix`` are the words that both begin with. Where the translations are the same it is the
    word whose probability changed most.
    """

    prefix: tuple[str, ...]
    candidates: tuple[WordProbability, ...]


def differing(words: Sequence[str], others: Sequence[str]) -> tuple[list[int], list[int]]:
    """Positions of the words that differ between two texts, in each of them.

    >>> differing("il avait faim".split(), "elle avait très faim".split())
    ([0], [0, 2])
    """
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    pairs = [x for x in matcher.get_opcodes() if x[0] != "equal"]
    one = [i for _, start, end, _, _ in pairs for i in range(start, end)]
    return one, [i for _, _, _, start, end in pairs for i in range(start, end)]


@one_blas_thread()
def log_probabilities(reading: Reading, tokens: Sequence[int]) -> Array:
    """logp_tv of what follows each beginning of a target, in the run of a reading.

    Row t is given (start) and the first t tokens; there is one row more than tokens.
    """
    if tuple(tokens) == reading.translated.tokens:
        x_te = reading.decoded.x_bte[0]
    else:
        given_bt = np.array([(START, *tokens)])
        decoded = reading.model.decode(reading.encoded, given_bt, intervention=reading.intervention)
        x_te = decoded.x_bte[0]
    logits_tv = times(x_te, reading.model.embedding_ve.T).astype(np.float64)
    logits_tv -= logits_tv.max(axis=1, keepdims=True)
    logp_tv: Array = logits_tv - np.log(np.exp(logits_tv).sum(axis=1, keepdims=True))
    return logp_tv


def word_log_probabilities(reading: Reading, forced: Reading) -> NDArray[np.float64]:
    """The log-probability of each word of another reading's translation, and of its end, here."""
    tokens = forced.translated.tokens
    logp_tv = log_probabilities(reading, tokens)
    targets = (*tokens, END)
    logp_t = logp_tv[np.arange(len(targets)), targets]
    word_of_token = [x - 1 for x in forced.target.word_of_token[1:]]  # (start) is no word of it
    logp_w = np.zeros(len(forced.translation_words) + 1)
    np.add.at(logp_w, [*word_of_token, len(logp_w) - 1], logp_t)
    return logp_w


def word_probabilities(before: Reading, after: Reading) -> tuple[WordProbability, ...]:
    """Every word of the translation before, with its probability in both runs; (end) last."""
    words = (*before.translation_words, "(end)")
    both = (np.exp(word_log_probabilities(x, before)) for x in (before, after))
    return tuple(map(WordProbability, words, *(x.tolist() for x in both)))


def parting(before: Reading, after: Reading) -> Parting:
    """First word in which two runs differ, with the candidates of both for it."""
    readings = (before, after)
    words = [(*x.translation_words, "(end)") for x in readings]
    if before.translated.tokens == after.translated.tokens:
        rows = word_probabilities(before, after)
        changes = [abs(row.after - row.before) for row in rows]
        first = int(np.argmax(changes))
        own = [rows[first]]
    else:
        pairs = zip(*words, strict=False)
        first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(map(len, words)) - 1)
        own = [
            WordProbability(
                words[n][first],
                *(float(np.exp(word_log_probabilities(x, forced)[first])) for x in readings),
            )
            for n, forced in enumerate(readings)
        ]
    prefix = words[0][:first]
    return Parting(prefix, tuple(_with_others(own, before, after, first)))


def _with_others(
    own: list[WordProbability], before: Reading, after: Reading, first: int
) -> list[WordProbability]:
    """Further words of one token that either run finds likely."""
    length = sum(x <= first for x in before.target.word_of_token[1:])
    tokens = before.translated.tokens[:length]
    model = before.model
    both_v = [np.exp(log_probabilities(x, tokens)[-1]) for x in (before, after)]
    best = np.argsort(-np.maximum(*both_v), kind="stable")[: 3 * MOST_CANDIDATES]
    listed = {candidate.word for candidate in own}
    for token in best.tolist():
        word = "(end)" if token == END else model.tokenizer.decode([token]).strip()
        likely = max(x[token] for x in both_v) >= NOTICEABLE
        starts = any(candidate.word.startswith(word) for candidate in own)
        if likely and word and word not in listed and not starts:
            own = [*own, WordProbability(word, *(float(x[token]) for x in both_v))]
            listed.add(word)
    return own[:MOST_CANDIDATES]
