"""Translation of one sentence or thousands, in batches of like length on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from regard.engine.threads import run_in_order, threads, using_threads
from regard.errors import ArgumentError, count
from regard.text.tokens import normalise
from regard.transformer.config import END
from regard.transformer.intervention import Intervention
from regard.transformer.model import Encoded, Transformer
from regard.transformer.search import (
    BEAM,
    Hypothesis,
    OnStep,
    Search,
    encode_sources,
    search_encoded,
)

Result = TypeVar("Result")

TOKENS_PER_BATCH = 400  # source tokens in a batch: enough for fast products, little memory


@dataclass(frozen=True)
class Translation:
    """A sentence and its translation; ``score`` is the mean log-probability of a token.

    ``finished`` is False where the translation was cut at its limit of tokens.
    """

    sentence: str
    text: str
    source: tuple[int, ...]
    tokens: tuple[int, ...]
    score: float
    finished: bool


def translate(
    model: Transformer,
    sentences: Sequence[str],
    search: Search = BEAM,
    *,
    on_step: OnStep | None = None,
) -> list[Translation]:
    """Translate every sentence; the answers come in the order of the sentences.

    ``on_step`` is called before every step of the model; it may raise to cancel.

    >>> model = Transformer.random("I am good", width=16, heads=2)
    >>> translate(model, ["I am good"])[0].finished
    False
    """
    return run_batches(model, sentences, search, lambda one, encoded: one, on_step)


def run_batches(
    model: Transformer,
    sentences: Sequence[str],
    search: Search,
    finish: Callable[[Translation, Encoded], Result],
    on_step: OnStep | None = None,
    *,
    intervene: Callable[[list[int]], Intervention] | None = None,
) -> list[Result]:
    """Encode and translate in batches of like length; ``finish`` makes each sentence's result.

    It is given the translation and the encoder's run that the translation was made from.
    ``intervene`` makes the intervention of a batch from the indices of its sentences; the
    encoders alone are given it.
    """
    if isinstance(sentences, str):
        raise ArgumentError("sentences needs a list of sentences, but it is one: put it in [ ].")
    sources = [source_tokens(model, sentence) for sentence in sentences]
    results: dict[int, Result] = {}

    batches = _batches([len(source) for source in sources])
    each = 1 if len(batches) > 1 else threads()  # batches share the cores

    def work(rows: list[int], scratch: object) -> None:
        with using_threads(each):
            change = None if intervene is None else intervene(rows)
            encoded = encode_sources(model, [sources[row] for row in rows], on_step, change)
            hypotheses = search_encoded(model, encoded, search, on_step)
        for index, (row, best) in enumerate(zip(rows, hypotheses, strict=True)):
            one = translation_of(model, sentences[row], sources[row], best)
            results[row] = finish(one, encoded.sentence(index))

    run_in_order(batches, work)
    return [results[row] for row in range(len(sources))]


def source_tokens(model: Transformer, sentence: str) -> list[int]:
    """The tokens of a sentence and END; says what is wrong with one that cannot be read."""
    text = readable(sentence)
    tokens = [*model.tokenizer.encode(text), END]
    limit = model.config.max_length
    if len(tokens) > limit:
        raise ArgumentError(
            f"a sentence needs at most {limit} tokens, END included, but this text has "
            f"{count(len(tokens), 'token')} ({count(len(text.split()), 'word')}): give its "
            "sentences one at a time."
        )
    return tokens


def readable(sentence: str) -> str:
    """A text as the model reads it, plain and on one line; one without any word is an error."""
    if not isinstance(sentence, str):
        raise ArgumentError(f"a sentence needs to be text, but it is {type(sentence).__name__}.")
    # Surrogates that stand for bytes which were no text cannot be cut into tokens.
    text = normalise(sentence.encode("utf-8", "replace").decode())
    text = " ".join("".join(x if x.isprintable() else " " for x in text).split())
    if not text:
        raise ArgumentError(
            f"a sentence needs at least one word, but this one is {_described(sentence)}: "
            'try "A dog ate the food because it was hungry".'
        )
    return text


def _described(sentence: str) -> str:
    if not sentence:
        return "empty"
    return "only spaces and characters that cannot be seen" if sentence.strip(" ") else "blank"


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Rows of like length together, the longest first."""
    batches: list[list[int]] = []
    free = 0
    for row in np.argsort(lengths, kind="stable")[::-1].tolist():
        if free < lengths[row]:
            batches.append([])
            free = TOKENS_PER_BATCH
        batches[-1].append(row)
        free -= lengths[batches[-1][0]]
    return batches


def translation_of(
    model: Transformer, sentence: str, source: Sequence[int], best: Hypothesis
) -> Translation:
    """The translation that a hypothesis is, with its text."""
    text = model.tokenizer.decode(best.tokens)
    return Translation(sentence, text, tuple(source), best.tokens, best.score, best.finished)
