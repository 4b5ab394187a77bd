"""Options of a training: corpora, rounds, hyperparameters and the learning-rate schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from regard.errors import ArgumentError
from regard.transformer.train.augment import Alterations

OPTIMISERS = ("adamw", "muon")
ATTENTION_KERNELS = ("efficient", "cudnn", "plain", "flex")
QUERY_PARTS = {"anaphora": "encoder", "alignment": "cross"}


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
        if QUERY_PARTS.get(self.of) != self.part:
            pairs = " or ".join(f"{part!r} of {kind!r}" for kind, part in QUERY_PARTS.items())
            raise ArgumentError(
                f"a taught head needs to be {pairs}, but it is {self.part!r} of {self.of!r}."
            )
        for name in ("layer", "head"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise ArgumentError(f"{name} needs a whole number from 0 up, but it is {value!r}.")
        check_positive("weight", self.weight)
        if not 0 < self.share <= 1:
            raise ArgumentError(
                f"share needs a number above 0 and up to 1, but it is {self.share!r}."
            )

    def counts_at(self, step: int) -> bool:
        """Whether the loss is added at this step; the steps are evenly spread.

        >>> head = TaughtHead("encoder", 3, 6, "anaphora", share=0.5)
        >>> [head.counts_at(step) for step in range(4)]
        [False, True, False, True]
        """
        return int((step + 1) * self.share) > int(step * self.share)


@dataclass(frozen=True)
class Corpus:
    """Pairs from one file: how many copies an epoch holds, and the tag before their sources.

    Half a copy is a random half of the pairs, another one in every epoch.
    Both ways means that each pair is also learnt from target to source, tagged as reverse.
    Patterns for source and target, where given, select the pairs in which both match.
    Links is the kind of the links in the file's third column, where it has one to teach heads by.
    A file that training makes itself is of the kind `made`, out of the pairs of `original` where
    it has one, and with `sentences` of them where they are counted.
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

    @property
    def translated(self) -> bool:
        """Whether the sentences have targets; without, they teach a head alone."""
        return self.made != "preferences"


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
                raise ArgumentError(f"{name} needs a number from 0 up, but it is {value!r}.")
        if (self.steps > 0) == (self.minutes > 0):
            raise ArgumentError(
                f"round {self.name!r} needs either steps or minutes, but has steps={self.steps} "
                f"and minutes={self.minutes}: leave one of them at 0."
            )


@dataclass(frozen=True)
class Hyperparameters:
    """Options that are the same in every round.

    Batches hold about `tokens_per_batch`, padding counted, in rows of `source_width` and
    `target_width` tokens that several pairs share; pairs with a side of more than `longest` tokens
    are left out; `split` is the share of pieces split anew in each epoch; the last parameters are
    the mean of `averaged` states from the share `averaged_from` of a round on. `attention` names
    the kernel, and `compile` has the loss compiled, both of them on a GPU alone; `optimiser` is
    'adamw', or 'muon' for the matrices of the layers.
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
    optimiser: str = "adamw"
    taught: tuple[TaughtHead, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("tokens_per_batch", 1), ("longest", 2), ("averaged", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ArgumentError(
                    f"{name} needs a whole number from {least} up, but it is {value!r}."
                )
        for name in ("dropout", "smoothing", "split", "averaged_from"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise ArgumentError(f"{name} needs a number from 0 to below 1, but it is {value}.")
        check_positive("clip", self.clip)
        self._check_rows()

    def _check_rows(self) -> None:
        for name in ("source_width", "target_width"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < self.longest:
                raise ArgumentError(
                    f"{name} needs at least the {self.longest} tokens of the longest side of a "
                    f"pair, but it is {value!r}: raise it, or lower longest."
                )
        for name, names in (("attention", ATTENTION_KERNELS), ("optimiser", OPTIMISERS)):
            value = getattr(self, name)
            if value not in names:
                raise ArgumentError(
                    f"{name} needs to be one of {', '.join(names)}, but it is {value!r}."
                )


def check_positive(name: str, value: float) -> None:
    """Raise an ArgumentError unless a number is finite and above 0."""
    if not (math.isfinite(value) and value > 0):
        raise ArgumentError(f"{name} needs a number above 0, but it is {value!r}.")


def progress(part: Round, step: int, seconds: float) -> float:
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
