"""Norm-weighted attention: each weight times the length of what it carries, normalised.

p_ij |v_j W_O| / sum_k p_ik |v_k W_O| = softmax_j(s_ij + log |v_j W_O|) (Kobayashi et al. 2020): a
bias on each key, so that every fact of an observation is the same fact of these weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regard.engine.tensors import as_array
from regard.errors import ArgumentError, expect
from regard.textbook.options import AttentionOptions, MaskRule
from regard.typing import Array

NOTE = (
    "norm-weighted: each weight times the length of the value it carries, through w_output, as a "
    "share of the row. These are not the attention weights."
)


def check_weighted(weighted: str | None) -> bool:
    """Whether weights are norm-weighted; says what else cannot be asked for."""
    if weighted not in (None, "norm"):
        raise ArgumentError(f"weighted needs to be None or 'norm', but it is {weighted!r}.")
    return weighted == "norm"


def carried_norms(value: ArrayLike, w_output: ArrayLike | None, heads: int) -> Array:
    """norm_hk: the length of each value through its head's rows of w_output, (..., h, k).

    ``value`` is (..., h_kv, k, d), repeated for the heads that share it. Without w_output it is
    the length of the value itself.

    >>> carried_norms([[3.0, 4.0], [1.0, 0.0]], [[2.0], [0.0]], heads=1)
    array([6., 2.])
    """
    values = as_array(value).astype(np.float64)
    expect("value", values, "... k d")
    single = values.ndim == 2
    values = values[None] if single else values
    values = np.repeat(values, heads // max(1, values.shape[-3]), axis=-3)
    if w_output is None:
        norms = np.sqrt(np.vecdot(values, values))
    else:
        matrix = as_array(w_output).astype(np.float64)
        width = values.shape[-1]
        expect("w_output", matrix, "hd e", hd=heads * width)
        matrix_hde = matrix.reshape(heads, width, -1)
        # |v W|^2 = v (W W^T) v^T costs d x d for each key instead of d x e.
        gram_hdd = matrix_hde @ matrix_hde.swapaxes(-1, -2)
        norms = np.sqrt(np.maximum(np.vecdot(values @ gram_hdd, values), 0))
    return np.asarray(norms[0] if single else norms)


def with_norm_bias(
    query: Any, value: ArrayLike, w_output: ArrayLike | None, options: AttentionOptions
) -> AttentionOptions:
    """The options of attention with log |v_j W_O| added to the scores of each key."""
    mask = options.get("mask")
    if callable(mask):
        raise ArgumentError(
            "weighted='norm' needs a mask of values, but mask is a function: say causal, window "
            "or lengths instead, or give the mask as an array."
        )
    heads = 1 if query.ndim == 2 else query.shape[-3]
    norms = carried_norms(value, w_output, heads)
    with np.errstate(divide="ignore"):
        bias: Array = np.log(norms)[..., None, :]  # -inf where nothing is carried: weight 0
    return {**options, "mask": _joined(mask, bias)}


def _joined(mask: ArrayLike | MaskRule | None, bias: Array) -> Array:
    """A bias and a mask in one; of the size of both only where there is a mask."""
    if mask is None:
        return bias
    array = as_array(mask)
    if array.dtype == bool:
        return np.where(array, bias, -np.inf)
    joined: Array = array + bias
    return joined
