"""The specification as replaceable stages: a mistake is another function in one of the places."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from regard.checker.cases import Case
from regard.typing import Array

Stage = Callable[..., Any]


@dataclass(frozen=True)
class Result:
    """What an attention may return: output (b, h, q, v), weights (b, h, q, k), sums."""

    output: Array
    weights: Array
    logsumexp: Array  # (b, h, q), natural

    @property
    def received(self) -> Array:
        """How much attention each key gets, (b, h, k)."""
        return np.asarray(self.weights.sum(axis=2))


def arranged(case: Case) -> tuple[Array, Array, Array]:
    """query, key and value as the products use them."""
    return case.query, case.key, case.value


def repeated(array_bgkd: Array, heads: int) -> Array:
    """Key head g serves the query heads g * group ... (g + 1) * group - 1."""
    return np.repeat(array_bgkd, heads // array_bgkd.shape[1], axis=1)


def scored(query_bhqd: Array, key_bhkd: Array) -> Array:
    """query with key."""
    return np.asarray(query_bhqd @ key_bhkd.swapaxes(-1, -2))


def scaled(scores_bhqk: Array, case: Case) -> Array:
    """Divided by the square root of the head width, or multiplied by the given scale."""
    scale = 1 / np.sqrt(case.query.shape[-1]) if case.scale is None else case.scale
    return np.asarray(scores_bhqk * scores_bhqk.dtype.type(scale))


def capped(scores_bhqk: Array, case: Case) -> Array:
    """Softcap, where there is one."""
    cap = case.softcap
    return scores_bhqk if cap is None else np.asarray(cap * np.tanh(scores_bhqk / cap))


def in_order(case: Case) -> Array:
    """Causal: key j is seen by query i when j <= i + offset."""
    queries, keys = case.query.shape[2], case.key.shape[2]
    if not case.causal:
        return np.ones((queries, keys), bool)
    return np.asarray(np.arange(keys) <= np.arange(queries)[:, None] + case.offset)


def in_window(case: Case) -> Array:
    """Window: key j is seen when i + offset - left <= j <= i + offset + right."""
    gap_qk = np.arange(case.key.shape[2]) - np.arange(case.query.shape[2])[:, None] - case.offset
    left, right = case.window or (None, None)
    inside_qk = np.ones(gap_qk.shape, bool)
    if left is not None:
        inside_qk &= gap_qk >= -left
    if right is not None:
        inside_qk &= gap_qk <= right
    return inside_qk


def let_through(case: Case) -> Array:
    """A bool mask as it stands; a float mask hides where it is minus infinity."""
    if case.mask is None:
        return np.ones((1, 1), bool)
    return case.mask if case.mask.dtype == bool else np.asarray(case.mask != -np.inf)


def real(case: Case) -> Array:
    """Padding: the first ``lengths`` keys of each sentence are real."""
    if case.lengths is None:
        return np.ones((1, 1), bool)
    return np.arange(case.key.shape[2]) < np.reshape(case.lengths, (-1, 1, 1, 1))


def biased(scores_bhqk: Array, case: Case) -> Array:
    """A float mask is added."""
    if case.mask is None or case.mask.dtype == bool:
        return scores_bhqk
    added = np.where(case.mask == -np.inf, 0, case.mask).astype(scores_bhqk.dtype)
    return np.asarray(scores_bhqk + added)


def hidden(scores_bhqk: Array, visible: Array, case: Case) -> Array:
    """What may not be seen gets minus infinity."""
    return np.where(visible, scores_bhqk, scores_bhqk.dtype.type(-np.inf))


def normalised(masked_bhqk: Array) -> Array:
    """The softmax of each row."""
    e = np.exp(masked_bhqk - masked_bhqk.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def rescued(weights_bhqk: Array, visible: Array, case: Case) -> Array:
    """A row that sees nothing gets zeros; its softmax is 0 / 0."""
    return np.where(visible.any(axis=-1, keepdims=True), weights_bhqk, 0)


def as_they_are(weights_bhqk: Array, visible: Array, case: Case) -> Array:
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
    highest = masked_bhqk.max(axis=-1)
    shift = np.where(np.isfinite(highest), highest, 0)
    return np.asarray(np.log(np.exp(masked_bhqk - shift[..., None]).sum(axis=-1)) + shift)


@dataclass(frozen=True)
class Plan:
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
    normalise: Stage = normalised
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


SPECIFICATION = Plan()


def run(plan: Plan, case: Case, dtype: Any = np.float64) -> Result:
    """Attention by this plan, every operation in ``dtype``.

    Examples
    --------
    >>> from regard.checker.cases import Sizes, draw
    >>> run(SPECIFICATION, draw(Sizes(1, 1, 2, 3, 4, 4))).weights.sum(axis=-1).round(12)
    array([[[1., 1.]]])
    """
    with np.errstate(all="ignore"):
        query, key, value = (array.astype(dtype) for array in plan.arrange(case))
        key, value = (plan.repeat(array, query.shape[1]) for array in (key, value))
        scores = plan.scale(plan.score(query, key), case)
        visible = plan.order(case) & plan.window(case) & plan.let(case) & plan.pad(case)
        masked = plan.hide(plan.bias(plan.cap(scores, case), case), visible, case)
        weights = plan.rescue(plan.normalise(masked), visible, case)
        weights = plan.after(weights, visible, case).astype(dtype)
        output = plan.join(plan.mix(weights, value)).astype(dtype)
        return Result(output, plan.show(weights, masked), plan.sum_up(masked))
