"""Uniform baseline: the sums of HeadMeasures for a head that weights every visible key equally."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import ProblemLike
from regard.engine.profile import at_distance, sum_by_band, sum_by_distance
from regard.engine.visibility import Visibility
from regard.typing import Array


@dataclass(frozen=True)
class UniformBaseline:
    """Sums over queries, as in Measure: ``choices_hq`` keys are visible to each query.

    ``positions`` has first, itself, previous and next; ``distance_hb`` one entry for each of BANDS.
    """

    choices_hq: NDArray[np.int64]
    entropy_h: Array
    positions: Mapping[str, Array]
    distance_hb: Array

    @property
    def live_h(self) -> NDArray[np.int64]:
        """The queries that see any key."""
        return np.asarray((self.choices_hq > 0).sum(axis=1))

    def for_heads(self, heads: int) -> UniformBaseline:
        """The same for so many heads, where one row stands for all of them."""
        every = np.broadcast_to
        return UniformBaseline(
            every(self.choices_hq, (heads, self.choices_hq.shape[1])),
            every(self.entropy_h, heads),
            {name: every(sums_h, heads) for name, sums_h in self.positions.items()},
            every(self.distance_hb, (heads, self.distance_hb.shape[1])),
        )


def uniform_baseline(problem: ProblemLike) -> UniformBaseline:
    """The baseline of a problem: from ranges of visible keys, or with a mask from scores of 0."""
    visibility, heads = problem.visibility, problem.heads
    if visibility.mask is not None:
        return _baseline(visibility.keys, visibility.offset, *_counted(problem)).for_heads(heads)
    if visibility.lengths_h is not None:
        return _baseline(visibility.keys, visibility.offset, *_in_ranges(visibility)).for_heads(
            heads
        )
    band = uniform_in_band(
        visibility.queries, visibility.keys, visibility.offset, visibility.left, visibility.right
    )
    return band.for_heads(heads)


@lru_cache(maxsize=8)
def uniform_in_band(
    queries: int, keys: int, offset: int = 0, left: int | None = None, right: int | None = None
) -> UniformBaseline:
    """The baseline, in one row, where all queries see the same band; layers of a model share it."""
    visibility = Visibility((), queries, keys, offset, left, right)
    return _baseline(keys, offset, *_in_ranges(visibility))


def uniform_where(visible_tt: NDArray[np.bool_]) -> UniformBaseline:
    """The baseline, in one row, of t queries on the same t tokens, from every pair.

    >>> uniform_where(np.tri(2, dtype=bool)).positions["itself"]
    array([1.5])
    """
    length = len(visible_tt)
    choices_1q = visible_tt.sum(axis=1)[None]
    share_1tt = (visible_tt * _inverse(choices_1q)[0, :, None])[None]
    first_1 = share_1tt[:, :, 0].sum(axis=1)
    return _baseline(length, 0, choices_1q, sum_by_distance(share_1tt), first_1)


def _in_ranges(visibility: Visibility) -> tuple[NDArray[np.int64], Array, Array]:
    low_hq, high_hq = visibility.key_ranges()
    choices_hq = np.maximum(high_hq - low_hq, 0)
    first_h = _inverse(choices_hq * (low_hq <= 0)).sum(axis=1)
    return choices_hq, _by_distance(visibility, low_hq, high_hq), first_h


def _baseline(
    keys: int, offset: int, choices_hq: NDArray[np.int64], distance_hn: Array, first_h: Array
) -> UniformBaseline:
    zero = keys - 1 - offset  # the index of distance 0, as in Profile
    near = {"itself": 0, "previous": 1, "next": -1}
    positions = {name: at_distance(distance_hn, zero + back) for name, back in near.items()}
    entropy_h = np.log(np.maximum(choices_hq, 1)).sum(axis=1)
    bands_hb = sum_by_band(-zero, distance_hn)
    return UniformBaseline(choices_hq, entropy_h, {"first": first_h} | positions, bands_hb)


def _by_distance(
    visibility: Visibility, low_hq: NDArray[np.int64], high_hq: NDArray[np.int64]
) -> Array:
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
    """Attention with every score 0 is uniform; for one head where all share a mask."""
    from regard.engine.call import Requested
    from regard.engine.observe import observe_problem

    problem = part.on_host()
    visibility = problem.visibility
    shared = callable(visibility.mask) or visibility.mask is None or _is_shared(visibility)
    heads = 1 if shared else problem.heads
    mask = visibility.mask
    if not callable(mask) and mask is not None:
        visible = mask if mask.dtype == bool else mask != -np.inf
        mask = visible.reshape(-1, *visible.shape[-2:])[:heads]
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


def _is_shared(visibility: Visibility) -> bool:
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
