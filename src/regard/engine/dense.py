"""Dense attention: output and weights at once, for sentences and for decoding steps.

A decoding step has one query a head; there the checks and tiles of ``attention`` would cost more
than the mathematics. Nothing is validated: the transformer makes its own arrays.
"""

import numpy as np
from numpy.typing import NDArray

from regard.typing import Array


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
    scale = query_bhqd.dtype.type(query_bhqd.shape[-1] ** -0.5)
    weights_bhqk = np.matmul(query_bhqd * scale, key_bhkd.swapaxes(-1, -2))
    if visible is not None:
        np.copyto(weights_bhqk, -np.inf, where=~visible)
    highest = weights_bhqk.max(axis=-1, keepdims=True)
    # A row that sees nothing has the maximum -inf; minus the lowest finite number it stays -inf.
    np.maximum(highest, np.finfo(weights_bhqk.dtype).min, out=highest)
    np.subtract(weights_bhqk, highest, out=weights_bhqk)
    np.exp(weights_bhqk, out=weights_bhqk)
    total = weights_bhqk.sum(axis=-1, keepdims=True)
    weights_bhqk /= np.maximum(total, np.finfo(total.dtype).tiny)
    return np.matmul(weights_bhqk, value_bhkd), weights_bhqk
