"""The inputs that tell all mistakes apart: axes of different sizes, masks, large scores, groups."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from regard.check.case import Array, Case, Sizes, draw

CROSS = Sizes(2, 3, 5, 7, 4, 6)
SQUARE = Sizes(2, 3, 5, 5, 4, 6)
NARROW = Sizes(2, 3, 5, 7, 4, 4)
PLAIN = Sizes(2, 3, 5, 5, 4, 4)
# As many words as features: the only place where a key that was not transposed fits.
SAME = Sizes(2, 3, 4, 4, 4, 4)
FRAMES = (CROSS, SQUARE, NARROW, PLAIN, SAME)


@dataclass(frozen=True)
class Probe:
    """A question: what it is called, what the function must accept, and its input at a size."""

    name: str
    needs: tuple[str, ...]
    build: Callable[[Sizes], Case]
    everywhere: bool = False  # asked at every size, not only at the first that fits


def _plain(sizes: Sizes) -> Case:
    return draw(sizes)


def _large(sizes: Sizes) -> Case:
    """Scores of thousands, of both signs; one row has large negative ones only."""
    case = draw(sizes, seed=1, spread=30.0)
    query, key = case.query.copy(), case.key.copy()
    key[..., 0] = np.abs(key[..., 0]) + 30
    query[:, :, 0] = 0
    query[:, :, 0, 0] = -60
    return replace(case, query=query, key=key)


def see_some(queries: int, keys: int) -> Array:
    """A mask with at least one True and one False in every row, and no order.

    >>> see_some(3, 5).astype(int)
    array([[1, 1, 0, 1, 0],
           [0, 1, 0, 1, 1],
           [0, 1, 1, 0, 1]])
    """
    place_qk = np.arange(keys) * 2 + np.arange(queries)[:, None] * 4
    return np.asarray(place_qk % 5 < 3) if keys > 2 else np.eye(queries, keys, dtype=bool)


def _masked(sizes: Sizes) -> Case:
    return replace(draw(sizes, seed=2), mask=see_some(sizes.q, sizes.k))


def _masked_large(sizes: Sizes) -> Case:
    """Scores of hundreds: a mask of -100 is nothing to them."""
    return replace(draw(sizes, seed=3, spread=30.0), mask=see_some(sizes.q, sizes.k))


def _empty(sizes: Sizes) -> Case:
    mask_qk = see_some(sizes.q, sizes.k)
    mask_qk[sizes.q // 2] = False
    return replace(draw(sizes, seed=4), mask=mask_qk)


def _added(sizes: Sizes) -> Case:
    random = np.random.default_rng([5, *sizes])
    mask_qk = random.standard_normal((sizes.q, sizes.k)).round(3)
    mask_qk[:, -1] = -np.inf
    return replace(draw(sizes, seed=5), mask=mask_qk)


def _causal(sizes: Sizes) -> Case:
    return replace(draw(sizes, seed=6), causal=True)


def _causal_at(offset: int) -> Callable[[Sizes], Case]:
    return lambda sizes: replace(draw(sizes, seed=6), causal=True, offset=offset)


def _causal_large(sizes: Sizes) -> Case:
    return replace(draw(sizes, seed=7, spread=30.0), causal=True)


def _padded(sizes: Sizes) -> Case:
    lengths_b = np.arange(sizes.b) * 2 + 2
    return replace(draw(sizes, seed=8), lengths=np.minimum(lengths_b, sizes.k - 1))


def _capped(sizes: Sizes) -> Case:
    return replace(draw(sizes, seed=9, spread=2.0), softcap=2.0)


def _capped_masked(sizes: Sizes) -> Case:
    return replace(_capped(sizes), mask=see_some(sizes.q, sizes.k))


def _capped_causal(sizes: Sizes) -> Case:
    return replace(_capped(sizes), causal=True)


def _scaled(sizes: Sizes) -> Case:
    return replace(draw(sizes, seed=10), scale=0.3)


def _windowed(sizes: Sizes) -> Case:
    return replace(draw(sizes, seed=11), window=(2, 1))


def _grouped(sizes: Sizes) -> Case:
    return draw(sizes._replace(h=2 * sizes.h, g=sizes.h), seed=12)


PROBES = (
    Probe("plain", (), _plain, everywhere=True),
    Probe("large scores", (), _large),
    Probe("mask", ("mask",), _masked),
    Probe("mask, large scores", ("mask",), _masked_large),
    Probe("added mask", ("mask", "added"), _added),
    Probe("empty rows", ("mask", "empty rows"), _empty),
    Probe("causal", ("causal",), _causal, everywhere=True),
    Probe("causal, large scores", ("causal",), _causal_large),
    Probe("causal, offset 2", ("causal", "offset"), _causal_at(2)),
    Probe("causal, offset 1", ("causal", "offset"), _causal_at(1)),
    Probe("causal, offset -2", ("causal", "offset", "empty rows"), _causal_at(-2)),
    Probe("padding", ("lengths",), _padded),
    Probe("softcap", ("softcap",), _capped),
    Probe("softcap and mask", ("softcap", "mask"), _capped_masked),
    Probe("softcap and causal", ("softcap", "causal"), _capped_causal),
    Probe("scale", ("scale",), _scaled),
    Probe("window", ("window",), _windowed),
    Probe("grouped heads", ("grouped heads",), _grouped),
)
