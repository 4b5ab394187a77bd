"""The catalogue of mistakes that can be named, in the order in which they are tried."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

from regard.checker.mistakes.causal import CAUSAL
from regard.checker.mistakes.entry import Mistake, combined
from regard.checker.mistakes.head_axes import HEADS
from regard.checker.mistakes.masking import MASKS
from regard.checker.mistakes.scoring import SCORES
from regard.checker.mistakes.side_effects import CONDUCT
from regard.checker.mistakes.softmax import SOFTMAX
from regard.checker.mistakes.stand_ins import GENERIC_BY_FEATURE, STAND_INS, UNNAMED
from regard.checker.mistakes.structural import STEPS, STRUCTURAL
from regard.checker.mistakes.tiles import TILED
from regard.textbook.stages import Stages

CATALOGUE = (*SCORES, *SOFTMAX, *TILED, *CAUSAL, *MASKS, *HEADS, *STAND_INS, *CONDUCT, *UNNAMED)
# Mistakes that plain attention, without masks and the like, cannot show.
FEATURE_MISTAKES = frozenset(m.name for m in (*CAUSAL, *MASKS))
BY_NAME = {mistake.name: mistake for mistake in (*CATALOGUE, *STRUCTURAL)}
MISTAKES_BY_STEP = {
    "scores": SCORES,
    "softmax": (*SOFTMAX, *TILED),
    "causal mask": CAUSAL,
    "mask": MASKS,
    "heads": HEADS,
}


@lru_cache(maxsize=1)
def single_mistakes() -> list[tuple[tuple[Mistake, ...], Stages]]:
    """Every mistake alone, in each of its variants; the usual variants of all come first."""
    parts = (slice(0, 1), slice(1, None))
    return [((m,), stages) for part in parts for m in CATALOGUE for stages in m.variants[part]]


@lru_cache(maxsize=1)
def mistake_pairs() -> list[tuple[tuple[Mistake, ...], Stages]]:
    """Every two mistakes that can be made at once."""
    result: list[tuple[tuple[Mistake, ...], Stages]] = []
    usual = [((m,), stages) for m in CATALOGUE for stages in m.variants[:2]]
    alone = [x for x in usual if x[0][0] not in (*STAND_INS, *TILED)]
    for (first, one), (second, other) in combinations(alone, 2):
        stages = combined(one, other) if first != second else None
        if stages is not None:
            result.append(((*first, *second), stages))
    return result


def wrong_step(mistake: Mistake) -> str:
    """The step of attention in which a mistake is made.

    >>> wrong_step(BY_NAME["no scaling"])
    'scores'
    """
    if mistake.name in STEPS:
        return STEPS[mistake.name]
    for step, mistakes in MISTAKES_BY_STEP.items():
        if any(mistake.name == other.name for other in mistakes):
            return step
    return mistake.name.partition(" used wrongly")[0] if mistake.unnamed else "result"


__all__ = [
    "BY_NAME",
    "CATALOGUE",
    "FEATURE_MISTAKES",
    "GENERIC_BY_FEATURE",
    "STRUCTURAL",
    "Mistake",
    "mistake_pairs",
    "single_mistakes",
    "wrong_step",
]
