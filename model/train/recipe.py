"""Recipes and training jobs: corpora, rounds and hyperparameters, validated before the work."""

from __future__ import annotations

import importlib
import importlib.util
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from regard.errors import ArgumentError, FileError, RegardError
from regard.transformer.config import Config
from train.data import read_pairs, read_sentences

ATTENTION_KERNELS = ("efficient", "cudnn", "plain")
# Attention whose heads can be taught. Queries of the encoder are words of the source, those of
# cross-attention words of the target; the keys of both are words of the source.
TAUGHT_PARTS = ("encoder", "cross")
ALIGNMENT = "alignment"  # the links that the word aligner makes
SIZES = {
    "tiny": Config(vocabulary=600, layers=2, heads=4, width=64, feed_forward_width=128),
    "small": Config(vocabulary=8_000, layers=3, heads=4, width=256, feed_forward_width=512),
    "full": Config(vocabulary=12_000),
}

Point = dict[str, float]


@dataclass(frozen=True)
class TaughtHead:
    """A head whose rows are taught to rest on the words that links of the kind `of` name.

    `weight` multiplies its loss, -log of the row's weight on these words; `share` is the share of
    the steps on which it counts.
    """

    part: str
    layer: int
    head: int
    of: str
    weight: float = 0.1
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.part not in TAUGHT_PARTS:
            raise ArgumentError(
                f"the part of a taught head must be 'encoder' or 'cross', got {self.part!r}."
            )
        if self.of == ALIGNMENT and self.part != "cross":
            raise ArgumentError(
                "a head taught 'alignment' must be of the part 'cross', because its links go from "
                f"the target to the source, got {self.part!r}."
            )
        for name in ("layer", "head"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise ArgumentError(f"{name} must be a whole number from 0 up, got {value!r}.")
        check_positive("weight", self.weight)
        if not 0 < self.share <= 1:
            raise ArgumentError(f"share must be above 0 and at most 1, got {self.share!r}.")

    def counts_at(self, step: int) -> bool:
        """Whether the loss is added at this step; the steps are evenly spread.

        >>> head = TaughtHead("encoder", 3, 6, "pronouns", share=0.5)
        >>> [head.counts_at(step) for step in range(4)]
        [False, True, False, True]
        """
        return int((step + 1) * self.share) > int(step * self.share)


@dataclass(frozen=True)
class Corpus:
    """Pairs from one file: how many copies an epoch holds, and the tag before their sources.

    Half a copy is a random half of the pairs, a different one in every epoch.
    With `both_ways`, each pair is also learnt from target to source, tagged as reverse.
    `source` and `target` are patterns that select the pairs in which both match.
    `links` names the kind of the links in the file's third column, to teach heads by.
    A file that training makes itself says in `made` by what, out of the pairs of `original` where
    it has one; `sentences` is the number it is asked for. Without `translated`, the targets are
    ignored and the sentences teach a head alone.
    """

    path: Path
    copies: float = 1.0
    tag: str = ""
    both_ways: bool = False
    source: str = ""
    target: str = ""
    links: str = ""
    made: str = ""
    original: Path | None = None
    sentences: int = 100_000
    translated: bool = True


@dataclass(frozen=True)
class Round:
    """One part of training with its own text and its own rise and fall of the learning rate.

    It lasts `steps`, or, when steps is 0, `minutes`. Steps make it repeatable to the last bit;
    minutes make it end in time, however fast the machine is. It trains all parameters, or, where
    `trained` is a kind of links, the queries and keys of the heads taught that and nothing else.
    """

    name: str
    corpora: tuple[Corpus, ...]
    steps: int = 0
    minutes: float = 0.0
    learning_rate: float = 1e-3
    warm_up: float = 0.05
    final: float = 0.02
    trained: str = ""

    def __post_init__(self) -> None:
        check_positive("learning_rate", self.learning_rate)
        for name in ("steps", "minutes"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ArgumentError(f"{name} must be a number from 0 up, got {value!r}.")
        if (self.steps > 0) == (self.minutes > 0):
            raise ArgumentError(
                f"round {self.name!r} must have either steps or minutes, got steps={self.steps} "
                f"and minutes={self.minutes}: leave one of them at 0."
            )


@dataclass(frozen=True)
class Alterations:
    """The share of pairs that each change of the text is made to."""

    joined: float = 0.05
    unstopped: float = 0.08
    lowered: float = 0.03
    titled: float = 0.02


NO_ALTERATIONS = Alterations(joined=0.0, unstopped=0.0, lowered=0.0, titled=0.0)


@dataclass(frozen=True)
class Hyperparameters:
    """Options that are the same in every round.

    Batches hold about `tokens_per_batch`, padding counted, in rows of `source_width` and
    `target_width` tokens that several pairs share; pairs with a side of more than `longest` tokens
    are left out; `split` is the share of pieces split again in each epoch; the last parameters are
    the mean of `averaged` states from the share `averaged_from` of a round on. `attention` names
    the kernel, and `compile` has the loss compiled, both of them only on a GPU.
    """

    seed: int = 1
    tokens_per_batch: int = 65_536
    longest: int = 96
    dropout: float = 0.1
    smoothing: float = 0.1
    split: float = 0.05
    clip: float = 1.0
    averaged: int = 10
    averaged_from: float = 0.85
    alterations: Alterations = field(default_factory=Alterations)
    source_width: int = 128
    target_width: int = 128
    attention: str = "efficient"
    compile: bool = True
    taught: tuple[TaughtHead, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("tokens_per_batch", 1), ("longest", 2), ("averaged", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ArgumentError(
                    f"{name} must be a whole number from {least} up, got {value!r}."
                )
        for name in ("dropout", "smoothing", "split", "averaged_from"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise ArgumentError(f"{name} must be at least 0 and below 1, got {value!r}.")
        check_positive("clip", self.clip)
        self._check_rows()
        self._check_taught()

    @property
    def link_parts(self) -> dict[str, str]:
        """The part of the heads that each kind of links teaches."""
        return {head.of: head.part for head in self.taught}

    def _check_rows(self) -> None:
        for name in ("source_width", "target_width"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < self.longest:
                raise ArgumentError(
                    f"{name} must be at least {self.longest}, the tokens of the longest side of a "
                    f"pair, got {value!r}: raise it, or lower longest."
                )
        if self.attention not in ATTENTION_KERNELS:
            raise ArgumentError(
                f"attention must be one of {', '.join(ATTENTION_KERNELS)}, got {self.attention!r}."
            )

    def _check_taught(self) -> None:
        # The links of a part share one column of a batch.
        kinds = {(head.part, head.of) for head in self.taught}
        for part in TAUGHT_PARTS:
            names = sorted(of for other, of in kinds if other == part)
            if len(names) > 1:
                raise ArgumentError(
                    f"all taught heads of the part {part!r} must learn one kind of links, got "
                    f"{' and '.join(map(repr, names))}."
                )
        if len(self.link_parts) < len(kinds):
            raise ArgumentError(
                "one kind of links must teach heads of one part, got "
                f"{' and '.join(f'{of!r} for {part!r}' for part, of in sorted(kinds))}."
            )


def check_positive(name: str, value: float) -> None:
    """Raise an ArgumentError unless a number is finite and above 0."""
    if not (math.isfinite(value) and value > 0):
        raise ArgumentError(f"{name} must be a number above 0, got {value!r}.")


def share_done(part: Round, step: int, seconds: float) -> float:
    """The share of a round that is done, from 0 to 1."""
    done = step / part.steps if part.steps else seconds / (60 * part.minutes)
    return min(1.0, done)


def learning_rate(part: Round, done: float) -> float:
    """Learning rate of a round: a linear warm-up, then a cosine decay.

    >>> part = Round("r", (Corpus(Path("p.tsv")),), steps=10, warm_up=0.1, final=0.0)
    >>> [round(learning_rate(part, done), 5) for done in (0.05, 0.1, 0.55, 1.0)]
    [0.0005, 0.001, 0.0005, 0.0]
    """
    if done < part.warm_up:
        return part.learning_rate * done / part.warm_up
    fall = (done - part.warm_up) / (1 - part.warm_up)
    share = part.final + (1 - part.final) * (1 + math.cos(math.pi * fall)) / 2
    return part.learning_rate * share


Progress = Callable[[Round, Point], None]


def no_progress(part: Round, point: Point) -> None:
    """Ignore a point of the curve."""


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
        return (*self.source, *self.target, *([self.valid] if self.valid else []))


@dataclass(frozen=True)
class TrainingJob:
    """Config, rounds, text, hyperparameters, device and folder of a training.

    `recipe` is the file that the job was read from, if any; generators are imported from its
    folder. `start` is the folder of an exported model whose config, tokens and parameters
    training begins with; without it the parameters are random.
    """

    folder: Path
    rounds: tuple[Round, ...]
    text: TrainingText = field(default_factory=TrainingText)
    config: Config = SIZES["full"]
    hyperparameters: Hyperparameters = field(default_factory=Hyperparameters)
    device: str = "cpu"
    progress: Progress = no_progress
    recipe: Path | None = None
    start: Path | None = None

    @property
    def corpora(self) -> list[Corpus]:
        return [corpus for part in self.rounds for corpus in part.corpora]

    @property
    def pairs(self) -> list[Path]:
        """The files of pairs that training does not make itself, each once."""
        paths = (x.original or x.path for x in self.corpora if x.original or not x.made)
        return list(dict.fromkeys(paths))


TRANSLATED_BY_MODEL = ("back", "self")
_GENERATOR = re.compile(r"[\w.]+:\w+")


def is_generator(made: str) -> bool:
    """Whether `made` names a function, as in 'package.module:function'."""
    return _GENERATOR.fullmatch(made) is not None


def made_corpus(folder: Path, made: str, original: Path | None = None, **options: Any) -> Corpus:
    """A corpus that training makes in its folder.

    'back' and 'self' are translations by the model itself, of targets and of sources; 'alignment'
    is the pairs of the file `original` with links from words of the target to those of the source;
    'package.module:function' is what that function returns (`made.TextRequest` says how it is
    called), with `original` as the file it works on, if it needs one.
    """
    generated = is_generator(made)
    if not (generated or (made == ALIGNMENT if original else made in TRANSLATED_BY_MODEL)):
        raise ArgumentError(
            "a corpus must have path = a file, or made = 'back', 'self' or 'module:function', or "
            f"path and made = 'alignment' or 'module:function', got made = {made!r} and "
            f"path = {original.name if original else None!r}."
        )
    name = re.sub(r"[.:]", "-", made)
    if original:
        name = f"{name}-{original.name.partition('.tsv')[0]}"
    if made == ALIGNMENT:
        options = {"links": ALIGNMENT, **options}
    # What the model translated took a GPU to make; the rest is faster to make than to compress.
    suffix = ".tsv.gz" if made in TRANSLATED_BY_MODEL else ".tsv"
    return Corpus(folder / f"{name}{suffix}", made=made, original=original, **options)


def load_generator(made: str, folder: Path | None) -> Callable[..., Any]:
    """The function that `made` names; `folder`, the recipe's, is searched for modules too.

    The folder stays on the path, since a generator may import more when it is called.
    """
    name, _, attribute = made.partition(":")
    if folder is not None and str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
        importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise ArgumentError(
            f"made = {made!r} must name a module that can be imported from the recipe's folder or "
            f"is installed, got {error}."
        ) from error
    function = getattr(module, attribute, None)
    if not callable(function):
        raise ArgumentError(
            f"made = {made!r} must name a function of {name}, got "
            f"{'nothing of that name' if function is None else repr(function)}."
        )
    found: Callable[..., Any] = function
    return found


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
    for made in dict.fromkeys(x.made for x in job.corpora if is_generator(x.made)):
        load_generator(made, job.recipe.parent if job.recipe else None)
    if job.text.valid is not None and importlib.util.find_spec("sacrebleu") is None:
        raise ArgumentError(
            "measuring BLEU on validation pairs needs sacrebleu, which is not installed: "
            "pip install 'regard[train]'."
        )
    for path in (*job.pairs, *([job.text.valid] if job.text.valid else [])):
        if not read_pairs(path):
            raise FileError(f"{path} must have at least one pair, got none: add lines.")
    for path in (*job.text.source, *job.text.target):
        if not read_sentences(path):
            raise FileError(f"{path} must have at least one sentence, got none: add lines.")


def check_device(name: str) -> None:
    """Raise an ArgumentError unless PyTorch can compute on this device."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ArgumentError(f"device must be 'cpu' or 'cuda', got {name!r}.")
    number = int(name.partition(":")[2] or 0)
    if name != "cpu" and number >= torch.cuda.device_count():
        raise ArgumentError(
            f"device {name!r} needs a GPU that PyTorch can use, but it sees "
            f"{torch.cuda.device_count()}: use 'cpu'."
        )


def _check_taught(head: TaughtHead, job: TrainingJob) -> None:
    if head.layer >= job.config.layers or head.head >= job.config.heads:
        raise ArgumentError(
            f"a taught head must be one of {job.config.layers} layers of {job.config.heads} "
            f"heads, counted from 0, got layer {head.layer}, head {head.head}."
        )
    if head.of not in {corpus.links for corpus in job.corpora}:
        raise ArgumentError(
            f"a head taught {head.of!r} needs a corpus with such links, but no round has one: add "
            f"{'made' if head.of == ALIGNMENT else 'links'} = {head.of!r} to a corpus that has "
            "them."
        )


def _check_trained(part: Round, job: TrainingJob) -> None:
    kinds = sorted({head.of for head in job.hyperparameters.taught})
    if part.trained and part.trained not in kinds:
        raise ArgumentError(
            f"trained of round {part.name!r} must be what a head is taught "
            f"({' or '.join(map(repr, kinds)) or 'no head is taught'}), got {part.trained!r}."
        )


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ArgumentError(
            f"the pattern of a corpus must be a regular expression, got {pattern!r}: {error}."
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
            start=near / recipe["start"] if "start" in recipe else None,
        )
    except FileNotFoundError:
        raise FileError(f"there is no recipe at {path}: check its name.") from None
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        if isinstance(error, RegardError):
            raise
        raise FileError(
            f"{path.name} must have the tables config, hyperparameters, text and [[round]], as in "
            f"model/recipe.toml of regard's repository, but reading it gave: {error}."
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
