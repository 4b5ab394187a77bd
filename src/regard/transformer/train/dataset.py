"""Dataset of a round: corpora augmented, encoded and tagged, in batches of like length."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import sentencepiece

from regard.errors import ArgumentError, FileError
from regard.transformer.config import PAD, START
from regard.transformer.train.augment import alter
from regard.transformer.train.data import (
    EncodedPairs,
    Pair,
    concatenate,
    encode_pairs,
    read_pairs,
    tagged,
    within,
)
from regard.transformer.train.recipe import Corpus, Hyperparameters, Round


def gather(
    part: Round, tokens: sentencepiece.SentencePieceProcessor, hyperparameters: Hyperparameters
) -> EncodedPairs:
    """All pairs of one epoch of a round, none longer than `hyperparameters.longest` tokens."""
    if not part.corpora:
        raise ArgumentError(f"round {part.name!r} needs text, but has none: name its files.")
    parts = [
        encoded
        for number, corpus in enumerate(part.corpora)
        for encoded in _copies(corpus, number, tokens, hyperparameters)
    ]
    pairs = concatenate(parts)
    short = within(pairs, hyperparameters.longest)
    if not len(short):
        raise FileError(
            f"round {part.name!r} needs pairs of at most {hyperparameters.longest} tokens a side, "
            f"but none of its {len(pairs):,} pairs is that short: put one sentence on a line."
        )
    return short


def _copies(
    corpus: Corpus,
    number: int,
    tokens: sentencepiece.SentencePieceProcessor,
    hyperparameters: Hyperparameters,
) -> list[EncodedPairs]:
    pairs, copies = matching(read_pairs(corpus.path), corpus), []
    for copy in range(math.ceil(corpus.copies)):
        seed = (hyperparameters.seed * 100 + number) * 100 + copy
        subset = _subsample(pairs, corpus.copies - copy, seed)
        copies += _encoded(alter(subset, hyperparameters.alterations, seed), corpus, tokens)
    return copies


def matching(pairs: list[Pair], corpus: Corpus) -> list[Pair]:
    """The pairs whose two sides hold the corpus's patterns, all of them where it has none.

    >>> from pathlib import Path
    >>> some = Corpus(Path("p.tsv"), source=r"\\bit\\b", target=r"\\belle\\b")
    >>> matching([("I saw it.", "Je le vis."), ("Is it new?", "Est-elle neuve ?")], some)
    [('Is it new?', 'Est-elle neuve ?')]
    """
    source, target = re.compile(corpus.source), re.compile(corpus.target)
    return [pair for pair in pairs if source.search(pair[0]) and target.search(pair[1])]


def _subsample(pairs: list[Pair], share: float, seed: int) -> list[Pair]:
    """A random share of the pairs; all of them from 1 on."""
    count = round(len(pairs) * share)
    return pairs if share >= 1 else random.Random(seed).sample(pairs, max(1, count))


def _encoded(
    pairs: list[Pair], corpus: Corpus, tokens: sentencepiece.SentencePieceProcessor
) -> list[EncodedPairs]:
    encoded = encode_pairs(tokens, pairs)
    forward = encoded
    if corpus.tag:
        forward = EncodedPairs(
            tagged(encoded.source, tokens.piece_to_id(corpus.tag)), encoded.target
        )
    if not corpus.both_ways:
        return [forward]
    back = tagged(encoded.target, tokens.piece_to_id("<reverse>"))
    return [forward, EncodedPairs(back, encoded.source)]


Prepare = Callable[[EncodedPairs, np.random.Generator], EncodedPairs]


@dataclass(frozen=True)
class TrainingBatch:
    """Sources of one length, the decoder's inputs, and its labels."""

    source_bt: np.ndarray
    given_bt: np.ndarray
    labels_bt: np.ndarray

    @property
    def size(self) -> int:
        """Tokens, padding counted."""
        return self.source_bt.size + self.labels_bt.size


@dataclass(frozen=True)
class Epoch:
    """One pass over the pairs: the rows of each batch, in the order they are trained on."""

    pairs: EncodedPairs
    plan: list[np.ndarray]

    def batch(self, number: int) -> TrainingBatch:
        """The batch of this number."""
        rows = self.plan[number]
        source_bt = self.pairs.source.take(rows).padded(PAD)
        labels_bt = self.pairs.target.take(rows).padded(PAD)
        start_b1 = np.full((len(rows), 1), START)
        return TrainingBatch(source_bt, np.concatenate([start_b1, labels_bt[:, :-1]], 1), labels_bt)


def plan_epoch(
    pairs: EncodedPairs, tokens_per_batch: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Cut the shuffled pairs, ordered by length, into batches of about `tokens_per_batch`.

    Sources of one batch are equally long, so that no attention in training needs a mask.
    """
    sources, targets = pairs.source.lengths, pairs.target.lengths
    shuffled = rng.permutation(len(pairs))
    order = shuffled[np.lexsort((targets[shuffled], sources[shuffled]))]
    cuts: list[int] = []
    begin = 0
    for end in [*np.flatnonzero(np.diff(sources[order])) + 1, len(order)]:
        cuts += _cuts(sources[order[begin]], targets[order[begin:end]], begin, tokens_per_batch)
        begin = int(end)
    plan = np.split(order, cuts[1:])
    return [plan[number] for number in rng.permutation(len(plan))]


def epochs(
    pairs: EncodedPairs, prepare: Prepare, tokens_per_batch: int, seed: int, first: int
) -> Iterator[Epoch]:
    """Endless passes over the pairs, the next prepared in a thread while this one is used."""

    def make(number: int) -> Epoch:
        rng = np.random.default_rng((seed, number))
        prepared = prepare(pairs, rng)
        return Epoch(prepared, plan_epoch(prepared, tokens_per_batch, rng))

    with ThreadPoolExecutor(1) as pool:
        pending: Future[Epoch] = pool.submit(make, first)
        while True:
            epoch, first = pending.result(), first + 1
            pending = pool.submit(make, first)
            yield epoch


def _cuts(source: int, targets: np.ndarray, begin: int, tokens_per_batch: int) -> list[int]:
    """First pairs of the batches, among pairs with sources of one length and sorted targets."""
    cuts, start = [], 0
    while start < len(targets):
        cuts.append(begin + start)
        window = targets[start : start + tokens_per_batch // (source + int(targets[start])) + 1]
        sizes = np.arange(1, len(window) + 1) * (source + window)
        start += max(1, int(np.searchsorted(sizes, tokens_per_batch, side="right")))
    return cuts
