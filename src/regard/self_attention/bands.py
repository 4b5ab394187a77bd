"""Distances by doubling: how far back or ahead the weight lies, in few numbers."""

import numpy as np

from regard.self_attention.tiles.problem import Array

FARTHEST = 21  # doubling distances up to 2^21 - 1 positions
_STEPS = tuple((2**i, 2 ** (i + 1) - 1) for i in range(FARTHEST))
BANDS = (*reversed(_STEPS), (0, 0), *((-near, -far) for near, far in _STEPS))
"""Distances as (nearest, farthest), how far back; far back first, negative ones lie ahead."""
_LOWEST = np.array([min(band) for band in reversed(BANDS)])


def by_band(back: Array, weight_hn: Array) -> Array:
    """Add up by doubling distance; ``back`` is a range, ascending.

    >>> by_band(np.arange(-1, 3), np.array([[0.1, 0.2, 0.3, 0.4]]))[0, 19:23]
    array([0.4, 0.3, 0.2, 0.1])
    """
    sums_hb = np.zeros((weight_hn.shape[0], len(BANDS)))
    if back.size:
        starts = np.clip(_LOWEST - int(back[0]), 0, back.size)
        full = np.diff(starts, append=back.size) > 0
        sums_hb[:, full] = np.add.reduceat(weight_hn, starts[full], axis=1)
    return sums_hb[:, ::-1]
