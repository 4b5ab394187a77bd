"""Attention as named stages, each of which can be replaced: the specification.

``Steps`` records what every stage gives, and the checker finds a mistake by putting another
function in the place of one stage. Every stage is written from its definition and uses nothing of
the engine that it judges. Axes: (..., h, q, d) for query, (..., h_kv, k, d) for key and value; two
axes alone are one head.
"""

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
        """The number of queries."""
        return int(self.query.shape[-2])

    @property
    def keys(self) -> int:
        """The number of keys."""
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
        """How much attention each key gets, (..., h, k)."""
        return np.asarray(self.weights.sum(axis=-2))


def arranged(inputs: AttentionInputs) -> tuple[Array, Array, Array]:
    """query, key and value as the products use them."""
    return inputs.query, inputs.key, inputs.value


def repeated(array_bgkd: Array, heads: int) -> Array:
    """Key head g serves the query heads g * group ... (g + 1) * group - 1."""
    return np.repeat(array_bgkd, heads // array_bgkd.shape[-3], axis=-3)


def scored(query_bhqd: Array, key_bhkd: Array) -> Array:
    """query with key."""
    return np.asarray(query_bhqd @ key_bhkd.swapaxes(-1, -2))


def scaled(scores_bhqk: Array, inputs: AttentionInputs) -> Array:
    """Divided by the square root of the head width, or multiplied by the given scale."""
    return np.asarray(scores_bhqk * scores_bhqk.dtype.type(scale_of(inputs)))


def scale_of(inputs: AttentionInputs) -> float:
    """1 / sqrt(d) unless given."""
    return 1 / math.sqrt(max(1, inputs.query.shape[-1])) if inputs.scale is None else inputs.scale


def capped(scores_bhqk: Array, inputs: AttentionInputs) -> Array:
    """Softcap, where there is one."""
    cap = inputs.softcap
    return scores_bhqk if cap is None else np.asarray(cap * np.tanh(scores_bhqk / cap))


def in_order(inputs: AttentionInputs) -> Array:
    """Causal: key j is seen by query i when j <= i + offset."""
    if not inputs.causal:
        return np.ones((inputs.queries, inputs.keys), bool)
    at_q1 = np.arange(inputs.queries)[:, None] + inputs.offset
    return np.asarray(np.arange(inputs.keys) <= at_q1)


def in_window(inputs: AttentionInputs) -> Array:
    """Window: key j is seen when i + offset - left <= j <= i + offset + right."""
    at_q1 = np.arange(inputs.queries)[:, None] + inputs.offset
    gap_qk = np.arange(inputs.keys) - at_q1
    left, right = inputs.window or (None, None)
    inside_qk = np.ones(gap_qk.shape, bool)
    if left is not None:
        inside_qk &= gap_qk >= -left
    if right is not None:
        inside_qk &= gap_qk <= right
    return inside_qk


def let_through(inputs: AttentionInputs) -> Array:
    """A bool mask as it is; a float mask hides where it is minus infinity."""
    mask = inputs.mask
    if mask is None:
        return np.ones((1, 1), bool)
    if callable(mask):
        return rule_tile(mask, slice(0, inputs.queries), slice(0, inputs.keys))
    return mask if mask.dtype == bool else np.asarray(mask != -np.inf)


def real(inputs: AttentionInputs) -> Array:
    """Padding: the first ``lengths`` keys of each sentence are real."""
    if inputs.lengths is None:
        return np.ones((1, 1), bool)
    lengths = np.asarray(inputs.lengths)
    ones = (1,) * (inputs.query.ndim - lengths.ndim)
    return np.asarray(np.arange(inputs.keys) < lengths.reshape(*lengths.shape, *ones))


def biased(scores_bhqk: Array, inputs: AttentionInputs) -> Array:
    """A float mask is added."""
    mask = inputs.mask
    if mask is None or callable(mask) or mask.dtype == bool:
        return scores_bhqk
    added = np.where(mask == -np.inf, 0, mask).astype(scores_bhqk.dtype)
    return np.asarray(scores_bhqk + added)


def hidden(scores_bhqk: Array, visible: Array, inputs: AttentionInputs) -> Array:
    """What may not be seen gets minus infinity."""
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


def rescued(weights_bhqk: Array, visible: Array, inputs: AttentionInputs) -> Array:
    """A row that sees nothing gets zeros; its softmax is 0 / 0."""
    return np.where(visible.any(axis=-1, keepdims=True), weights_bhqk, 0)


def as_they_are(weights_bhqk: Array, visible: Array, inputs: AttentionInputs) -> Array:
    """Nothing is done to weights."""
    return weights_bhqk


def mixed(weights_bhqk: Array, value_bhkv: Array) -> Array:
    """Each output is a weighted sum of values."""
    return np.asarray(weights_bhqk @ value_bhkv)


def unchanged(output_bhqv: Array) -> Array:
    """The heads stay where they are."""
    return output_bhqv


def shown(weights_bhqk: Array, masked_bhqk: Array) -> Array:
    """The weights that are returned are those that were used."""
    return weights_bhqk


def natural(masked_bhqk: Array) -> Array:
    """log(sum(exp(row))); -inf for a row that sees nothing."""
    highest = masked_bhqk.max(axis=-1, initial=-np.inf)
    shift = np.where(np.isfinite(highest), highest, 0)
    return np.asarray(np.log(np.exp(masked_bhqk - shift[..., None]).sum(axis=-1)) + shift)


@dataclass(frozen=True)
class Stages:
    """The stages of attention in the order they run."""

    arrange: Stage = arranged
    repeat: Stage = repeated
    score: Stage = scored
    scale: Stage = scaled
    cap: Stage = capped
    order: Stage = in_order
    window: Stage = in_window
    let: Stage = let_through
    pad: Stage = real
    bias: Stage = biased
    hide: Stage = hidden
    normalise: Stage = softmax
    rescue: Stage = rescued
    after: Stage = as_they_are
    mix: Stage = mixed
    join: Stage = unchanged
    show: Stage = shown
    sum_up: Stage = natural

    def changes(self) -> dict[str, Stage]:
        """The stages that differ from the specification."""
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
            key, value = (stages.repeat(array, query.shape[-3]) for array in (key, value))
        scores = stages.score(query, key)
        scaled = stages.scale(scores, inputs)
        capped = stages.cap(scaled, inputs)
        visible = stages.order(inputs) & stages.window(inputs)
        visible = visible & stages.let(inputs) & stages.pad(inputs)
        masked = stages.hide(stages.bias(capped, inputs), visible, inputs)
        weights = stages.rescue(stages.normalise(masked), visible, inputs)
        weights = stages.after(weights, visible, inputs).astype(dtype)
        output = stages.join(stages.mix(weights, value)).astype(dtype)
        return Trace(
            query, key, value, scores, scaled, capped, visible, masked,
            stages.show(weights, masked), output, stages.sum_up(masked),
        )  # fmt: skip
