"""Self-attention as the textbook has it, every intermediate kept: the specification.

    x -> query, key, value -> scores -> scaled -> (capped, masked) -> weights -> (sums) -> output

Everything is float64 and plain NumPy, and every fast path is tested against this file. It holds all
q x k weights, so it is for sentences; for anything long there are ``attention`` and ``observe``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.self_attention.explain.in_words import read_row
from regard.self_attention.explain.why import Why, why
from regard.self_attention.export import as_dict
from regard.self_attention.given import floats, named, projections
from regard.self_attention.shown import ShownSteps
from regard.self_attention.tiles.arguments import pose
from regard.self_attention.tiles.problem import Window
from regard.self_attention.tiles.sight import MaskRule, Sight, ruled
from regard.shapes import expect

Array = NDArray[np.float64]
STAGES = ("x", "query", "key", "value", "scores", "scaled", "capped", "masked", "weights", "sums",
          "output")  # fmt: skip


@dataclass(frozen=True)
class Steps(ShownSteps):
    """Every stage of one self-attention under its name; absent stages are None.

    Shapes without a batch; with one, a leading axis b is added to each.

    x (t, e); query, key, value (h, t, d); scores, scaled, capped, masked, weights (h, q, k);
    sums (h, q, d): the weighted sums of each head; output (t, e'): the sums of all heads side by
    side, times w_output where given. With one head and no w_output there is no ``sums`` stage,
    the axis h is left out everywhere, and the output is the weighted sum.
    """

    words: tuple[str, ...] | tuple[tuple[str, ...], ...]
    query: Array
    key: Array
    value: Array
    scores: Array
    scaled: Array
    weights: Array
    output: Array
    scale: float
    x: Array | None = None
    capped: Array | None = None
    masked: Array | None = None
    sums: Array | None = None
    w_query: Array | None = None
    w_key: Array | None = None
    w_value: Array | None = None
    w_output: Array | None = None
    softcap: float | None = None

    def stages(self) -> dict[str, Array]:
        """The stages that this computation has, in the order they were made."""
        return {x: getattr(self, x) for x in STAGES if getattr(self, x) is not None}

    def why(self, stage: str, row: str | int, column: str | int, **where: int) -> Why:
        """What made a cell, by word or index; ``head``, ``sentence`` and ``digits`` by keyword."""
        return why(self, stage, row, column, **where)

    def read(self, row: str | int, *, head: int = 0, sentence: int = 0) -> str:
        """What one word's row means, in words."""
        return read_row(self, row, head=head, sentence=sentence)

    def as_dict(self) -> dict[str, Any]:
        """Words, parameters and every stage as plain lists, unrounded; -inf as "-inf"."""
        return as_dict(self)


def self_attention(
    x: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    *,
    words: Any = None,
    heads: int = 1,
    w_output: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
) -> Steps:
    """Let every word of a sentence look at every word, and keep each step.

    Parameters
    ----------
    x : (t, e) or (b, t, e)
        One vector a word.
    w_query, w_key : (e, h * d), w_value : (e, h * d_v)
        The parameters that make queries, keys and values.
    words : names for rows and columns; one list, or one list a sentence. Numbers unless given.

    Examples
    --------
    >>> x = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]])
    >>> words = ["Smart", "robots", "perform", "complex", "tasks"]
    >>> steps = self_attention(x, np.eye(2), np.eye(2), np.eye(2), words=words)
    >>> steps.weights[1].round(3)
    array([0.098, 0.199, 0.199, 0.098, 0.404])
    """
    x_te = floats("x", x)
    if x_te.ndim not in (2, 3):
        expect("x", x_te, "t e")
    parameters = {"w_query": w_query, "w_key": w_key, "w_value": w_value}
    matrices: dict[str, Any] = projections(parameters, x_te.shape[-1], heads)
    query, key, value = (_split_heads(x_te @ matrix, heads) for matrix in matrices.values())
    steps = attend(query, key, value, mask=mask, causal=causal)
    single = heads == 1 and w_output is None
    output_te = _join_heads(steps.output)
    if w_output is not None:
        w_output = floats("w_output", w_output)
        expect("w_output", w_output, "hd e", hd=output_te.shape[-1])
        output_te = output_te @ w_output
    stages: dict[str, Any] = steps.stages()
    del stages["output"]
    if single:
        stages = {name: stage.squeeze(-3) for name, stage in stages.items()}
    return Steps(
        words=named(words, x_te),
        **stages,
        x=x_te,
        sums=None if single else steps.output,
        output=output_te,
        scale=steps.scale,
        **matrices,
        w_output=w_output,
    )


def attend(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    mask: ArrayLike | MaskRule | None = None,
    causal: bool = False,
    offset: int | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    lengths: ArrayLike | None = None,
) -> Steps:
    """Attention from query, key and value on: what ``attention`` and ``observe`` must equal.

    The arguments are those of ``attention``; every stage keeps the leading axes of ``query``.

    Examples
    --------
    >>> x = np.eye(2)
    >>> attend(x, x, x, causal=True).masked
    array([[0.70710678,       -inf],
           [0.        , 0.70710678]])
    """
    query, key, value = (np.asarray(array) for array in (query, key, value))
    # The fast paths' own checks, so that both refuse the same input in the same words.
    problem = pose(query, key, value, mask=mask, causal=causal, offset=offset, window=window,
                   softcap=softcap, scale=scale, lengths=lengths)  # fmt: skip
    query, key, value = (np.asarray(array, np.float64) for array in (query, key, value))
    if query.ndim > 2:  # key head g serves the query heads g * group ... (g + 1) * group - 1
        key, value = (
            np.repeat(array, query.shape[-3] // key.shape[-3], axis=-3) for array in (key, value)
        )

    scores = query @ key.swapaxes(-1, -2)
    scaled = scores * problem.scale
    capped = softcap * np.tanh(scaled / softcap) if softcap else scaled
    visible = _all_visible(problem.sight)
    bias: Any = 0.0 if mask is None or callable(mask) or np.asarray(mask).dtype == bool else mask
    masked = np.where(visible, capped + bias, -np.inf)
    weights = softmax(masked)
    return Steps(
        words=(),
        query=query,
        key=key,
        value=value,
        scores=scores,
        scaled=scaled,
        capped=capped if softcap else None,
        masked=masked if not visible.all() or np.any(bias) else None,
        weights=weights,
        output=weights @ value,
        scale=problem.scale,
        softcap=softcap,
    )


def softmax(scores: Array) -> Array:
    """Weights that sum to 1 along the last axis; a row of minus infinities gets weights 0.

    exp overflows above 709; shifting a row by its maximum leaves the weights unchanged.

    >>> softmax(np.array([[0.0, 0.0], [-np.inf, -np.inf]]))
    array([[0.5, 0.5],
           [0. , 0. ]])
    """
    highest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def _all_visible(sight: Sight) -> NDArray[np.bool_]:
    """Where each query may look, in full (..., h, q, k), from the definitions in the design."""
    at_q1 = np.arange(sight.queries)[:, None] + sight.offset
    at_k = np.arange(sight.keys)
    visible = np.ones((*sight.leading, sight.queries, sight.keys), bool)
    if sight.left is not None:
        visible &= at_q1 - sight.left <= at_k
    if sight.right is not None:
        visible &= at_k <= at_q1 + sight.right
    if sight.lengths_h is not None:
        lengths = sight.lengths_h.reshape(*sight.leading, 1, 1)
        visible &= at_k < lengths
    if callable(sight.mask):
        visible &= ruled(sight.mask, slice(0, sight.queries), slice(0, sight.keys))
    elif sight.mask is not None:
        visible &= sight.mask if sight.mask.dtype == bool else sight.mask != -np.inf
    return visible


def _split_heads(array_te: Array, heads: int) -> Array:
    """(..., t, h * d) to (..., h, t, d): cut each row into heads, then put the heads in front."""
    *batch, tokens, width = array_te.shape
    return array_te.reshape(*batch, tokens, heads, width // heads).swapaxes(-2, -3)


def _join_heads(array_htd: Array) -> Array:
    """(..., h, t, d) to (..., t, h * d): the heads of each word side by side."""
    *batch, heads, tokens, width = array_htd.shape
    return array_htd.swapaxes(-2, -3).reshape(*batch, tokens, heads * width)
