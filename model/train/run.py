"""Training from files to an exported model: tokens, rounds, made text, scores, and the record."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch

from regard.atomic_write import write_bytes, write_text
from regard.transformer.checkpoint import EXPORT, TOKENS, load_parameters, save_model
from regard.transformer.config import Config, Parameters, random_parameters
from regard.transformer.search import Search
from train.data import (
    Pair,
    fingerprint,
    learn_tokens,
    load_tokens,
    read_pairs,
    read_sentences,
    sources_and_targets,
)
from train.dataset import find_splits, gather
from train.decoding import Translator, beam_search, fast_copy
from train.loop import (
    DivergedError,
    RoundHooks,
    RoundText,
    Validate,
    no_validation,
    train_round,
)
from train.made import make_marked, make_translations
from train.model import Tensors, to_numpy, to_torch
from train.packing import word_table
from train.pieces import MODEL, sentencepiece_model, write_pieces
from train.recipe import Point, Round, TrainingJob, check_job
from train.step import finished


@dataclass(frozen=True)
class References:
    """Sentences to translate, each once, with every translation that is right."""

    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]

    def first(self, count: int) -> References:
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
    write_bytes(folder / MODEL, tokens.read_bytes())
    write_pieces(tokens, folder / TOKENS)
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
    tokens = load_tokens(job.folder / MODEL)
    config, first = _start(job)
    job, parameters = replace(job, config=config), to_torch(first, job.device)
    curve: list[Point] = []
    for part in job.rounds:
        # Greedy: a fifth less time than four beams, which gain 0.4 BLEU.
        make_translations(job, part, partial(translator, job, parameters, beams=1))
        parameters, points = follow(job, part, parameters, tokens)
        before = curve[-1]["step"] if curve else 0
        curve += [{**point, "step": point["step"] + before} for point in points]
    return finish(job, parameters, curve)


def _start(job: TrainingJob) -> tuple[Config, Parameters]:
    """Config and parameters that training begins with."""
    if job.start is not None:
        config, stored = load_parameters(job.start)  # some of them are views of transposed int8
        return config, {name: np.ascontiguousarray(x) for name, x in stored.items()}
    # A small corpus has fewer pieces than were asked for.
    pieces = load_tokens(job.folder / MODEL).vocab_size()
    config = replace(job.config, vocabulary=pieces)
    return config, random_parameters(config, job.hyperparameters.seed)


def prepare(job: TrainingJob) -> None:
    """Validate the job, then make what needs no model: the tokens, and the pairs with links."""
    check_job(job)
    job.folder.mkdir(parents=True, exist_ok=True)
    if job.start is not None:
        write_bytes(job.folder / MODEL, sentencepiece_model(job.start).read_bytes())
    elif not (job.folder / MODEL).is_file():
        learn_tokens(_all_text(job), job.config.vocabulary, job.folder / MODEL)
    make_marked(job)


def follow(
    job: TrainingJob, part: Round, parameters: Tensors, tokens: sentencepiece.SentencePieceProcessor
) -> tuple[Tensors, list[Point]]:
    """Train one round; its parameters and its curve."""
    tables = word_table(tokens), word_table(tokens, elisions=True)
    text = RoundText(gather(part, tokens, job.hyperparameters), find_splits(tokens), tables)
    hooks = RoundHooks(job.folder / part.name, job.progress, validation(job, 1, 400))
    state = train_round(parameters, job.config, text, (part, job.hyperparameters), hooks)
    return finished(state), state.curve


def finish(job: TrainingJob, parameters: Tensors, curve: list[Point]) -> dict[str, Any]:
    """Write model, curve and record."""
    if not all(bool(x.isfinite().all()) for x in parameters.values()):
        raise DivergedError(
            "the parameters must be finite, but training has left some that are not: lower the "
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
    paths = model, job.folder / MODEL
    description = export(paths, job.config, parameters, about, validation(job, 4))
    if job.recipe:
        write_bytes(model / "recipe.toml", job.recipe.read_bytes())
    return description


def translator(job: TrainingJob, parameters: Tensors, beams: int = 4) -> Translator:
    """A translator of these parameters, by beam search."""
    choose = partial(beam_search, search=Search(beams))
    size = 40_000 if job.device.startswith("cuda") else 2_048
    tokens = load_tokens(job.folder / MODEL)
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


_WIDTH, _HEIGHT, _MARGIN = 640, 320, 40


def circumstances(device: str) -> dict[str, str]:
    """Python, packages and machine."""
    packages = ("regard", "torch", "numpy", "sentencepiece", "safetensors", "sacrebleu")
    return {"python": platform.python_version(), "device": device} | {
        name: _version(name) for name in packages
    }


def write_record(folder: Path, facts: dict[str, Any], files: Iterable[Path]) -> None:
    """Write facts, and the name and hash of every file of text, to record.json."""
    record = {**facts, "files": [fingerprint(path) for path in files]}
    text = json.dumps(record, indent=2, ensure_ascii=False, default=_plain)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "record.json", text + "\n")


def write_curve(folder: Path, curve: Sequence[Point]) -> None:
    """Write the loss curve, as numbers (curve.json) and as a picture (curve.svg)."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(point) for point in curve)
    write_text(folder / "curve.json", f"[\n{lines}\n]\n")
    write_text(folder / "curve.svg", draw(curve))


def draw(curve: Sequence[Point]) -> str:
    """Loss over steps, as SVG; BLEU, where it was measured, as numbers above their step."""
    losses = [(p["step"], p["loss"]) for p in curve if "loss" in p]
    last = max([step for step, _ in losses], default=1)
    top = max([loss for _, loss in losses], default=1.0)
    points = " ".join(f"{_x(step, last):.1f},{_y(loss, top):.1f}" for step, loss in losses)
    marks = [_mark(p, last) for p in curve if "bleu" in p]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="11">',
            f'<polyline fill="none" stroke="#246" stroke-width="1.5" points="{points}"/>',
            f'<text x="4" y="{_MARGIN}">{top:.2f}</text>',
            f'<text x="4" y="{_HEIGHT - _MARGIN}">0</text>',
            f'<text x="{_WIDTH // 2}" y="{_HEIGHT - 6}">loss over {last} steps</text>',
            *marks,
            "</svg>\n",
        ]
    )


def _mark(point: Point, last: float) -> str:
    x = _x(point["step"], last)
    return f'<text x="{x:.1f}" y="14" text-anchor="middle">BLEU {point["bleu"]:.1f}</text>'


def _x(step: float, last: float) -> float:
    return _MARGIN + (_WIDTH - 2 * _MARGIN) * step / last


def _y(loss: float, top: float) -> float:
    return _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * loss / top


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.name if isinstance(value, Path) else str(value)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
