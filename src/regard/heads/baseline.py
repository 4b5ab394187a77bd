"""The uniform baseline: what a head would measure that weights every visible key equally."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.engine.interfaces import ProblemLike
from regard.engine.visibility import Visibility
from regard.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping


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


@dataclass(frozen=True)
class Even:
    """Sums over queries, as in Measure: ``choices_hq`` keys are visible to each query.

    ``distance_hb`` has one entry for each of BANDS.
    """

    choices_hq: NDArray[np.int64]
    entropy_h: Array
    places: Mapping[str, Array]
    distance_hb: Array


def even_attention(problem: ProblemLike) -> Even:
    """From the ranges of keys that queries see; where there is a mask, from a head of zeros."""
    visibility, heads = problem.visibility, problem.heads
    if visibility.mask is None and visibility.lengths_h is None:
        alike = replace(visibility, leading=())
        return _for_all(_in_band(alike.queries, alike.keys, alike.offset, alike.left, alike.right),
                        heads)  # fmt: skip
    if visibility.mask is None:
        return _for_all(_even(visibility, *_within(visibility)), heads)
    return _for_all(_even(visibility, *_counted(problem)), heads)


@lru_cache(maxsize=8)
def _in_band(queries: int, keys: int, offset: int, left: int | None, right: int | None) -> Even:
    """All layers of a model see alike, so one answer serves them."""
    visibility = Visibility((), queries, keys, offset, left, right)
    return _even(visibility, *_within(visibility))


def _within(visibility: Visibility) -> tuple[NDArray[np.int64], Array, Array]:
    low_hq, high_hq = _ranges(visibility)
    choices_hq = np.maximum(high_hq - low_hq, 0)
    first_h = _inverse(choices_hq * (low_hq <= 0)).sum(axis=1)
    return choices_hq, _spread(visibility, low_hq, high_hq), first_h


def _even(
    visibility: Visibility, choices_hq: NDArray[np.int64], distance_hn: Array, first_h: Array
) -> Even:
    zero = visibility.keys - 1 - visibility.offset  # where distance 0 stands in a profile
    places = {"first": first_h} | {
        name: _column(distance_hn, zero + back)
        for name, back in (("itself", 0), ("previous", 1), ("next", -1))
    }
    entropy_h = np.log(np.maximum(choices_hq, 1)).sum(axis=1)
    back = np.arange(distance_hn.shape[1]) - zero
    return Even(choices_hq, entropy_h, places, by_band(back, distance_hn))


def _for_all(even: Even, heads: int) -> Even:
    """One row stands for every head where they are alike."""
    every = np.broadcast_to
    return Even(
        every(even.choices_hq, (heads, even.choices_hq.shape[1])),
        every(even.entropy_h, heads),
        {name: every(sums_h, heads) for name, sums_h in even.places.items()},
        every(even.distance_hb, (heads, even.distance_hb.shape[1])),
    )


def _ranges(visibility: Visibility) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each query sees keys from low up to but not including high; one row where heads agree."""
    at_1q = np.arange(visibility.queries)[None] + visibility.offset
    lengths_h1 = np.array([[visibility.keys]])
    if visibility.lengths_h is not None:
        lengths_h1 = np.unique(visibility.lengths_h)[:1, None]
        if (visibility.lengths_h != lengths_h1[0, 0]).any():
            lengths_h1 = visibility.lengths_h[:, None]
    low_1q = (
        np.zeros_like(at_1q) if visibility.left is None else np.maximum(at_1q - visibility.left, 0)
    )
    high_hq = np.broadcast_to(lengths_h1, (len(lengths_h1), visibility.queries))
    if visibility.right is not None:
        high_hq = np.minimum(high_hq, at_1q + visibility.right + 1)
    return np.broadcast_to(low_1q, high_hq.shape), high_hq


def _spread(visibility: Visibility, low_hq: NDArray[np.int64], high_hq: NDArray[np.int64]) -> Array:
    """Each query puts 1 / choices on every distance in its range: differences, then a sum."""
    share_hq = _inverse(np.maximum(high_hq - low_hq, 0))
    at_q = np.arange(visibility.queries) + visibility.keys - 1  # + offset - (offset - (keys - 1))
    steps_hn = np.zeros((low_hq.shape[0], visibility.queries + visibility.keys))
    for h in range(low_hq.shape[0]):
        seen = share_hq[h] > 0
        np.add.at(steps_hn[h], (at_q - high_hq[h] + 1)[seen], share_hq[h][seen])
        np.add.at(steps_hn[h], (at_q - low_hq[h] + 1)[seen], -share_hq[h][seen])
    return np.maximum(np.cumsum(steps_hn, axis=1)[:, :-1], 0)


def _counted(part: ProblemLike) -> tuple[NDArray[np.int64], Array, Array]:
    """Attention with every score 0 is even; for one head where all share a mask."""
    from regard.engine.observe import observe_problem
    from regard.engine.tiles.rows import Requested

    problem = part.on_host()
    visibility = problem.visibility
    alike = callable(visibility.mask) or visibility.mask is None or _alike(visibility)
    heads = 1 if alike else problem.heads
    mask = visibility.mask
    if not callable(mask) and mask is not None:
        whole = mask if mask.dtype == bool else mask != -np.inf
        mask = whole.reshape(-1, *whole.shape[-2:])[:heads]
    lengths_h = None if visibility.lengths_h is None else visibility.lengths_h[:heads]
    shape = (heads, visibility.queries, 1)
    blank = replace(
        problem,
        query_hqd=np.zeros(shape, np.float64),
        key_gkd=np.zeros((heads, visibility.keys, 1), np.float64),
        value_gkv=np.zeros((heads, visibility.keys, 0), np.float64),
        leading=(heads,),
        visibility=replace(visibility, leading=(heads,), mask=mask, lengths_h=lengths_h),
        softcap=None,
        bounded=True,
    )
    seen = observe_problem(blank, Requested(output=False, received=True, profile=True))
    choices_hq = np.rint(np.exp(seen.logsumexp)).astype(np.int64)
    live_h = (choices_hq > 0).sum(axis=1)
    return choices_hq, seen.profile.weight * live_h[:, None], seen.received[:, :1].sum(axis=1)


def _alike(visibility: Visibility) -> bool:
    """Whether all heads share one bool mask: a broadcast axis has no stride."""
    mask = visibility.mask
    if mask is None or callable(mask) or mask.dtype != bool:
        return False
    lengths = visibility.lengths_h is None or len(np.unique(visibility.lengths_h)) == 1
    return lengths and all(
        step == 0 or size == 1
        for step, size in zip(mask.strides[:-2], mask.shape[:-2], strict=True)
    )


def _inverse(choices_hq: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 / choices, 0 where there are none."""
    return np.where(choices_hq > 0, 1 / np.maximum(choices_hq, 1), 0)


def _column(distance_hn: Array, index: int) -> Array:
    if not 0 <= index < distance_hn.shape[1]:
        return np.zeros(distance_hn.shape[0])
    column: Array = distance_hn[:, index]
    return column
