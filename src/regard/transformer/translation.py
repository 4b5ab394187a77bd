"""Translation of one sentence, or of thousands in batches of similar length on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from regard.blas import one_blas_thread
from regard.engine.threads import run_in_order, threads, using_threads
from regard.errors import ArgumentError, check_callable, count
from regard.text.subwords import UnigramModel
from regard.text.tokens import SPACE, Tokenizer, normalise
from regard.text.typed import plain_text
from regard.transformer.config import END
from regard.transformer.intervention import Intervention
from regard.transformer.model import Encoded, Transformer
from regard.transformer.search import (
    DEFAULT_SEARCH,
    Allows,
    Hypothesis,
    OnStep,
    Search,
    encode_sources,
    search_encoded,
)

if TYPE_CHECKING:
    from regard.text.numerals import NumeralGuard

Result = TypeVar("Result")

ENGLISH = "English"
UNKNOWN_CHARACTER = "\ufffd"  # a byte of a character that is not in the vocabulary
TOKENS_PER_BATCH = 400  # source tokens in a batch: enough for fast products, little memory


@dataclass(frozen=True)
class Translation:
    """A sentence and its translation; ``score`` is the mean log-probability of a token.

    ``finished`` is False where the translation was cut at its limit of tokens. ``instead_of`` is
    the likeliest translation, where another was taken because that one changed a number; the score
    is then that among translations with the same numbers.
    """

    sentence: str
    text: str
    source: tuple[int, ...]
    tokens: tuple[int, ...]
    score: float
    finished: bool
    instead_of: str = ""

    @classmethod
    def from_hypothesis(
        cls, model: Transformer, sentence: str, source: Sequence[int], best: Hypothesis
    ) -> Translation:
        text = model.tokenizer.decode(best.tokens)
        return cls(sentence, text, tuple(source), best.tokens, best.score, best.finished)

    @classmethod
    def with_numbers(
        cls,
        model: Transformer,
        sentence: str,
        source: Sequence[int],
        best: Hypothesis,
        again: Callable[[Allows], list[Hypothesis]],
    ) -> Translation:
        """The best hypothesis, or the best one with the numbers of the sentence if that has not.

        ``again`` searches again, restricted. Where it finds none, the best one stays.
        """
        first = cls.from_hypothesis(model, sentence, source, best)
        if not (_is_english(model) and any(x.isdigit() for x in sentence)):
            return first
        from regard.text.numerals import NumeralGuard, changed_numerals  # few sentences need it

        english = readable(sentence)
        if changed_numerals(english, first.text) == ((), ()):
            return first
        guard = NumeralGuard(english)
        second = cls.from_hypothesis(
            model, sentence, source, again(partial(_allowed, model.tokenizer, guard))[0]
        )
        kept = second.finished and guard.allows_end(second.text)
        return replace(second, instead_of=first.text) if kept else first


def translate(
    model: Transformer,
    sentences: Sequence[str],
    search: Search = DEFAULT_SEARCH,
    *,
    progress: OnStep | None = None,
) -> list[Translation]:
    """Translate every sentence; the answers come in the order of the sentences.

    ``progress`` is called before every step of the model; it may raise to cancel.

    >>> model = Transformer.random("I am good", width=16, heads=2)
    >>> translate(model, ["I am good"])[0].finished
    False
    """
    return run_batches(model, sentences, search, lambda one, encoded: one, progress)


def translate_one(
    model: Transformer,
    sentence: str,
    search: Search = DEFAULT_SEARCH,
    *,
    progress: OnStep | None = None,
) -> tuple[Translation, Encoded]:
    """Translation of one sentence, and the encoder's run that it was made from."""
    check_callable("progress", progress)
    source = source_tokens(model, sentence)
    with one_blas_thread():
        encoded = encode_sources(model, [source], progress)
        again = partial(search_encoded, model, encoded, search, progress, None)
        translated = Translation.with_numbers(model, sentence, source, again()[0], again)
    return translated, encoded.sentence(0)


def run_batches(
    model: Transformer,
    sentences: Sequence[str],
    search: Search,
    finish: Callable[[Translation, Encoded], Result],
    progress: OnStep | None = None,
    *,
    intervene: Callable[[list[int]], Intervention] | None = None,
) -> list[Result]:
    """Encode and translate in batches of similar length; ``finish`` makes each sentence's result.

    It is given the translation and the encoder's run that the translation was made from.
    ``intervene`` makes the intervention of a batch from the indices of its sentences; it acts in
    the encoders alone.
    """
    if isinstance(sentences, str) or not isinstance(sentences, Iterable):
        got = "one: put it in [ ]" if isinstance(sentences, str) else repr(sentences)
        raise ArgumentError(f"sentences must be a list of sentences, got {got}.")
    check_callable("progress", progress)
    sentences = list(sentences)
    sources = [source_tokens(model, sentence) for sentence in sentences]
    results: dict[int, Result] = {}

    batches = _batches([len(source) for source in sources])
    each = 1 if len(batches) > 1 else threads()  # batches share the cores

    def work(rows: list[int], scratch: object) -> None:
        with using_threads(each):
            change = None if intervene is None else intervene(rows)
            encoded = encode_sources(model, [sources[row] for row in rows], progress, change)
            hypotheses = search_encoded(model, encoded, search, progress)
            for index, (row, best) in enumerate(zip(rows, hypotheses, strict=True)):
                alone = encoded.sentence(index)
                again = partial(search_encoded, model, alone, search, progress, None)
                one = Translation.with_numbers(model, sentences[row], sources[row], best, again)
                results[row] = finish(one, alone)

    run_in_order(batches, work)
    return [results[row] for row in range(len(sources))]


def source_tokens(model: Transformer, sentence: str) -> list[int]:
    """Tokens of a sentence and END; raises ArgumentError for a text that cannot be read."""
    text = source_text(model, sentence)
    tokens = [*model.tokenizer.encode(text), END]
    limit = model.config.max_length
    if len(tokens) > limit:
        raise ArgumentError(
            f"a sentence must have at most {limit} tokens, END included, got "
            f"{count(len(tokens), 'token')} ({count(len(text.split()), 'word')}): give the "
            "sentences of the text one at a time."
        )
    return tokens


def source_text(model: Transformer, sentence: str) -> str:
    """A text as a model reads it: a model of English knows no emoji and hardly any CAPITALS."""
    text, tokens = readable(sentence), model.tokenizer
    if _is_english(model) and isinstance(tokens, UnigramModel):
        return plain_text(text, tokens)
    return text


def _is_english(model: Transformer) -> bool:
    return model.about.get("source") == ENGLISH


def _allowed(
    tokenizer: Tokenizer, guard: NumeralGuard, beginning: Sequence[int], tokens: Sequence[int]
) -> list[bool]:
    """Which tokens may follow a beginning, its numbers being those of the sentence."""
    text = tokenizer.decode(beginning)
    pieces = (tokenizer.piece(token).replace(SPACE, " ") for token in tokens)
    return [
        guard.allows_end(text)
        if token == END
        else guard.allows(text + (UNKNOWN_CHARACTER if piece.startswith("<0x") else piece))
        for token, piece in zip(tokens, pieces, strict=True)
    ]


def readable(sentence: str) -> str:
    """A text normalised and on one line; it must have a word."""
    if not isinstance(sentence, str):
        raise ArgumentError(f"a sentence must be text, got {type(sentence).__name__}.")
    # Surrogates, which stand for bytes that are not valid text, cannot be cut into tokens.
    text = normalise(sentence.encode("utf-8", "replace").decode())
    text = " ".join("".join(x if x.isprintable() else " " for x in text).split())
    if not text:
        raise ArgumentError(
            f"a sentence must have at least one word, got {_described(sentence)}: "
            'try "A dog ate the food because it was hungry".'
        )
    return text


def _described(sentence: str) -> str:
    if not sentence:
        return "empty text"
    return "only spaces and invisible characters" if sentence.strip(" ") else "only spaces"


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Rows of similar length together, the longest first."""
    batches: list[list[int]] = []
    free = 0
    for row in np.argsort(lengths, kind="stable")[::-1].tolist():
        if free < lengths[row]:
            batches.append([])
            free = TOKENS_PER_BATCH
        batches[-1].append(row)
        free -= lengths[batches[-1][0]]
    return batches
