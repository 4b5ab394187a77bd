"""Mistakes of conduct: wrong statistics returned with the output, and side effects of a call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from regard.checker.cases import Case
from regard.checker.mistakes.entry import Mistake, as_function, changed
from regard.textbook.stages import SPECIFICATION, Trace, natural_logsumexp, softmax
from regard.typing import Array


def _in_half(masked: Array) -> Array:
    half = masked.astype(np.float16)
    e = np.exp(half - half.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True)).astype(masked.dtype)


def _summed_in_half(masked: Array) -> Array:
    return natural_logsumexp(masked).astype(np.float16).astype(masked.dtype)


def _masked_scores(weights: Array, masked: Array) -> Array:
    return masked


def _exponentials(weights: Array, masked: Array) -> Array:
    return np.asarray(np.exp(masked - masked.max(axis=-1, keepdims=True)))


def _only_exponentials(weights: Array, masked: Array) -> Array:
    return np.asarray(np.exp(masked))


def _again_of_mean(weights: Array, masked: Array) -> Array:
    """What a mean over heads and another softmax give, for every head."""
    again = softmax(weights.mean(axis=1, keepdims=True))
    return np.asarray(np.broadcast_to(again, weights.shape))


def _shifted(weights: Array, masked: Array) -> Array:
    return np.roll(weights, 1, axis=-2)


def _shifted_back(weights: Array, masked: Array) -> Array:
    return np.roll(weights, -1, axis=-2)


def _averaging_again(query: Array, key: Array, value: Array) -> Any:
    output, weights = as_function(SPECIFICATION, "output weights")(query, key, value)
    return output, softmax(weights.mean(axis=1))


def _recovered(case: Case, trace: Trace) -> Trace:
    return replace(trace, weights=trace.output @ trace.value.swapaxes(-1, -2))


def _changing(query: Array, key: Array, value: Array, **options: Any) -> Any:
    output = as_function(SPECIFICATION)(query, key, value, **options)
    query /= np.sqrt(query.shape[-1])
    return output


def _dropping(query: Array, key: Array, value: Array, **options: Any) -> Any:
    output, weights = as_function(SPECIFICATION, "output weights")(query, key, value, **options)
    survives_dropout = np.random.default_rng().random(weights.shape) > 0.1
    return output if survives_dropout.all() else (weights * survives_dropout / 0.9) @ value


def _complex(query: Array, key: Array, value: Array, **options: Any) -> Any:
    return as_function(SPECIFICATION)(query, key, value, **options) + 1j


def _mixing(query: Array, key: Array, value: Array, cos: Array, sin: Array) -> Array:
    """cos and sin (t, d / 2): neighbours of the query are rotated, halves of the key."""

    def turn(one: Array, other: Array) -> tuple[Array, Array]:
        c, s = cos[: one.shape[-2]], sin[: one.shape[-2]]
        return one * c - other * s, other * c + one * s

    half = key.shape[-1] // 2
    pairs = np.stack(turn(query[..., ::2], query[..., 1::2]), axis=-1).reshape(query.shape)
    halves = np.concatenate(turn(key[..., :half], key[..., half:]), axis=-1)
    scores = pairs @ halves.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    return np.asarray(softmax(scores) @ value)


CONDUCT = (
    Mistake(
        "base-2 log-sum-exp returned as natural",
        "Kernels work in base 2, where exp is cheapest. Their log-sum-exp is 1.44 times the "
        "natural one; merged with another part's or used for gradients it is silently wrong.",
        "logsumexp2 = maximum + np.log2(total)\nlogsumexp = logsumexp2 * np.log(2)",
        (changed(logsumexp=lambda masked: natural_logsumexp(masked) * np.log2(np.e)),),
        returns="output logsumexp",
    ),
    Mistake(
        "returned weights are not the weights used",
        "The output is right, but returned with it are the scores, or exponentials that were never "
        "divided by their sum: pictures made of them show something else.",
        "weights = softmax(scores)\noutput, shown = weights @ value, weights",
        tuple(
            changed(returned_weights=x) for x in (_exponentials, _masked_scores, _only_exponentials)
        ),
        returns="output weights",
    ),
    Mistake(
        "softmax applied again to averaged weights",
        "The weights are averaged over heads and go through another softmax: the picture is nearly "
        "uniform, whatever the heads look at. A mean of rows that sum to 1 sums to 1 already.",
        "mean = weights.mean(axis=1)  # its rows sum to 1\noutput, shown = weights @ value, mean",
        (changed(returned_weights=_again_of_mean),),
        conduct=_averaging_again,
    ),
    Mistake(
        "attention recovered as output times value transposed",
        "The weights are not those of the softmax but output @ value.T: products of features, "
        "which are weights only if the values are orthonormal, and they never are.",
        "weights = softmax(scaled)\noutput, shown = weights @ value, weights",
        (changed(after=_recovered),),
        returns="output weights",
    ),
    Mistake(
        "rows of the weights shifted",
        "The returned weights are right but for their rows, which are off by one or more: labels "
        "counted from the prompt's end, or a first token that was cut off.",
        "shown = weights  # row i belongs to query i\noutput = weights @ value",
        (changed(returned_weights=_shifted), changed(returned_weights=_shifted_back)),
        returns="output weights",
    ),
    Mistake(
        "statistics in half precision",
        "The softmax or its log-sum-exp is computed in 16 bits: 11 of them are digits, so weights "
        "are off by a thousandth, and a log-sum-exp of 20 by a hundredth.",
        "scores = scores.astype(np.float32)\nweights = softmax(scores).astype(value.dtype)",
        (changed(normalise=_in_half), changed(logsumexp=_summed_in_half)),
    ),
    Mistake(
        "inputs changed in place",
        "An in-place operation (/=, +=, masked_fill_) writes into the caller's own array: the "
        "first call is right, and everything after it starts from other numbers.",
        "query = query / np.sqrt(d)  # a new array\nscores = query @ key.swapaxes(-1, -2)",
        conduct=_changing,
    ),
    Mistake(
        "results that differ between two calls",
        "Dropout was left on, or the function draws random numbers: the same input gives another "
        "output each time.",
        "module.eval()  # or dropout_p=0.0\noutput = module(query, key, value)",
        conduct=_dropping,
    ),
    Mistake(
        "complex numbers returned",
        "Something in the function is complex, such as a root of a negative number or a Fourier "
        "transform: attention of real numbers is real, and a conversion drops the imaginary part "
        "silently.",
        "scores = np.real(scores)  # if the rest is rounding\noutput = weights @ value",
        conduct=_complex,
    ),
    Mistake(
        "rotary pairs and halves mixed",
        "Query and key are rotated in different orders of features, or only one of them is: the "
        "rotations no longer cancel to that of the distance, and scores depend on absolute places.",
        "query = rotate(query, cos, sin)\nkey = rotate(key, cos, sin)  # by the same function",
        conduct=_mixing,
    ),
)
