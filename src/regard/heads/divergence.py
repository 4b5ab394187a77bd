"""Distances between rows of weights: Jensen-Shannon divergence and squared Hellinger distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.typing import Array


def jensen_shannon(one_xk: Array, other_xk: Array) -> NDArray[np.float64]:
    """Jensen-Shannon divergence of two distributions over the last axis, in bits.

    The entropy of their mean less the mean of their entropies, base 2: 0 where they are the same,
    1 where they have nothing in common. Symmetric, and finite where one of them has zeros.

    >>> others = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> jensen_shannon(np.array([1.0, 0.0]), others).round(3)
    array([0.   , 1.   , 0.311])
    """
    one_xk, other_xk = (np.asarray(x, np.float64) for x in (one_xk, other_xk))
    mean_xk = (one_xk + other_xk) / 2
    bits = _entropy(mean_xk) - (_entropy(one_xk) + _entropy(other_xk)) / 2
    return np.asarray(np.clip(bits, 0, 1))


def _entropy(weights_xk: Array) -> Array:
    """In bits; a weight of 0 adds nothing."""
    logs_xk = np.log2(np.maximum(weights_xk, np.finfo(np.float64).tiny))
    entropy_x: Array = -(weights_xk * logs_xk).sum(axis=-1)
    return entropy_x


def hellinger_squared(weights_hqk: Array) -> NDArray[np.float64]:
    """Squared Hellinger distance between heads, the mean over rows that both have, (h, h).

    1 - sum_k sqrt(p_k p'_k): 0 where two heads have the same rows, 1 where they have no key in
    common. Rows of zeros are left out.

    >>> rows = np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]])
    >>> hellinger_squared(rows) + 0.0
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    roots_hx = np.sqrt(weights_hqk).reshape(len(weights_hqk), -1)
    live_hq = (weights_hqk.sum(axis=-1) > 0).astype(np.float64)
    common_hh = roots_hx @ roots_hx.T / np.maximum(live_hq @ live_hq.T, 1)
    distance_hh = np.clip(1 - common_hh, 0, 1)
    np.fill_diagonal(distance_hh, 0)
    return np.asarray(distance_hh, np.float64)
