"""Pairs made by models out of text in one language: back-translation and self-training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from regard.transformer.train.files import Pair
from regard.transformer.train.translate import Translator


def back_translate(reverse: Translator, targets: Sequence[str]) -> list[Pair]:
    """Pair true targets with sources that a reverse model made of them."""
    made = reverse(targets, tag="<reverse>")
    pairs = [(source, target) for (source, _), target in zip(made, targets, strict=True)]
    return [pair for pair in pairs if sensible(pair)]


def self_train(teacher: Translator, sources: Sequence[str], kept: float = 0.85) -> list[Pair]:
    """Pair true sources with a teacher's targets, the share it was surest of."""
    made = teacher(sources)
    surest = float(np.quantile([score for _, score in made], 1 - kept)) if made else 0.0
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
