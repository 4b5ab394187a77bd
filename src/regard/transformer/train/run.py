"""A whole training, from files to a model: tokens, rounds, text made in between, export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from regard.transformer.parameters import TOKENS
from regard.transformer.train.decode import Search, beam_search
from regard.transformer.train.export import export
from regard.transformer.train.files import Pair, both_sides, read_pairs, read_sentences, write_pairs
from regard.transformer.train.gather import gather
from regard.transformer.train.job import Job, made_path
from regard.transformer.train.loop import Surroundings, Validate, no_validation, train_round
from regard.transformer.train.module import Tensors, random_parameters, to_torch
from regard.transformer.train.recipe import Round
from regard.transformer.train.record import circumstances, write_curve, write_record
from regard.transformer.train.score import group, scores
from regard.transformer.train.splitting import find_splits
from regard.transformer.train.state import Point, finished
from regard.transformer.train.synthetic import back_translate, self_train
from regard.transformer.train.tokens import learn_tokens, load_tokens
from regard.transformer.train.translate import Translator, fast_copy


def best_device() -> str:
    """A GPU where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def train_model(job: Job) -> dict[str, Any]:
    """Train a model and export it to `folder/model`; started again, it goes on where it was."""
    job.folder.mkdir(parents=True, exist_ok=True)
    tokens_path = job.folder / TOKENS
    if not tokens_path.is_file():
        learn_tokens(_all_text(job), job.config.vocabulary, tokens_path)
    # A small corpus has fewer pieces than were asked for.
    vocabulary = load_tokens(tokens_path).vocab_size()
    job = replace(job, config=replace(job.config, vocabulary=vocabulary))
    parameters = to_torch(random_parameters(job.config, job.habits.seed), job.device)
    curve: list[Point] = []
    for part in job.rounds:
        make_missing(job, part, parameters)
        parameters, points = follow(job, part, parameters)
        before = curve[-1]["step"] if curve else 0
        curve += [{**point, "step": point["step"] + before} for point in points]
    return finish(job, parameters, curve)


def make_missing(job: Job, part: Round, parameters: Tensors) -> None:
    """Make the pairs a round needs that no one has made yet, with the model as it is."""
    makers: dict[str, Callable[[Translator, Sequence[str]], list[Pair]]]
    makers = {"back": back_translate, "self": self_train}
    files = {"back": job.text.target, "self": job.text.source}
    for kind, make in makers.items():
        path = made_path(job.folder, kind)
        if path in {corpus.path for corpus in part.corpora} and not path.is_file():
            sentences = [sentence for file in files[kind] for sentence in read_sentences(file)]
            step = max(1, -(-len(sentences) // job.text.sentences))
            write_pairs(path, make(translator(job, parameters), sentences[::step]))


def follow(job: Job, part: Round, parameters: Tensors) -> tuple[Tensors, list[Point]]:
    """Train one round; its parameters and its curve."""
    tokens = load_tokens(job.folder / TOKENS)
    text = gather(part, tokens, job.habits), find_splits(tokens)
    around = Surroundings(job.folder / part.name, job.watch, validation(job, 1, 400))
    state = train_round(parameters, job.config, text, (part, job.habits), around)
    return finished(state), state.curve


def finish(job: Job, parameters: Tensors, curve: list[Point]) -> dict[str, Any]:
    """Write model, curve, and a record of all that made them."""
    facts = {
        "config": job.config,
        "habits": job.habits,
        "rounds": job.rounds,
        "made with": circumstances(job.device),
    }
    write_curve(job.folder, curve)
    write_record(job.folder, facts, [*job.pairs, *job.text.files])
    about = {"name": job.folder.name}
    model = job.folder / "model"
    return export((model, job.folder / TOKENS), job.config, parameters, about, validation(job, 4))


def translator(job: Job, parameters: Tensors, beams: int = 4) -> Translator:
    """A translator of these parameters, by beam search."""
    choose = partial(beam_search, search=Search(beams))
    size = 40_000 if job.device.startswith("cuda") else 2_048
    tokens = load_tokens(job.folder / TOKENS)
    return Translator((fast_copy(parameters),), job.config, tokens, choose, size)


def validation(job: Job, beams: int, sentences: int | None = None) -> Validate:
    """Measure BLEU and chrF on the validation pairs, if there are any."""
    if job.text.valid is None:
        return no_validation
    wanted = group(read_pairs(job.text.valid))
    if sentences is not None:
        wanted = wanted.first(sentences)

    def validate(parameters: Tensors) -> Point:
        made = translator(job, parameters, beams)(wanted.sources)
        return scores([text for text, _ in made], wanted)

    return validate


def _all_text(job: Job) -> Iterator[str]:
    for path in job.pairs:
        yield from both_sides(read_pairs(path))
    for path in (*job.text.source, *job.text.target):
        yield from read_sentences(path)
