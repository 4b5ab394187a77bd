"""Training jobs: from the command line or from a recipe file, validated before the work."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from regard.errors import ArgumentError, FileError, RegardError
from regard.transformer.config import Config
from regard.transformer.train.augment import Alterations
from regard.transformer.train.data import read_pairs, read_sentences
from regard.transformer.train.loop import Watch, no_watch
from regard.transformer.train.recipe import Corpus, Hyperparameters, Round, TaughtHead

SIZES = {
    "tiny": Config(vocabulary=600, layers=2, heads=4, width=64, feed_forward_width=128),
    "small": Config(vocabulary=8_000, layers=3, heads=4, width=256, feed_forward_width=512),
    "full": Config(vocabulary=12_000),
}


@dataclass(frozen=True)
class TrainingText:
    """Text besides the pairs of the rounds: validation pairs, and text in one language.

    The model itself translates `source` and `target`, at most `sentences` of each.
    """

    valid: Path | None = None
    source: tuple[Path, ...] = ()
    target: tuple[Path, ...] = ()
    sentences: int = 1_000_000

    @property
    def files(self) -> tuple[Path, ...]:
        """All files."""
        return (*self.source, *self.target, *([self.valid] if self.valid else []))


@dataclass(frozen=True)
class TrainingJob:
    """Config, rounds, text, hyperparameters, device and folder of a training."""

    folder: Path
    rounds: tuple[Round, ...]
    text: TrainingText = field(default_factory=TrainingText)
    config: Config = SIZES["full"]
    hyperparameters: Hyperparameters = field(default_factory=Hyperparameters)
    device: str = "cpu"
    watch: Watch = no_watch
    recipe: Path | None = None

    @property
    def corpora(self) -> list[Corpus]:
        """The corpora of all rounds."""
        return [corpus for part in self.rounds for corpus in part.corpora]

    @property
    def pairs(self) -> list[Path]:
        """The files of pairs that training does not make itself, each once."""
        paths = (x.original or x.path for x in self.corpora if x.original or not x.made)
        return list(dict.fromkeys(paths))


# Kinds of made corpora and the kind of their links; the last two are made of a file of pairs.
MADE = {"back": "", "self": "", "anaphora": "anaphora", "preferences": "anaphora"}
MADE_OF_PAIRS = {"alignment": "alignment", "pronouns": "anaphora"}


def made_corpus(folder: Path, kind: str, original: Path | None = None, **options: Any) -> Corpus:
    """A corpus that training makes in its folder.

    'back' and 'self' are translations by the model itself, of targets and of sources; 'anaphora' is
    generated with links from pronouns to antecedents; 'preferences' is what the sources say of
    nouns, said of a pronoun, with links and without translations; 'alignment' is the pairs of the
    file `original` with links from words of the target to those of the source; 'pronouns' is those
    of its pairs whose pronouns stand for one noun alone, or for none.
    """
    kinds = MADE_OF_PAIRS if original else MADE
    if kind not in kinds:
        raise ArgumentError(
            "a corpus needs either path, a file, or made, one of 'back', 'self', 'anaphora' and "
            "'preferences', or both with made = 'alignment' or 'pronouns', but it has "
            f"made = {kind!r} and path = {original.name if original else None!r}."
        )
    name = f"{kind}-{original.name.partition('.tsv')[0]}" if original else kind
    links = kinds[kind]
    # What the model translated took a GPU to make; the rest is made anew sooner than compressed.
    path = folder / f"{name}.tsv{'' if links else '.gz'}"
    return Corpus(path, links=links, made=kind, original=original, **options)


def plain_rounds(
    folder: Path, pairs: Iterable[Path], text: TrainingText, schedule: Round
) -> list[Round]:
    """One round; or, with text in one language, one that learns both ways and one with made pairs.

    The first of the two takes a third of the time of `schedule`.
    """
    real = tuple(Corpus(path) for path in pairs)
    if not (text.source or text.target):
        return [replace(schedule, corpora=real)]
    both = tuple(replace(corpus, both_ways=bool(text.target)) for corpus in real)
    made = [made_corpus(folder, "self")] if text.source else []
    if text.target:
        made.append(made_corpus(folder, "back", tag="<back>"))
    return [
        _share(schedule, "first", both, 1 / 3),
        _share(schedule, "second", (*real, *made), 2 / 3),
    ]


def check_job(job: TrainingJob) -> None:
    """Raise an error for anything that would end the training later: device, patterns and files."""
    check_device(job.device)
    for pattern in (pattern for x in job.corpora for pattern in (x.source, x.target)):
        _check_pattern(pattern)
    for head in job.hyperparameters.taught:
        _check_taught(head, job)
    for part in job.rounds:
        _check_trained(part, job)
    if job.text.valid is not None and importlib.util.find_spec("sacrebleu") is None:
        raise ArgumentError(
            "measuring BLEU on validation pairs needs sacrebleu, which is not installed: "
            "pip install '.[train]'."
        )
    for path in (*job.pairs, *([job.text.valid] if job.text.valid else [])):
        if not read_pairs(path):
            raise FileError(f"{path} needs at least one pair, but it has none: add lines.")
    for path in (*job.text.source, *job.text.target):
        if not read_sentences(path):
            raise FileError(f"{path} needs at least one sentence, but it has none: add lines.")


def check_device(name: str) -> None:
    """Raise an ArgumentError unless PyTorch can compute on this device."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ArgumentError(f"device needs to be 'cpu' or 'cuda', but it is {name!r}.")
    number = int(name.partition(":")[2] or 0)
    if name != "cpu" and number >= torch.cuda.device_count():
        raise ArgumentError(
            f"device {name!r} needs a GPU that PyTorch can use, but it sees "
            f"{torch.cuda.device_count()}: use 'cpu'."
        )


def _check_taught(head: TaughtHead, job: TrainingJob) -> None:
    if head.layer >= job.config.layers or head.head >= job.config.heads:
        raise ArgumentError(
            f"a taught head needs to be one of {job.config.layers} layers of {job.config.heads} "
            f"heads, counted from 0, but it is layer {head.layer}, head {head.head}."
        )
    if head.of not in {corpus.links for corpus in job.corpora}:
        raise ArgumentError(
            f"a head taught {head.of} needs a corpus with such links, but no round has one: add "
            f"one with made = {head.of!r}, or with links = {head.of!r} for a file that has them."
        )


def _check_trained(part: Round, job: TrainingJob) -> None:
    kinds = sorted({head.of for head in job.hyperparameters.taught})
    if part.trained and part.trained not in kinds:
        raise ArgumentError(
            f"round {part.name!r} needs trained to be what a head is taught, "
            f"{' or '.join(kinds) or 'of which there is none'}, but it is {part.trained!r}."
        )


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ArgumentError(
            f"a corpus needs a regular expression as its pattern, but {pattern!r} is none: {error}."
        ) from None


def read_recipe(path: Path, folder: Path) -> TrainingJob:
    """Read a recipe: tables config, hyperparameters and text, and rounds with their corpora."""
    try:
        recipe = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        near = path.parent
        return TrainingJob(
            folder,
            tuple(_round(table, near, folder) for table in recipe["round"]),
            _text(recipe.get("text", {}), near),
            Config(**recipe.get("config", {"vocabulary": 12_000})),
            _hyperparameters(recipe.get("hyperparameters", {}), recipe.get("taught", [])),
            recipe=path,
        )
    except FileNotFoundError:
        raise FileError(f"there is no recipe at {path}: check its name.") from None
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        if isinstance(error, RegardError):
            raise
        raise FileError(
            f"{path.name} needs the tables config, hyperparameters, text and [[round]] as in the "
            f"recipe shipped with regard, but reading it gave: {error}."
        ) from None


def _round(table: Mapping[str, Any], near: Path, folder: Path) -> Round:
    corpora = tuple(_corpus(corpus, near, folder) for corpus in table["corpus"])
    rest = {name: value for name, value in table.items() if name != "corpus"}
    return Round(corpora=corpora, **rest)


def _corpus(table: Mapping[str, Any], near: Path, folder: Path) -> Corpus:
    rest = {name: value for name, value in table.items() if name not in ("path", "made")}
    path = near / table["path"] if "path" in table else None
    if path is None or "made" in table:
        return made_corpus(folder, table.get("made", ""), path, **rest)
    return Corpus(path, **rest)


def _text(table: Mapping[str, Any], near: Path) -> TrainingText:
    paths = {
        language: tuple(near / name for name in table.get(language, [])) for language in _LANGUAGES
    }
    valid = near / table["valid"] if "valid" in table else None
    return TrainingText(valid, sentences=table.get("sentences", 1_000_000), **paths)


def _hyperparameters(
    table: Mapping[str, Any], taught: Iterable[Mapping[str, Any]]
) -> Hyperparameters:
    alterations = Alterations(**table.get("alterations", {}))
    heads = tuple(TaughtHead(**head) for head in taught)
    return Hyperparameters(**{**table, "alterations": alterations, "taught": heads})


def _share(schedule: Round, name: str, corpora: tuple[Corpus, ...], share: float) -> Round:
    steps = max(1, round(schedule.steps * share)) if schedule.steps else 0
    minutes = schedule.minutes * share
    return replace(schedule, name=name, corpora=corpora, steps=steps, minutes=minutes)


_LANGUAGES = ("source", "target")
