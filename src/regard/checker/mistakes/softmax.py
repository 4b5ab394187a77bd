"""Mistakes of the softmax: the wrong axis or stage, no maximum subtracted, no division."""

from __future__ import annotations

import numpy as np

from regard.checker.cases import Case
from regard.checker.mistakes.entry import Mistake, changed
from regard.textbook.stages import softmax
from regard.typing import Array

SOFTMAX_FIX = (
    "e = np.exp(scaled - scaled.max(axis=-1, keepdims=True))\n"
    "weights = e / e.sum(axis=-1, keepdims=True)"
)


def _over(axes: tuple[int, ...] | int, masked: Array) -> Array:
    e = np.exp(masked - masked.max(axis=axes, keepdims=True))
    return np.asarray(e / e.sum(axis=axes, keepdims=True))


def _without_maximum(masked: Array) -> Array:
    e = np.exp(masked)
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _masked_scores(masked: Array) -> Array:
    return np.where(np.isfinite(masked), masked, 0)


def _rectified(masked: Array) -> Array:
    return np.maximum(masked, 0)


def _without_division(masked: Array) -> Array:
    return np.asarray(np.exp(masked - masked.max(axis=-1, keepdims=True)))


def _by_sum(masked: Array) -> Array:
    seen = np.where(np.isfinite(masked), masked, 0)
    return np.asarray(seen / seen.sum(axis=-1, keepdims=True))


def _with_one_more(masked: Array) -> Array:
    """A softmax with a key of score 0 that has no value."""
    largest = np.maximum(masked.max(axis=-1, keepdims=True), 0)
    e = np.exp(masked - largest)
    return np.asarray(e / (np.exp(-largest) + e.sum(axis=-1, keepdims=True)))


def _with_one_after_the_maximum(masked: Array) -> Array:
    e = np.exp(masked - masked.max(axis=-1, keepdims=True))
    return np.asarray(e / (1 + e.sum(axis=-1, keepdims=True)))


def _with_one_and_no_maximum(masked: Array) -> Array:
    e = np.exp(masked)
    return np.asarray(e / (1 + e.sum(axis=-1, keepdims=True)))


def _scaled_late(weights: Array, visible: Array, case: Case) -> Array:
    return np.asarray(weights / np.sqrt(case.query.shape[-1]))


SOFTMAX = (
    Mistake(
        "softmax before scaling",
        "softmax(Q K^T) / sqrt(d): the brackets close too early. The rows sum to 1 / sqrt(d), and "
        "the softmax has seen the unscaled scores.",
        "scaled = scores / np.sqrt(query.shape[-1])\nweights = softmax(scaled)",
        (changed(scale=lambda scores, case: scores, adjust=_scaled_late),),
    ),
    Mistake(
        "softmax over queries",
        "The softmax runs down the columns (axis=-2, or axis=1 of a batch of matrices): what each "
        "key receives sums to 1, not what each query gives.",
        SOFTMAX_FIX,
        (changed(normalise=lambda masked: _over(-2, masked)),),
    ),
    Mistake(
        "softmax over the whole matrix",
        "np.max and np.sum without an axis take everything together: all weights of a matrix sum "
        "to 1, and the output is too small by about the number of queries.",
        SOFTMAX_FIX,
        (
            changed(normalise=lambda masked: _over((-2, -1), masked)),
            changed(normalise=lambda masked: _over((-3, -2, -1), masked)),
            changed(normalise=lambda masked: _over((-4, -3, -2, -1), masked)),
        ),
    ),
    Mistake(
        "softmax over heads",
        "axis=1 is the axis of keys in a matrix, but of heads in (b, h, q, k): the heads share a "
        "weight of 1 among them at every place.",
        "# the keys are the last axis, whatever stands before\nweights = softmax(scaled, axis=-1)",
        (changed(normalise=lambda masked: _over(1, masked)),),
    ),
    Mistake(
        "softmax over the batch",
        "axis=0 is the first axis: here the sentences of the batch, which share a weight of 1.",
        "# the keys are the last axis, whatever stands before\nweights = softmax(scaled, axis=-1)",
        (changed(normalise=lambda masked: _over(0, masked)),),
    ),
    Mistake(
        "no maximum subtracted",
        "exp of the scores themselves overflows above 88 in float32 and 709 in float64: infinity "
        "over infinity is NaN. With small scores every number is right.",
        SOFTMAX_FIX,
        (changed(normalise=_without_maximum),),
    ),
    Mistake(
        "no softmax",
        "The scaled scores are used as weights: they may be negative and sum to anything.",
        SOFTMAX_FIX,
        (changed(normalise=_masked_scores), changed(normalise=_rectified)),
    ),
    Mistake(
        "softmax without its division",
        "The exponentials are never divided by their sum, so the rows do not sum to 1.",
        SOFTMAX_FIX,
        (changed(normalise=_without_division), changed(normalise=np.exp)),
    ),
    Mistake(
        "scores divided by their sum",
        "The rows sum to 1, but no exponential was taken: shares of scores are no softmax, and "
        "where scores cancel they explode.",
        SOFTMAX_FIX,
        (changed(normalise=_by_sum),),
    ),
    Mistake(
        "softmax applied twice",
        "The weights go through a second softmax, often one that a loss or a layer applies again: "
        "the rows still sum to 1, but all weights of a row lie within a factor of e.",
        "weights = softmax(scaled)  # once\noutput = weights @ value",
        (changed(normalise=lambda masked: softmax(softmax(masked))),),
    ),
    Mistake(
        "powers of 2 instead of e",
        "exp2 instead of exp, without the factor log2(e) in the scores: the rows sum to 1, "
        "and every row is too even.",
        "scaled = scaled * np.log2(np.e)\ne = np.exp2(scaled - scaled.max(axis=-1, keepdims=True))",
        (changed(normalise=lambda masked: softmax(masked * np.log(2))),),
    ),
    Mistake(
        "sigmoid instead of softmax",
        "Every score is squashed by itself: the weights lie between 0 and 1, and a row sums to "
        "anything.",
        SOFTMAX_FIX,
        (changed(normalise=lambda masked: 1 / (1 + np.exp(-masked))),),
    ),
    Mistake(
        "1 added to the sum of the softmax",
        "The sum under the line has one term too many, e^0: the rows sum to less than 1, as if "
        "there were one more key, of score 0, whose value is nothing.",
        SOFTMAX_FIX,
        (
            changed(normalise=_with_one_after_the_maximum),
            changed(normalise=_with_one_more),
            changed(normalise=_with_one_and_no_maximum),
        ),
    ),
    Mistake(
        "largest score alone",
        "argmax instead of softmax: each query takes the value of one key, and no gradient "
        "reaches query and key.",
        "weights = softmax(scaled)\noutput = weights @ value",
        (changed(normalise=lambda masked: np.eye(masked.shape[-1])[masked.argmax(axis=-1)]),),
    ),
)
