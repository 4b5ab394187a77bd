"""Statistical word aligner: two hidden Markov models, trained to agree.

Each language generates the other: a word is emitted by a word of the other sentence or by none,
and the next word by one some jump further on (Vogel et al. 1996). Both models are trained by
expectation maximisation on the product of their posteriors (Liang et al. 2006), at first without
jumps (IBM model 1): a link counts as far as it is probable in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regard.transformer.train.aligner_cells import LONGEST, Cells, SentenceBlock, corpus_cells
from regard.transformer.train.data import AT_END, MarkedPair, Pair, WordLink
from regard.transformer.train.hidden_markov import (
    Float32Array,
    Posteriors,
    lexical_posteriors,
    markov_posteriors,
)

NO_WORD = 0.1  # prior share of words that come from no word of the other sentence
SAME = 50.0  # words written alike are this much likelier to be linked at first
FIRST_JUMPS = 0.5  # each further step of a jump halves its probability before any is counted
ANY_JUMP = 0.05  # what is added to the counted jumps, spread evenly over all widths
FLOOR = 1e-9


@dataclass(frozen=True)
class AlignerSettings:
    """Rounds without and with jumps; the joint posteriors of a sure link and of surely none."""

    lexical_rounds: int = 3
    jump_rounds: int = 2
    sure: float = 0.3
    none: float = 0.01


Progress = Callable[[float], None]


def align(
    pairs: Sequence[Pair],
    settings: AlignerSettings | None = None,
    progress: Progress | None = None,
) -> list[MarkedPair]:
    """Word links of sentence pairs, learnt from these pairs alone.

    Parameters
    ----------
    pairs : sequence of (source, target)
        Normalised sentences; from some ten thousand pairs on the links are good.
    settings : AlignerSettings, optional
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    list of MarkedPair
        The pairs in their order. A link goes from a word of the target to the words of the source
        that it is surely aligned with, or to the end where it surely has no partner; a word of
        which neither is sure has no link.
    """
    settings = settings or AlignerSettings()
    cells = corpus_cells(pairs)
    if not cells.slabs:
        return [MarkedPair(pair[0], pair[1]) for pair in pairs]
    model = train_aligner(cells, settings, progress)
    links: list[tuple[WordLink, ...]] = [()] * len(pairs)
    for block in (block for slab in cells.slabs for block in slab):
        of_block = sure_links(joint_posteriors(cells, block, model), settings)
        for row, of_row in zip(block.rows.tolist(), of_block, strict=True):
            links[row] = of_row
    if progress:
        progress(1.0)
    return [MarkedPair(pair[0], pair[1], link) for pair, link in zip(pairs, links, strict=True)]


@dataclass(frozen=True)
class Direction:
    """One model: emissions of the lexicon's entries and of no word; probabilities of jumps."""

    emission: Float32Array
    null: Float32Array
    jumps: NDArray[np.float64]

    def posteriors(self, emission_bqk: Float32Array, words_bq: NDArray[np.int32]) -> Posteriors:
        """Posteriors of the states of a block: by jumps where there are any."""
        states = emission_bqk.shape[-1]
        null_bq = self.null[words_bq] * np.float32(NO_WORD)
        if not len(self.jumps):
            prior = np.float32((1 - NO_WORD) / states)
            return lexical_posteriors(emission_bqk * prior, null_bq)
        return markov_posteriors(emission_bqk, null_bq, *self._transitions(states))

    def _transitions(self, states: int) -> tuple[Float32Array, Float32Array]:
        """Probabilities of the first state and of the next ones; NO_WORD is what lacks to 1."""
        k = np.arange(states)
        first_k, next_kk = self.jumps[LONGEST + 1 + k], self.jumps[LONGEST + k - k[:, None]]
        first_k = first_k * ((1 - NO_WORD) / first_k.sum())
        next_kk = next_kk * ((1 - NO_WORD) / next_kk.sum(axis=1, keepdims=True))
        return first_k.astype(np.float32), next_kk.astype(np.float32)


class Counts:
    """Expected counts of one direction in one round: words from no word, and jumps."""

    def __init__(self, words: int) -> None:
        self.null = np.zeros(words)
        self.jumps = np.zeros(2 * LONGEST + 1)

    def add(self, posteriors: Posteriors, words_bq: NDArray[np.int32]) -> None:
        """Add those of one block."""
        weights = posteriors.null_bq.ravel()
        self.null += np.bincount(words_bq.ravel(), weights, len(self.null))
        k = np.arange(len(posteriors.first_k))
        jumps_kk = LONGEST + k - k[:, None]
        self.jumps += np.bincount(jumps_kk.ravel(), posteriors.moves_kk.ravel(), len(self.jumps))
        self.jumps[LONGEST + 1 + k] += posteriors.first_k


Model = tuple[Direction, Direction]
BothCounts = tuple[Counts, Counts]


def train_aligner(
    cells: Cells, settings: AlignerSettings, progress: Progress | None = None
) -> Model:
    """Both directions, source to target and back, after all rounds."""
    start: Float32Array = np.where(cells.same, SAME, 1).astype(np.float32)
    forward, backward = (
        Direction(start / np.float32(words), np.full(words, 1 / words, np.float32), np.zeros(0))
        for words in (cells.targets, cells.sources)
    )
    rounds = settings.lexical_rounds + settings.jump_rounds
    for number in range(rounds):
        if number == settings.lexical_rounds:
            distance = np.abs(np.arange(-LONGEST, LONGEST + 1) - 1)
            jumps = FIRST_JUMPS**distance + FIRST_JUMPS**10
            forward, backward = replace(forward, jumps=jumps), replace(backward, jumps=jumps)
        forward, backward = _one_round(cells, (forward, backward))
        if progress:
            progress((number + 1) / (rounds + 1))
    return forward, backward


def _one_round(cells: Cells, model: Model) -> Model:
    """Expected counts of all cells, and the model that they make likeliest."""
    joint_counts = np.zeros(len(cells.source_of))
    counts = Counts(cells.targets), Counts(cells.sources)
    for slab in cells.slabs:
        joint = [joint_posteriors(cells, block, model, counts).ravel() for block in slab]
        entries = cells.entries[slab[0].start : slab[-1].stop]
        joint_counts += np.bincount(entries, np.concatenate(joint), len(joint_counts))
    return (
        _likeliest(joint_counts, cells.source_of, counts[0], model[0]),
        _likeliest(joint_counts, cells.target_of, counts[1], model[1]),
    )


def joint_posteriors(
    cells: Cells, block: SentenceBlock, model: Model, counts: BothCounts | None = None
) -> Float32Array:
    """The product of both directions' posteriors, (b, q, k); what is counted is added up."""
    forward, backward = model
    entries = cells.entries[block.start : block.stop].reshape(block.shape)
    to_target = forward.posteriors(forward.emission[entries], block.target_bq)
    entries_bkq = np.ascontiguousarray(entries.transpose(0, 2, 1))
    to_source = backward.posteriors(backward.emission[entries_bkq], block.source_bk)
    if counts:
        counts[0].add(to_target, block.target_bq)
        counts[1].add(to_source, block.source_bk)
    joint_bqk: Float32Array = to_target.state_bqk * to_source.state_bqk.transpose(0, 2, 1)
    return joint_bqk


def _likeliest(
    joint_counts: NDArray[np.float64], emitter: NDArray[np.int32], counts: Counts, before: Direction
) -> Direction:
    """The direction whose emitting words are ``emitter``, from expected counts."""
    totals = np.maximum(np.bincount(emitter, joint_counts), FLOOR)
    emission = np.maximum(joint_counts / totals[emitter], FLOOR).astype(np.float32)
    null = np.maximum(counts.null / counts.null.sum(), FLOOR).astype(np.float32)
    if not len(before.jumps):
        return Direction(emission, null, before.jumps)
    jumps = counts.jumps / counts.jumps.sum()
    return Direction(emission, null, jumps + ANY_JUMP / len(jumps))


def sure_links(joint_bqk: Float32Array, settings: AlignerSettings) -> list[tuple[WordLink, ...]]:
    """Links of each pair: a target word with its best source word and its sure neighbours."""
    best_bq = joint_bqk.argmax(axis=-1)
    most_bq = joint_bqk.max(axis=-1)
    sure_bq, none_bq = most_bq >= settings.sure, most_bq < settings.none
    first_bq, last_bq = _runs(joint_bqk >= settings.sure, best_bq)
    first_bq[none_bq] = last_bq[none_bq] = AT_END
    pair, word = np.nonzero(sure_bq | none_bq)
    spans = zip(
        word.tolist(), first_bq[pair, word].tolist(), last_bq[pair, word].tolist(), strict=True
    )
    links = [WordLink(*span) for span in spans]
    stops = np.cumsum(np.bincount(pair, minlength=len(joint_bqk))).tolist()
    return [tuple(links[a:b]) for a, b in zip([0, *stops], stops, strict=False)]


def _runs(
    sure_bqk: NDArray[np.bool_], within_bq: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last of the sure source words that stand together around one of them.

    >>> first, last = _runs(np.array([[[True, False, True, True]]]), np.array([[3]]))
    >>> first.item(), last.item()
    (2, 3)
    """
    k = np.arange(sure_bqk.shape[-1])
    gap_before = np.where(sure_bqk | (k > within_bq[..., None]), -1, k).max(axis=-1)
    gap_after = np.where(sure_bqk | (k < within_bq[..., None]), len(k), k).min(axis=-1)
    return gap_before + 1, gap_after - 1
