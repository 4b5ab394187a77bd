"""Pairs that training makes itself: by its own model, by a generator, by a word aligner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from regard.transformer.train.data import (
    MarkedPair,
    Pair,
    read_pairs,
    read_sentences,
    write_marked,
    write_pairs,
)
from regard.transformer.train.job import TrainingJob
from regard.transformer.train.recipe import Corpus, Round
from regard.transformer.train.torch_decoding import Translator

# Enough to teach a head by, aligned in a minute of one core.
ALIGNED_AT_MOST = 240_000


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
    """Whether a made pair looks like a translation: no copy, no runaway length, no stammer.

    >>> sensible(("I am good.", "Je suis bon.")), sensible(("I am good.", "I am good."))
    (True, False)
    """
    source, target = pair
    if not source or not target or "\u2047" in source + target:
        return False
    copied = source == target and len(source.split()) > 2
    longer, shorter = max(len(source), len(target)), min(len(source), len(target))
    return not copied and longer <= 2.5 * shorter + 12 and not _stammers(target.lower().split())


def _stammers(words: Sequence[str]) -> bool:
    return any(len(set(run)) == 1 for run in _windows(words, 4))


def _windows(words: Sequence[str], width: int) -> Iterable[Sequence[str]]:
    return (words[start : start + width] for start in range(len(words) - width + 1))


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


def make_marked(job: TrainingJob) -> None:
    """Make the pairs with links of all rounds, where they do not exist yet: no model is needed."""
    missing = _missing(job.corpora)
    for corpus in missing:
        if corpus.made == "anaphora":
            from regard.transformer.train.anaphora.generator import marked_pairs

            number = max(x.sentences for x in job.corpora if x.made == "anaphora")
            write_marked(corpus.path, marked_pairs(number, job.hyperparameters.seed))
        elif corpus.made == "preferences":
            from regard.transformer.train.preference_links import preference_pairs

            write_marked(corpus.path, preference_pairs(_sources(job), job.hyperparameters.seed))
        elif corpus.made == "pronouns" and corpus.original:
            from regard.transformer.train.pronoun_links import linked_pairs

            write_marked(corpus.path, linked_pairs(read_pairs(corpus.original)))
    aligned = {x.path: x.original for x in missing if x.made == "alignment" and x.original}
    if aligned:
        make_aligned(aligned)


def _sources(job: TrainingJob) -> Iterator[str]:
    """The sources of a job's files of pairs, and its text in the source's language."""
    for path in job.pairs:
        yield from (source for source, _ in read_pairs(path))
    for path in job.text.source:
        yield from read_sentences(path)


def make_aligned(originals: dict[Path, Path]) -> None:
    """Align the words of several files together, of at most `ALIGNED_AT_MOST` pairs."""
    from regard.transformer.train.word_aligner import align

    texts = [read_pairs(path) for path in originals.values()]
    share = min(1.0, ALIGNED_AT_MOST / sum(map(len, texts)))
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
