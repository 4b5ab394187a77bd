"""Pairs that training makes itself: by its own model, by a generator, by the word aligner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.errors import ArgumentError
from train.aligner import align
from train.data import (
    MarkedPair,
    Pair,
    read_pairs,
    read_sentences,
    write_marked,
    write_pairs,
)
from train.decoding import Translator
from train.recipe import ALIGNMENT, Corpus, Round, TrainingJob, is_generator, load_generator

# Enough to teach a head by, aligned in a minute of one core.
MAX_ALIGNED_PAIRS = 240_000


def back_translate(reverse: Translator, targets: Sequence[str]) -> list[Pair]:
    """Pair true targets with sources that a reverse model made of them."""
    made = reverse(targets, tag="<reverse>")
    pairs = [(source, target) for (source, _), target in zip(made, targets, strict=True)]
    return [pair for pair in pairs if sensible(pair)]


def self_train(teacher: Translator, sources: Sequence[str], share: float = 0.85) -> list[Pair]:
    """Pair true sources with a teacher's targets, the share it was surest of."""
    made = teacher(sources)
    surest = float(np.quantile([score for _, score in made], 1 - share)) if made else 0.0
    answers = zip(sources, made, strict=True)
    pairs = [(source, target) for source, (target, score) in answers if score >= surest]
    return [pair for pair in pairs if sensible(pair)]


def sensible(pair: Pair) -> bool:
    """Whether a made pair looks like a translation: no copy, no runaway length, no repetition.

    >>> sensible(("I am good.", "Je suis bon.")), sensible(("I am good.", "I am good."))
    (True, False)
    """
    source, target = pair
    if not source or not target or "\u2047" in source + target:
        return False
    copied = source == target and len(source.split()) > 2
    longer, shorter = max(len(source), len(target)), min(len(source), len(target))
    too_long = longer > 2.5 * shorter + 12
    words = target.lower().split()
    repeats_a_word = any(len(set(words[at : at + 4])) == 1 for at in range(len(words) - 3))
    return not (copied or too_long or repeats_a_word)


def make_translations(job: TrainingJob, part: Round, translator: Callable[[], Translator]) -> None:
    """Make the pairs of a round that the current model translates, where they do not exist yet."""
    makers: dict[str, tuple[Callable[[Translator, Sequence[str]], list[Pair]], Sequence[Path]]]
    makers = {"back": (back_translate, job.text.target), "self": (self_train, job.text.source)}
    for corpus in _missing(part.corpora):
        if corpus.made in makers:
            make, files = makers[corpus.made]
            sentences = [sentence for file in files for sentence in read_sentences(file)]
            step = max(1, -(-len(sentences) // job.text.sentences))
            write_pairs(corpus.path, make(translator(), sentences[::step]))


@dataclass(frozen=True)
class TextRequest:
    """What a generator of a recipe (`made = "package.module:function"`) is called with.

    The function returns pairs: (source, target), or `MarkedPair` with links that teach a head.
    The same request must give the same pairs, so `seed` is the only source of randomness.
    """

    seed: int
    sentences: int
    original: Path | None
    job: TrainingJob

    def pairs(self) -> list[Pair]:
        """The pairs of the file that the corpus names as its path."""
        if self.original is None:
            raise ArgumentError("the generator works on a file of pairs: add path to its corpus.")
        return read_pairs(self.original)

    def sources(self) -> Iterator[str]:
        """All sentences in the source's language, of the recipe's pairs and of its other text."""
        for path in self.job.pairs:
            yield from (source for source, _ in read_pairs(path))
        for path in self.job.text.source:
            yield from read_sentences(path)


def make_marked(job: TrainingJob) -> None:
    """Make the pairs that need no model, of all rounds, where they do not exist yet."""
    missing = _missing(job.corpora)
    for corpus in missing:
        if is_generator(corpus.made):
            write_marked(corpus.path, _generated(job, corpus))
    aligned = {x.path: x.original for x in missing if x.made == ALIGNMENT and x.original}
    if aligned:
        make_aligned(aligned)


def _generated(job: TrainingJob, corpus: Corpus) -> Iterator[MarkedPair]:
    """What a generator returns; of the numbers that several rounds ask for, the largest counts."""
    generate = load_generator(corpus.made, job.recipe.parent if job.recipe else None)
    sentences = max(x.sentences for x in job.corpora if x.path == corpus.path)
    seed = job.hyperparameters.seed
    for pair in generate(TextRequest(seed, sentences, corpus.original, job)):
        if not (isinstance(pair, tuple) and 2 <= len(pair) <= 3):
            raise ArgumentError(
                f"made = {corpus.made!r} must return pairs (source, target) or (source, target, "
                f"links), got {pair!r:.200}."
            )
        yield MarkedPair(*pair)


def make_aligned(originals: dict[Path, Path]) -> None:
    """Align the words of several files together, of at most `MAX_ALIGNED_PAIRS` pairs."""
    texts = [read_pairs(path) for path in originals.values()]
    share = min(1.0, MAX_ALIGNED_PAIRS / sum(map(len, texts)))
    # Evenly drawn: files are often sorted by length.
    rows = [np.linspace(0, len(x) - 1, int(len(x) * share)).astype(int).tolist() for x in texts]
    chosen = zip(texts, rows, strict=True)
    marked = iter(align([text[row] for text, of_text in chosen for row in of_text]))
    for path, text, of_text in zip(originals, texts, rows, strict=True):
        pairs = [MarkedPair(*pair) for pair in text]
        for row in of_text:
            pairs[row] = next(marked)
        write_marked(path, pairs)


def _missing(corpora: Iterable[Corpus]) -> list[Corpus]:
    """The made corpora whose file does not exist, each file once."""
    by_path = {corpus.path: corpus for corpus in corpora if corpus.made}
    return [corpus for path, corpus in by_path.items() if not path.is_file()]
