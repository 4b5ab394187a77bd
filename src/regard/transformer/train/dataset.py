"""The dataset of a round.

Every corpus read, augmented, encoded and tagged, in batches of like length.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import sentencepiece

from regard.errors import ArgumentError
from regard.transformer.config import PAD, START
from regard.transformer.train.augment import alter
from regard.transformer.train.data import (
    Pair,
    Pairs,
    encode_pairs,
    read_pairs,
    tagged,
    together,
    within,
)
from regard.transformer.train.recipe import Corpus, Habits, Round


def gather(part: Round, tokens: sentencepiece.SentencePieceProcessor, habits: Habits) -> Pairs:
    """All pairs of one epoch of a round, none longer than `habits.longest` tokens."""
    if not part.corpora:
        raise ArgumentError(f"round {part.name!r} needs text, but has none: name its files.")
    parts = [
        encoded
        for number, corpus in enumerate(part.corpora)
        for encoded in _copies(corpus, number, tokens, habits)
    ]
    return within(together(parts), habits.longest)


def _copies(
    corpus: Corpus, number: int, tokens: sentencepiece.SentencePieceProcessor, habits: Habits
) -> list[Pairs]:
    pairs, copies = matching(read_pairs(corpus.path), corpus), []
    for copy in range(math.ceil(corpus.copies)):
        seed = (habits.seed * 100 + number) * 100 + copy
        some = _some(pairs, corpus.copies - copy, seed)
        copies += _encoded(alter(some, habits.alterations, seed), corpus, tokens)
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


def _some(pairs: list[Pair], share: float, seed: int) -> list[Pair]:
    """A random share of the pairs; all of them from 1 on."""
    count = round(len(pairs) * share)
    return pairs if share >= 1 else random.Random(seed).sample(pairs, max(1, count))


def _encoded(
    pairs: list[Pair], corpus: Corpus, tokens: sentencepiece.SentencePieceProcessor
) -> list[Pairs]:
    encoded = encode_pairs(tokens, pairs)
    forward = encoded
    if corpus.tag:
        forward = Pairs(tagged(encoded.source, tokens.piece_to_id(corpus.tag)), encoded.target)
    if not corpus.both_ways:
        return [forward]
    back = tagged(encoded.target, tokens.piece_to_id("<reverse>"))
    return [forward, Pairs(back, encoded.source)]


Prepare = Callable[[Pairs, np.random.Generator], Pairs]


@dataclass(frozen=True)
class Batch:
    """Sources, what the decoder is given, and what it should say; every source is equally long."""

    source_bt: np.ndarray
    given_bt: np.ndarray
    wanted_bt: np.ndarray

    @property
    def size(self) -> int:
        """Tokens, padding counted."""
        return self.source_bt.size + self.wanted_bt.size


@dataclass(frozen=True)
class Epoch:
    """One pass over the pairs: the rows of each batch, in the order they are trained on."""

    pairs: Pairs
    plan: list[np.ndarray]

    def batch(self, number: int) -> Batch:
        """Batch `number` of this pass."""
        rows = self.plan[number]
        source_bt = self.pairs.source.take(rows).padded(PAD)
        wanted_bt = self.pairs.target.take(rows).padded(PAD)
        start_b1 = np.full((len(rows), 1), START)
        return Batch(source_bt, np.concatenate([start_b1, wanted_bt[:, :-1]], 1), wanted_bt)


def plan_epoch(pairs: Pairs, tokens_per_batch: int, rng: np.random.Generator) -> list[np.ndarray]:
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
    pairs: Pairs, prepare: Prepare, tokens_per_batch: int, seed: int, first: int
) -> Iterator[Epoch]:
    """Passes over the pairs without end, the next made while this one is used."""

    def make(number: int) -> Epoch:
        rng = np.random.default_rng((seed, number))
        prepared = prepare(pairs, rng)
        return Epoch(prepared, plan_epoch(prepared, tokens_per_batch, rng))

    with ThreadPoolExecutor(1) as pool:
        coming: Future[Epoch] = pool.submit(make, first)
        while True:
            epoch, first = coming.result(), first + 1
            coming = pool.submit(make, first)
            yield epoch


def _cuts(source: int, targets: np.ndarray, begin: int, tokens_per_batch: int) -> list[int]:
    """Where batches start among pairs with sources of one length, targets in growing length."""
    cuts, start = [], 0
    while start < len(targets):
        cuts.append(begin + start)
        window = targets[start : start + tokens_per_batch // (source + int(targets[start])) + 1]
        sizes = np.arange(1, len(window) + 1) * (source + window)
        start += max(1, int(np.searchsorted(sizes, tokens_per_batch, side="right")))
    return cuts
