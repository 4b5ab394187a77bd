"""Training from files to an exported model: tokens, rounds, synthetic text, scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import sentencepiece
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
)
from regard.transformer.train.dataset import gather
from regard.transformer.train.job import TrainingJob, check_job
from regard.transformer.train.loop import (
    DivergedError,
    RoundHooks,
    RoundText,
    Validate,
    no_validation,
    train_round,
)
from regard.transformer.train.made_pairs import make_marked, make_translations
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
    prepare(job)
    tokens = load_tokens(job.folder / TOKENS)
    # A small corpus has fewer pieces than were asked for.
    job = replace(job, config=replace(job.config, vocabulary=tokens.vocab_size()))
    parameters = to_torch(random_parameters(job.config, job.hyperparameters.seed), job.device)
    curve: list[Point] = []
    for part in job.rounds:
        # Greedy: a fifth less time than four beams, which gain 0.4 BLEU.
        make_translations(job, part, partial(translator, job, parameters, beams=1))
        parameters, points = follow(job, part, parameters, tokens)
        before = curve[-1]["step"] if curve else 0
        curve += [{**point, "step": point["step"] + before} for point in points]
    return finish(job, parameters, curve)


def prepare(job: TrainingJob) -> None:
    """Validate the job, then make what needs no model: the tokens, and the pairs with links."""
    check_job(job)
    job.folder.mkdir(parents=True, exist_ok=True)
    if not (job.folder / TOKENS).is_file():
        learn_tokens(_all_text(job), job.config.vocabulary, job.folder / TOKENS)
    make_marked(job)


def follow(
    job: TrainingJob,
    part: Round,
    parameters: Tensors,
    tokens: sentencepiece.SentencePieceProcessor,
) -> tuple[Tensors, list[Point]]:
    """Train one round; its parameters and its curve."""
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
    about = {"name": job.folder.name, "seed": job.hyperparameters.seed}
    model = job.folder / EXPORT
    paths = model, job.folder / TOKENS
    description = export(paths, job.config, parameters, about, validation(job, 4))
    if job.recipe:
        write_bytes(model / "recipe.toml", job.recipe.read_bytes())
    return description


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
