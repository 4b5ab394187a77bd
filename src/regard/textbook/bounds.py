"""Bounds on the rounding error of every stage of Steps.

A sum of n products errs by at most n u times the sum of their sizes, with u the unit roundoff,
whatever the order in which it is added up (Higham, Accuracy and Stability of Numerical Algorithms,
section 3.1): so the bounds hold for every BLAS. What the operands are off by is carried along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from regard.typing import Float64Array

if TYPE_CHECKING:
    from regard.textbook.steps import Steps

EPSILON = 2.0**-52  # twice the unit roundoff: the stored number errs, and whoever reckons again
TINY = 1e-321  # below about this, float64 has no relative precision left
FAR = 50.0  # scores beyond it are written less the highest of their row


def error_bounds(steps: Steps, stage: str) -> Float64Array:
    """A bound on the error of each number of a stage, in the shape of the stage.

    >>> from regard.textbook.steps import attend
    >>> steps = attend(np.eye(2), np.eye(2), np.eye(2))
    >>> query, weights = (error_bounds(steps, stage).max() for stage in ("query", "weights"))
    >>> query == 0 < weights < 1e-14
    np.True_
    """
    with np.errstate(all="ignore"):
        return np.nan_to_num(_BOUNDS[stage](steps, stage), nan=np.inf, posinf=np.inf)


def _input_bound(steps: Steps, stage: str) -> Float64Array:
    array: Float64Array = getattr(steps, stage)
    return np.full(array.shape, steps.x_error if stage == "x" else 0.0)


def _projected(steps: Steps, stage: str) -> Float64Array:
    """The bound of x times the parameters, cut into heads as the stage is."""
    parameters: Float64Array | None = getattr(steps, f"w_{stage}")
    if steps.x is None or parameters is None:
        return _input_bound(steps, stage)
    bound_te = _product(steps.x, _input_bound(steps, "x"), parameters, np.zeros_like(parameters))
    array: Float64Array = getattr(steps, stage)
    *batch, tokens, _ = bound_te.shape
    by_head = bound_te.reshape(*batch, tokens, -1, array.shape[-1]).swapaxes(-2, -3)
    return by_head.reshape(array.shape)


def _scores(steps: Steps, stage: str) -> Float64Array:
    query, key = (error_bounds(steps, x) for x in ("query", "key"))
    return _product(steps.query, query, steps.key.swapaxes(-1, -2), key.swapaxes(-1, -2))


def _scaled(steps: Steps, stage: str) -> Float64Array:
    return abs(steps.scale) * error_bounds(steps, "scores") + 4 * EPSILON * abs(steps.scaled) + TINY


def _capped(steps: Steps, stage: str) -> Float64Array:
    """The bound of capped scores: tanh never widens a difference."""
    size = np.minimum(abs(steps.scaled), steps.softcap or np.inf)
    return error_bounds(steps, "scaled") + 8 * EPSILON * size + TINY


def _masked(steps: Steps, stage: str) -> Float64Array:
    before = "scaled" if steps.capped is None else "capped"
    masked, score = (steps.stages()[x] for x in ("masked", before))
    added = np.where(masked == score, 0.0, abs(score) + abs(masked - score))
    bound: Float64Array = error_bounds(steps, before) + 2 * EPSILON * added
    return np.where(np.isfinite(masked), bound, 0.0)


def _weights(steps: Steps, stage: str) -> Float64Array:
    """p / (1 - p) changes by the factor e^(change of two scores), so p by p (1 - p) times that."""
    last = next(x for x in ("masked", "capped", "scaled") if getattr(steps, x) is not None)
    scores, bound = steps.stages()[last], error_bounds(steps, last)
    sizes = np.where(np.isfinite(scores), abs(scores), 0.0)
    size = np.minimum(sizes.max(axis=-1, keepdims=True, initial=0.0), FAR)
    rounding = 4 * EPSILON * (np.isfinite(scores).sum(axis=-1, keepdims=True) + 8 + 2 * size)
    others = np.maximum(1 - steps.weights, 0.0) + rounding
    moved = np.expm1(2 * bound.max(axis=-1, keepdims=True, initial=0.0)) * others
    seen = np.where(np.isfinite(scores), TINY, 0.0)
    bound_qk: Float64Array = np.fmin(steps.weights * (rounding + moved) + seen, 1.0)
    return bound_qk


def _sums(steps: Steps, stage: str) -> Float64Array:
    return _product(
        steps.weights, error_bounds(steps, "weights"), steps.value, error_bounds(steps, "value")
    )


def _output(steps: Steps, stage: str) -> Float64Array:
    """The weighted sums of all heads side by side, times w_output where given."""
    bound_htd = _sums(steps, "sums")
    if steps.sums is None:
        return bound_htd
    sums_te, bound_te = (
        x.swapaxes(-2, -3).reshape(*x.shape[:-3], x.shape[-2], -1) for x in (steps.sums, bound_htd)
    )
    if steps.w_output is None:
        return bound_te
    return _product(sums_te, bound_te, steps.w_output, np.zeros_like(steps.w_output))


def _product(
    left: Float64Array, left_bound: Float64Array, right: Float64Array, right_bound: Float64Array
) -> Float64Array:
    """The bound of left @ right: the rounding of each sum, and the errors of its operands."""
    terms = left.shape[-1]
    rounding = EPSILON * (terms + 2) * (abs(left) @ abs(right)) + TINY * (terms + 1)
    brought = left_bound @ (abs(right) + right_bound) + abs(left) @ right_bound
    bound: Float64Array = rounding + brought
    return bound


_BOUNDS: dict[str, Callable[[Steps, str], Float64Array]] = {
    "x": _input_bound,
    "query": _projected,
    "key": _projected,
    "value": _projected,
    "scores": _scores,
    "scaled": _scaled,
    "capped": _capped,
    "masked": _masked,
    "weights": _weights,
    "sums": _sums,
    "output": _output,
}
