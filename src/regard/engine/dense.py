"""Dense attention: output and weights, for sentences and decoding steps.

A decoding step has one query per head: the validation and tiles of ``attention`` would take longer
than the mathematics. Nothing is validated here; the transformer makes the arrays itself.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from regard.engine.native.attend import attend_densely
from regard.engine.native.library import function
from regard.typing import Array

# From this many scores on (a sentence of 64 tokens, 8 heads) a native call is faster than ten calls
# of NumPy; below it packing and arguments take most of the time.
MIN_NATIVE_SCORES = 2**15


def dense_attention(
    query_bhqd: Array, key_bhkd: Array, value_bhkd: Array, visible: NDArray[np.bool_] | None = None
) -> tuple[Array, Array]:
    """Output and weights of attention with all scores in memory; equals ``attend`` of ``steps``.

    ``visible`` broadcasts to (b, h, q, k), True where query q may look at key k.

    Returns
    -------
    output_bhqd, weights_bhqk : in the dtype of the input; 0 for a query that may look at nothing.

    Examples
    --------
    >>> x = np.array([[[[1.0, 0.0], [0.0, 1.0]]]])
    >>> output, weights = dense_attention(x, x, x, visible=np.array([[True, False], [True, True]]))
    >>> weights[0, 0].round(3)
    array([[1.  , 0.  ],
           [0.33, 0.67]])
    """
    arrays = query_bhqd, key_bhkd, value_bhkd
    if function("attend") is not None and _are_served(*arrays):
        return attend_densely(*arrays, visible)
    scale = query_bhqd.dtype.type(query_bhqd.shape[-1] ** -0.5)
    weights_bhqk = np.matmul(query_bhqd * scale, key_bhkd.swapaxes(-1, -2))
    if visible is not None:
        np.copyto(weights_bhqk, -np.inf, where=~visible)
    highest = weights_bhqk.max(axis=-1, keepdims=True)
    # A row without visible keys has the maximum -inf; -inf minus the lowest finite number is -inf.
    np.maximum(highest, np.finfo(weights_bhqk.dtype).min, out=highest)
    np.subtract(weights_bhqk, highest, out=weights_bhqk)
    np.exp(weights_bhqk, out=weights_bhqk)
    total = weights_bhqk.sum(axis=-1, keepdims=True)
    weights_bhqk /= np.maximum(total, np.finfo(total.dtype).tiny)
    return np.matmul(weights_bhqk, value_bhkd), weights_bhqk


def _are_served(*arrays: Array) -> bool:
    """Whether the native kernel serves these arrays: large, float32, with contiguous rows."""
    heads = {array.shape[:-2] for array in arrays}
    scores = math.prod(arrays[0].shape[:-1]) * arrays[1].shape[-2]
    return (
        len(heads) == 1
        and scores >= MIN_NATIVE_SCORES
        and all(x.ndim == 4 and x.dtype == np.float32 and x.strides[-1] == 4 for x in arrays)
    )
