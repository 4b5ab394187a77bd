"""Small pictures of heads: the largest weight of each cell of a coarse grid."""

from __future__ import annotations

import numpy as np

from regard.typing import Array

THUMBNAIL = 24  # cells on a side


def small(weights_lhqk: Array, most: int) -> Array:
    """Each head's picture in at most ``most`` x ``most`` cells; a cell is its largest weight.

    >>> small(np.eye(4)[None, None], 2)[0, 0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    for axis in (-2, -1):
        size = weights_lhqk.shape[axis]
        if size > most:
            edges = np.linspace(0, size, most + 1).astype(int)[:-1]
            weights_lhqk = np.maximum.reduceat(weights_lhqk, edges, axis=axis)
    return weights_lhqk
