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
    return divergence_from_entropies(
        one_xk, other_xk, entropy_in_bits(one_xk), entropy_in_bits(other_xk)
    )


def divergence_from_entropies(
    one_xk: Array, other_xk: Array, entropy_x: Array, other_entropy_x: Array
) -> NDArray[np.float64]:
    """``jensen_shannon`` of distributions, given their entropies in bits."""
    bits_x = entropy_in_bits((one_xk + other_xk) / 2) - (entropy_x + other_entropy_x) / 2
    return np.asarray(np.clip(bits_x, 0, 1))


def entropy_in_bits(weights_xk: Array) -> NDArray[np.float64]:
    """Entropy over the last axis; a weight of 0 adds nothing."""
    logs_xk = np.maximum(weights_xk, np.finfo(np.float64).tiny)
    np.log2(logs_xk, out=logs_xk)
    return np.asarray(-np.vecdot(weights_xk, logs_xk))


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
