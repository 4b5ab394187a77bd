"""Training from files to an exported model: tokens, rounds, synthetic text, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.atomic_write import write_bytes
from regard.transformer.checkpoint import EXPORT, TOKENS, load_parameters, save_model
from regard.transformer.config import Config, random_parameters
from regard.transformer.search import Search
from regard.transformer.train.augment import find_splits
from regard.transformer.train.data import (
    Pair,
    read_pairs,
    read_sentences,
    sources_and_targets,
    write_pairs,
)
from regard.transformer.train.dataset import gather
from regard.transformer.train.job import TrainingJob, check_job, made_path
from regard.transformer.train.loop import (
    DivergedError,
    RoundHooks,
    RoundText,
    Validate,
    no_validation,
    train_round,
)
from regard.transformer.train.provenance import circumstances, write_curve, write_record
from regard.transformer.train.recipe import Round
from regard.transformer.train.subwords import learn_tokens, load_tokens
from regard.transformer.train.token_links import word_table
from regard.transformer.train.torch_decoding import Translator, beam_search, fast_copy
from regard.transformer.train.torch_model import Tensors, to_numpy, to_torch
from regard.transformer.train.training_state import Point, finished


@dataclass(frozen=True)
class References:
    """Sentences to translate, each once, with every translation that is right."""

    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]

    def first(self, count: int) -> References:
        """An even selection of at most `count` sentences."""
        step = max(1, len(self.sources) // count)
        chosen = slice(0, step * count, step)
        return References(self.sources[chosen], self.references[chosen])


def group(pairs: Sequence[Pair]) -> References:
    """References grouped by source.

    >>> group([("Go.", "Va."), ("Hi.", "Salut."), ("Go.", "Allez.")]).references
    (('Va.', 'Allez.'), ('Salut.',))
    """
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        grouped.setdefault(source, []).append(target)
    return References(tuple(grouped), tuple(map(tuple, grouped.values())))


def scores(translations: Sequence[str], expected: References) -> dict[str, float]:
    """Corpus BLEU and chrF of the translations, all references used."""
    import sacrebleu

    # sacrebleu takes one list for each reference number, None where a sentence has fewer.
    columns = list(zip_longest(*expected.references))
    bleu = sacrebleu.corpus_bleu(list(translations), columns)
    chrf = sacrebleu.corpus_chrf(list(translations), columns)
    return {"bleu": round(bleu.score, 2), "chrf": round(chrf.score, 2)}


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


def export(
    paths: tuple[Path, Path],
    config: Config,
    parameters: Tensors,
    about: Mapping[str, Any],
    validate: Validate,
) -> dict[str, Any]:
    """Write a model and return its description, with scores before and after rounding.

    The paths are the folder of the model and the SentencePiece file to copy into it.
    """
    folder, tokens = paths
    save_model(folder, config, to_numpy(parameters), about)
    write_bytes(folder / TOKENS, tokens.read_bytes())
    rounded = to_torch(load_parameters(folder)[1], str(parameters["embedding"].device))
    measured = {"before rounding": validate(parameters), "int8": validate(rounded)}
    description = {**about, "scores": measured}
    save_model(folder, config, to_numpy(parameters), description)
    return description


def best_device() -> str:
    """A GPU where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def train_model(job: TrainingJob) -> dict[str, Any]:
    """Train a model and export it to `folder/model`; a second call resumes.

    Options and files are validated first.
    """
    check_job(job)
    job.folder.mkdir(parents=True, exist_ok=True)
    tokens_path = job.folder / TOKENS
    if not tokens_path.is_file():
        learn_tokens(_all_text(job), job.config.vocabulary, tokens_path)
    # A small corpus has fewer pieces than were asked for.
    vocabulary = load_tokens(tokens_path).vocab_size()
    job = replace(job, config=replace(job.config, vocabulary=vocabulary))
    parameters = to_torch(random_parameters(job.config, job.hyperparameters.seed), job.device)
    curve: list[Point] = []
    for part in job.rounds:
        make_missing(job, part, parameters)
        parameters, points = follow(job, part, parameters)
        before = curve[-1]["step"] if curve else 0
        curve += [{**point, "step": point["step"] + before} for point in points]
    return finish(job, parameters, curve)


def make_missing(job: TrainingJob, part: Round, parameters: Tensors) -> None:
    """Make the synthetic pairs of a round that do not exist yet, with the current model."""
    makers: dict[str, Callable[[Translator, Sequence[str]], list[Pair]]]
    makers = {"back": back_translate, "self": self_train}
    files = {"back": job.text.target, "self": job.text.source}
    for kind, make in makers.items():
        path = made_path(job.folder, kind)
        if path in {corpus.path for corpus in part.corpora} and not path.is_file():
            sentences = [sentence for file in files[kind] for sentence in read_sentences(file)]
            step = max(1, -(-len(sentences) // job.text.sentences))
            write_pairs(path, make(translator(job, parameters), sentences[::step]))


def follow(job: TrainingJob, part: Round, parameters: Tensors) -> tuple[Tensors, list[Point]]:
    """Train one round; its parameters and its curve."""
    tokens = load_tokens(job.folder / TOKENS)
    tables = word_table(tokens), word_table(tokens, elisions=True)
    text = RoundText(gather(part, tokens, job.hyperparameters), find_splits(tokens), tables)
    hooks = RoundHooks(job.folder / part.name, job.watch, validation(job, 1, 400))
    state = train_round(parameters, job.config, text, (part, job.hyperparameters), hooks)
    return finished(state), state.curve


def finish(job: TrainingJob, parameters: Tensors, curve: list[Point]) -> dict[str, Any]:
    """Write model, curve and record."""
    if not all(bool(x.isfinite().all()) for x in parameters.values()):
        raise DivergedError(
            "the parameters need to be finite, but training has left some that are not: lower the "
            "learning rate."
        )
    facts = {
        "config": job.config,
        "hyperparameters": job.hyperparameters,
        "rounds": job.rounds,
        "made with": circumstances(job.device),
    }
    write_curve(job.folder, curve)
    write_record(job.folder, facts, [*job.pairs, *job.text.files])
    about = {"name": job.folder.name}
    model = job.folder / EXPORT
    return export((model, job.folder / TOKENS), job.config, parameters, about, validation(job, 4))


def translator(job: TrainingJob, parameters: Tensors, beams: int = 4) -> Translator:
    """A translator of these parameters, by beam search."""
    choose = partial(beam_search, search=Search(beams))
    size = 40_000 if job.device.startswith("cuda") else 2_048
    tokens = load_tokens(job.folder / TOKENS)
    return Translator((fast_copy(parameters),), job.config, tokens, choose, size)


def validation(job: TrainingJob, beams: int, sentences: int | None = None) -> Validate:
    """Measure BLEU and chrF on the validation pairs, if there are any."""
    if job.text.valid is None:
        return no_validation
    expected = group(read_pairs(job.text.valid))
    if sentences is not None:
        expected = expected.first(sentences)

    def validate(parameters: Tensors) -> Point:
        made = translator(job, parameters, beams)(expected.sources)
        return scores([text for text, _ in made], expected)

    return validate


def _all_text(job: TrainingJob) -> Iterator[str]:
    for path in job.pairs:
        yield from sources_and_targets(read_pairs(path))
    for path in (*job.text.source, *job.text.target):
        yield from read_sentences(path)
