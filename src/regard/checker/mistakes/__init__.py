"""The catalogue of mistakes that can be named, in the order in which they are tried."""

from functools import lru_cache
from itertools import combinations

from regard.checker.mistakes.causal import CAUSAL
from regard.checker.mistakes.entry import Mistake, combined
from regard.checker.mistakes.head_axes import HEADS
from regard.checker.mistakes.masking import MASKS
from regard.checker.mistakes.scoring import SCORES
from regard.checker.mistakes.side_effects import CONDUCT
from regard.checker.mistakes.softmax import SOFTMAX
from regard.textbook.stages import Stages

CATALOGUE = (*SCORES, *SOFTMAX, *CAUSAL, *MASKS, *HEADS, *CONDUCT)
BY_NAME = {mistake.name: mistake for mistake in CATALOGUE}


def single() -> list[tuple[tuple[Mistake, ...], Stages]]:
    """Every mistake alone, in each of its variants; the usual variants of all come first."""
    parts = (slice(0, 1), slice(1, None))
    return [((m,), stages) for part in parts for m in CATALOGUE for stages in m.variants[part]]


@lru_cache(maxsize=1)
def pairs() -> list[tuple[tuple[Mistake, ...], Stages]]:
    """Every two mistakes that can be made at once."""
    result = []
    for (first, one), (second, other) in combinations(single(), 2):
        stages = combined(one, other) if first != second else None
        if stages is not None:
            result.append(((*first, *second), stages))
    return result


__all__ = ["BY_NAME", "CATALOGUE", "Mistake", "pairs", "single"]
