"""Distances between query and key: bands of doubling distance, and weights summed over them.

A distance is counted backwards: query position - key position, so that 1 is the token before and
-1 the token after.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regard.typing import Array

DOUBLINGS = 21  # bands reach 2^21 - 1 positions far


def doubling_bands(doublings: int) -> tuple[tuple[int, int], ...]:
    """Bands as (nearest, farthest), far back first; those ahead of the query are negative.

    >>> doubling_bands(2)
    ((2, 3), (1, 1), (0, 0), (-1, -1), (-2, -3))
    """
    behind = tuple((2**i, 2 ** (i + 1) - 1) for i in range(doublings))
    return (*reversed(behind), (0, 0), *((-near, -far) for near, far in behind))


BANDS = doubling_bands(DOUBLINGS)


def bands_between(lowest: int, highest: int) -> list[tuple[int, int]]:
    """The bands that touch a range of distances, far back first.

    >>> bands_between(-2, 4)
    [(4, 7), (2, 3), (1, 1), (0, 0), (-1, -1), (-2, -3)]
    """
    every = doubling_bands(max(abs(lowest), abs(highest)).bit_length())
    return [band for band in every if min(band) <= highest and max(band) >= lowest]


def bands_within(tokens: int) -> slice:
    """The entries of BANDS that the distances within a text of so many tokens can fall into.

    >>> BANDS[bands_within(4)]
    ((2, 3), (1, 1), (0, 0), (-1, -1), (-2, -3))
    """
    reach = (tokens - 1).bit_length()
    return slice(DOUBLINGS - reach, DOUBLINGS + reach + 1)


def sum_by_band(lowest: int, weight_xn: Array) -> NDArray[np.float64]:
    """Weight by distance, ``lowest`` first and ascending, summed to one number for each of BANDS.

    Parameters
    ----------
    lowest : int
        The distance that entry 0 of the last axis belongs to.
    weight_xn : ndarray
        Any leading axes; sums are made in its own dtype.

    Examples
    --------
    >>> sum_by_band(-1, np.array([0.1, 0.2, 0.3, 0.4]))[19:23]
    array([0.4, 0.3, 0.2, 0.1])
    """
    sums_xb = np.zeros((*weight_xn.shape[:-1], len(BANDS)))
    starts, filled = _band_starts(lowest, weight_xn.shape[-1])
    if starts.size:
        sums_xb[..., filled] = np.add.reduceat(weight_xn, starts, axis=-1)
    return sums_xb


@lru_cache(maxsize=512)
def _band_starts(lowest: int, size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first entry of each band that has any, ascending, and which of BANDS these are."""
    nearest_last = np.array([min(band) for band in reversed(BANDS)])
    starts = np.clip(nearest_last - lowest, 0, size)
    filled = np.flatnonzero(np.diff(starts, append=size) > 0)
    return starts[filled], len(BANDS) - 1 - filled


def sum_by_distance(weights_xqk: Array) -> Array:
    """Weights of t queries on t keys summed along the diagonals: distance 1 - t first, (..., n).

    >>> sum_by_distance(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([2., 5., 3.])
    """
    *leading, length, _ = weights_xqk.shape
    # Rows of 2 t numbers, read as rows of 2 t - 1, move one position to the right each.
    skewed = np.zeros((*leading, length, 2 * length), weights_xqk.dtype)
    skewed[..., :length] = weights_xqk[..., ::-1]
    flat = skewed.reshape(*leading, -1)[..., : length * (2 * length - 1)]
    sums_xn: Array = np.add.reduce(flat.reshape(*leading, length, 2 * length - 1), axis=-2)
    return sums_xn


def at_distance(weight_xn: Array, index: int) -> Array:
    """One entry of the last axis; zeros where the index is outside."""
    if not 0 <= index < weight_xn.shape[-1]:
        return np.zeros(weight_xn.shape[:-1], weight_xn.dtype)
    column: Array = weight_xn[..., index]
    return column
