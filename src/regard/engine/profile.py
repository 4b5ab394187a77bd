"""Weight by distance: bands of doubling distance, sums over them, and the profile of a head.

A distance is counted backwards: query position - key position, so that 1 is the token before and
-1 the token after.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.arguments import named_arguments
from regard.engine.visibility import Visibility
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
    """The entries of BANDS that distances within a text of this many tokens can fall into.

    >>> BANDS[bands_within(4)]
    ((2, 3), (1, 1), (0, 0), (-1, -1), (-2, -3))
    """
    reach = (tokens - 1).bit_length()
    return slice(DOUBLINGS - reach, DOUBLINGS + reach + 1)


def sum_by_band(lowest: int, weight_xn: Array) -> NDArray[np.float64]:
    """Weight by distance, ``lowest`` first and ascending, summed to one number for each of BANDS.

    Parameters
    ----------
    lowest : the distance that entry 0 of the last axis belongs to.
    weight_xn : any leading axes; sums are made in its own dtype.

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


@named_arguments
@dataclass(frozen=True)
class Profile:
    """Mean weight by position, over the queries that see anything; heads keep the caller's axes.

    ``back`` holds query position - key position (with the offset), ``weight`` (..., h, n) the
    share at that distance: the shares of a head sum to 1.
    """

    first: NDArray[Any]
    back: NDArray[np.int64]
    weight: NDArray[Any]

    @classmethod
    def from_sums(
        cls,
        visibility: Visibility,
        leading: tuple[int, ...],
        dtype: np.dtype[Any],
        received_hk: Array,
        distance_hn: Array,
        live_hq: Array,
    ) -> Profile:
        """Means from the sums of a call; distances come in as key - query, ascending."""
        live_h = np.maximum(live_hq.sum(axis=1), 1)
        first_h = received_hk[:, :1].sum(axis=1) / live_h
        low = visibility.offset - (visibility.keys - 1)
        back = np.arange(low, low + distance_hn.shape[1])
        weight_hn = distance_hn[:, ::-1] / live_h[:, None]
        return cls(
            first_h.astype(dtype).reshape(leading),
            back,
            weight_hn.astype(dtype).reshape(*leading, len(back)),
        )

    @property
    def device_bytes(self) -> int:
        return 0

    def resolve(self) -> Profile:
        return self

    def at(self, back: int) -> NDArray[Any]:
        """Mean weight on the key this many positions before the query; negative: after it."""
        index = back - int(self.back[0]) if self.back.size else -1
        if not 0 <= index < self.back.size:
            return np.zeros_like(self.first)
        result: NDArray[Any] = self.weight[..., index]
        return result

    @property
    def itself(self) -> NDArray[Any]:
        """Mean weight of a position on itself."""
        return self.at(0)

    @property
    def previous(self) -> NDArray[Any]:
        """Mean weight on the position just before."""
        return self.at(1)

    @property
    def next(self) -> NDArray[Any]:
        """Mean weight on the position just after."""
        return self.at(-1)

    def histogram(self) -> list[tuple[int, int, NDArray[Any]]]:
        """Shares by doubling distance, both directions: (nearest, farthest, share), far back first.

        Distances are how far back; negative ones lie ahead.
        """
        if not self.back.size:
            return []
        shares = []
        for near, far in bands_between(int(self.back[0]), int(self.back[-1])):
            inside = (self.back >= min(near, far)) & (self.back <= max(near, far))
            shares.append((near, far, self.weight[..., inside].sum(axis=-1)))
        return shares
