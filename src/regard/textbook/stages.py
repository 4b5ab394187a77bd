"""Attention as named stages, each of which can be replaced: the specification.

``Steps`` records what every stage gives, and the checker finds a mistake by replacing one stage
with another function. Every stage is written from its definition and uses nothing of
the engine that it judges. Axes: (..., h, q, d) for query, (..., h_kv, k, d) for key and value; two
axes alone are one head.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from regard.textbook.options import Mask, Window, rule_tile
from regard.typing import Array

Stage = Callable[..., Any]


@dataclass(frozen=True)
class AttentionInputs:
    """Query, key, value and the options of attention, validated."""

    query: Array
    key: Array
    value: Array
    mask: Mask = None
    causal: bool = False
    offset: int = 0
    window: Window | None = None
    softcap: float | None = None
    scale: float | None = None
    lengths: Array | None = None

    @property
    def queries(self) -> int:
        return int(self.query.shape[-2])

    @property
    def keys(self) -> int:
        return int(self.key.shape[-2])


@dataclass(frozen=True)
class Trace:
    """Every intermediate of one attention, under its name."""

    query: Array
    key: Array  # a key for each head of query
    value: Array
    scores: Array
    scaled: Array
    capped: Array
    visible: Array
    masked: Array
    weights: Array
    output: Array
    logsumexp: Array  # (..., h, q), natural

    @property
    def received(self) -> Array:
        """The attention that each key receives, (..., h, k)."""
        return np.asarray(self.weights.sum(axis=-2))


def given_arrays(inputs: AttentionInputs) -> tuple[Array, Array, Array]:
    """query, key and value unchanged."""
    return inputs.query, inputs.key, inputs.value


def repeat_key_heads(array_bgkd: Array, heads: int) -> Array:
    """Grouped heads: key head g serves the query heads g * group ... (g + 1) * group - 1."""
    return np.repeat(array_bgkd, heads // array_bgkd.shape[-3], axis=-3)


def dot_products(query_bhqd: Array, key_bhkd: Array) -> Array:
    """Scores: the dot product of every query with every key."""
    return np.asarray(query_bhqd @ key_bhkd.swapaxes(-1, -2))


def scale_scores(scores_bhqk: Array, inputs: AttentionInputs) -> Array:
    """Scores divided by the square root of the head width, or multiplied by ``scale``."""
    return np.asarray(scores_bhqk * scores_bhqk.dtype.type(score_scale(inputs)))


def score_scale(inputs: AttentionInputs) -> float:
    """Factor of the scores: 1 / sqrt(d) unless given."""
    return 1 / math.sqrt(max(1, inputs.query.shape[-1])) if inputs.scale is None else inputs.scale


def cap_scores(scores_bhqk: Array, inputs: AttentionInputs) -> Array:
    """Softcap: cap * tanh(scores / cap), where there is a cap."""
    cap = inputs.softcap
    return scores_bhqk if cap is None else np.asarray(cap * np.tanh(scores_bhqk / cap))


def causal_visibility(inputs: AttentionInputs) -> Array:
    """Causal: key j is visible to query i when j <= i + offset."""
    if not inputs.causal:
        return np.ones((inputs.queries, inputs.keys), bool)
    at_q1 = np.arange(inputs.queries)[:, None] + inputs.offset
    return np.asarray(np.arange(inputs.keys) <= at_q1)


def window_visibility(inputs: AttentionInputs) -> Array:
    """Window: key j is visible when i + offset - left <= j <= i + offset + right."""
    at_q1 = np.arange(inputs.queries)[:, None] + inputs.offset
    gap_qk = np.arange(inputs.keys) - at_q1
    left, right = inputs.window or (None, None)
    inside_qk = np.ones(gap_qk.shape, bool)
    if left is not None:
        inside_qk &= gap_qk >= -left
    if right is not None:
        inside_qk &= gap_qk <= right
    return inside_qk


def mask_visibility(inputs: AttentionInputs) -> Array:
    """Mask: bool values unchanged; a float mask hides where it is minus infinity."""
    mask = inputs.mask
    if mask is None:
        return np.ones((1, 1), bool)
    if callable(mask):
        return rule_tile(mask, slice(0, inputs.queries), slice(0, inputs.keys))
    return mask if mask.dtype == bool else np.asarray(mask != -np.inf)


def padding_visibility(inputs: AttentionInputs) -> Array:
    """Padding: the first ``lengths`` keys of each sentence are real."""
    if inputs.lengths is None:
        return np.ones((1, 1), bool)
    lengths = np.asarray(inputs.lengths)
    ones = (1,) * (inputs.query.ndim - lengths.ndim)
    return np.asarray(np.arange(inputs.keys) < lengths.reshape(*lengths.shape, *ones))


def add_bias(scores_bhqk: Array, inputs: AttentionInputs) -> Array:
    """Scores plus the float mask, where there is one."""
    mask = inputs.mask
    if mask is None or callable(mask) or mask.dtype == bool:
        return scores_bhqk
    added = np.where(mask == -np.inf, 0, mask).astype(scores_bhqk.dtype)
    return np.asarray(scores_bhqk + added)


def hide_scores(scores_bhqk: Array, visible: Array, inputs: AttentionInputs) -> Array:
    """Masked scores: minus infinity where a key is not visible."""
    return np.where(visible, scores_bhqk, scores_bhqk.dtype.type(-np.inf))


def softmax(masked_bhqk: Array) -> Array:
    """Weights that sum to 1 along the last axis; NaN, 0 / 0, where a row is all minus infinity.

    exp overflows above 709; shifting a row by its maximum leaves the weights unchanged.

    >>> softmax(np.array([[0.0, 0.0], [0.0, -np.inf]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    e = np.exp(masked_bhqk - masked_bhqk.max(axis=-1, keepdims=True, initial=-np.inf))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def zero_empty_rows(weights_bhqk: Array, visible: Array, inputs: AttentionInputs) -> Array:
    """Weights with zeros in the rows that see nothing, whose softmax is 0 / 0."""
    return np.where(visible.any(axis=-1, keepdims=True), weights_bhqk, 0)


def unchanged_weights(weights_bhqk: Array, visible: Array, inputs: AttentionInputs) -> Array:
    """Weights unchanged; the stage for dropout and similar changes."""
    return weights_bhqk


def weighted_sum(weights_bhqk: Array, value_bhkv: Array) -> Array:
    """Output: for each query the sum of the values, weighted."""
    return np.asarray(weights_bhqk @ value_bhkv)


def separate_heads(output_bhqv: Array) -> Array:
    """The output with its axis of heads."""
    return output_bhqv


def used_weights(weights_bhqk: Array, masked_bhqk: Array) -> Array:
    """Returned weights: those that the output was computed with."""
    return weights_bhqk


def natural_logsumexp(masked_bhqk: Array) -> Array:
    """Log-sum-exp of each row, natural; -inf for a row that sees nothing."""
    highest = masked_bhqk.max(axis=-1, initial=-np.inf)
    shift = np.where(np.isfinite(highest), highest, 0)
    return np.asarray(np.log(np.exp(masked_bhqk - shift[..., None]).sum(axis=-1)) + shift)


@dataclass(frozen=True)
class Stages:
    """The stages of attention in the order they run."""

    arrange: Stage = given_arrays
    repeat_heads: Stage = repeat_key_heads
    score: Stage = dot_products
    scale: Stage = scale_scores
    cap: Stage = cap_scores
    causal: Stage = causal_visibility
    window: Stage = window_visibility
    mask: Stage = mask_visibility
    padding: Stage = padding_visibility
    bias: Stage = add_bias
    hide: Stage = hide_scores
    normalise: Stage = softmax
    empty_rows: Stage = zero_empty_rows
    adjust: Stage = unchanged_weights
    sum_values: Stage = weighted_sum
    join_heads: Stage = separate_heads
    returned_weights: Stage = used_weights
    logsumexp: Stage = natural_logsumexp

    def changes(self) -> dict[str, Stage]:
        return {
            stage.name: getattr(self, stage.name)
            for stage in fields(self)
            if getattr(self, stage.name) is not stage.default
        }


SPECIFICATION = Stages()


def run(stages: Stages, inputs: AttentionInputs, dtype: Any = np.float64) -> Trace:
    """Attention by these stages, every operation in ``dtype``.

    Examples
    --------
    >>> x = np.eye(2)
    >>> run(SPECIFICATION, AttentionInputs(x, x, x, causal=True)).weights.round(3)
    array([[1.  , 0.  ],
           [0.33, 0.67]])
    """
    with np.errstate(all="ignore"):
        query, key, value = (array.astype(dtype) for array in stages.arrange(inputs))
        if query.ndim > 2:
            key, value = (stages.repeat_heads(array, query.shape[-3]) for array in (key, value))
        scores = stages.score(query, key)
        scaled = stages.scale(scores, inputs)
        capped = stages.cap(scaled, inputs)
        visible = stages.causal(inputs) & stages.window(inputs)
        visible = visible & stages.mask(inputs) & stages.padding(inputs)
        masked = stages.hide(stages.bias(capped, inputs), visible, inputs)
        weights = stages.empty_rows(stages.normalise(masked), visible, inputs)
        weights = stages.adjust(weights, visible, inputs).astype(dtype)
        output = stages.join_heads(stages.sum_values(weights, value)).astype(dtype)
        return Trace(
            query, key, value, scores, scaled, capped, visible, masked,
            stages.returned_weights(weights, masked), output, stages.logsumexp(masked),
        )  # fmt: skip
