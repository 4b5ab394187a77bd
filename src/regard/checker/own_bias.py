"""A bias by distance that a function of query, key and value adds to the scores by itself.

With queries of zero every score is the bias, and with the identity as values the output is its
softmax: that shows the slope of each head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np

from regard.checker.calls import BoundFunction, Candidate
from regard.checker.cases import Case
from regard.checker.explain import Verdict, explain
from regard.checker.prepare import Features
from regard.checker.reading import EXACT, centred
from regard.typing import Array

WORDS, WIDTH = 5, 4
# The output (b, h, q, v) from that of a layout; others are not asked.
HEADS_FIRST: dict[str, Callable[[Array], Array]] = {
    "bhtd": lambda array: array,
    "bthd": lambda array: array.swapaxes(1, 2),
    "btd": lambda array: array[:, None],
    "thd": lambda array: array.swapaxes(0, 1)[None],
    "td": lambda array: array[None, None],
}


def explain_with_own_bias(layouts: list[Candidate], features: Features) -> Verdict | None:
    """The verdict on a function with a bias by distance, for as many queries as keys; or None."""
    biased = []
    for layout in layouts:
        slopes_h = own_slopes(layout.bound, 3 if layout.convention.headed else 1)
        if slopes_h is None:
            continue
        sign = -1.0 if (slopes_h < 0).all() else 1.0  # one that grows with the distance is wrong
        slopes = cache(partial(_signed_slopes, layout.bound, sign))
        convention = replace(layout.convention, equal_lengths=True, own_slopes=slopes)
        bound = replace(layout.bound, convention=convention, trials={})
        candidate = bound.run_trials(features, plain=True)
        biased += [candidate] if candidate is not None else []
    verdict = explain(biased, features) if biased else None
    return verdict if verdict is not None and verdict.explanation is not None else None


def _signed_slopes(bound: BoundFunction, sign: float, heads: int) -> Array:
    slopes_h = own_slopes(bound, heads)
    return np.zeros(heads) if slopes_h is None else sign * slopes_h


def own_slopes(bound: BoundFunction, heads: int) -> Array | None:
    """The slope of each head; None where there is no bias, or one that is no line of distance."""
    convention = bound.convention
    if not convention.separate or convention.layout not in HEADS_FIRST:
        return None
    zeros = np.zeros((1, heads, WORDS, convention.head_width or WIDTH))
    value = np.broadcast_to(np.eye(WORDS), (1, heads, WORDS, WORDS))
    result = bound.call(Case(zeros, zeros, value.copy()))
    weights = HEADS_FIRST[convention.layout](result.arrays[0]) if result.arrays else zeros
    if weights.shape != value.shape or not (weights >= 0).all():
        return None
    seen = weights > 1e-12
    logs = centred(np.log(np.where(seen, weights, 1)), seen)[0]
    gap_qk = -np.abs(np.arange(WORDS) - np.arange(WORDS)[:, None]).astype(float)
    line = centred(np.broadcast_to(gap_qk, logs.shape), seen[0])
    slopes_h = (line * logs).sum((1, 2)) / np.maximum((line**2).sum((1, 2)), 1e-30)
    rest = np.abs(logs - slopes_h[:, None, None] * line).max()
    size = np.abs(logs).max()
    return slopes_h if size > 1e-6 and rest < EXACT * size else None
