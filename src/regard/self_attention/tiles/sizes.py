"""How large the numbers of a call are, and what they can therefore be computed in."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regard.errors import ArgumentError
from regard.self_attention.tiles.problem import Array
from regard.self_attention.tiles.sight import MaskRule


def largest_norm(name: str, array: Array) -> float:
    """A bound on the length of a row; the same pass finds NaN and infinity.

    Of value only the order of magnitude matters, so the length of all rows together will do.
    """
    if array.size == 0:
        return 0.0
    with np.errstate(all="ignore"):
        wide = array.astype(np.float32) if array.dtype == np.float16 else array
        rows = wide.reshape(1, -1) if name == "value" else wide
        largest = float(np.vecdot(rows, rows).max())
        if 2.0**-99 < largest < math.inf:  # squares of smaller numbers may have underflowed
            return math.sqrt(largest)
    bad = ~np.isfinite(array)
    if bad.any():
        place = [int(i) for i in np.unravel_index(int(bad.argmax()), array.shape)]
        found = array[tuple(place)]
        raise ArgumentError(
            f"{name} has {found} at {place}: attention needs finite numbers. "
            "If it stands for padding, use lengths or mask instead."
        )
    return float(np.abs(array).max()) * math.sqrt(array.shape[-1])


def compute_dtype(
    dtype: np.dtype[Any], bound: float, scale: float, softcap: float
) -> np.dtype[Any]:
    """float64 stays; anything else is float32, unless a number would overflow or vanish there."""
    tame = max(bound, bound / softcap) < 2.0**99
    tame &= all(2.0**-99 < factor < 2.0**99 for factor in (scale, softcap, scale / softcap))
    return np.dtype(np.float32 if dtype != np.float64 and tame else np.float64)


def largest_bias(mask: ArrayLike | MaskRule | None) -> float:
    """The largest finite size in a float mask, found in slices so that no second mask is made."""
    if mask is None or callable(mask) or np.asarray(mask).dtype == bool:
        return 0.0
    flat = np.asarray(mask).reshape(-1)
    slices = (flat[i : i + 2**20] for i in range(0, flat.size, 2**20))
    return max((float(np.abs(x, where=x != -np.inf, out=np.zeros_like(x)).max()) for x in slices),
               default=0.0)  # fmt: skip


def is_bounded(bound: float, value_size: float, dtype: np.dtype[Any]) -> bool:
    """Whether 2^t can be summed as it stands, no row's maximum being subtracted first.

    By Cauchy and Schwarz no score exceeds the bound. With a bound of 40 and values between 2^-64
    and 2^64 every product stays 20 bits away from both ends of float32; float64 has ten times that.
    """
    room = 40 if dtype == np.float32 else 400
    tame = value_size == 0 or abs(math.log2(value_size)) <= room + 24
    return bound <= room and tame
