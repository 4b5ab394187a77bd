"""Head measures: seven numbers and a histogram of distance for each head, with baselines.

Two entry points: ``head_measures`` from an Observation, of any length, and ``WeightStatistics``
from the weights themselves, many short texts at once. Everything is a sum over queries, so
measures of segments of a text, or of many texts, add up.

Both follow the same definitions; they differ in rounding alone. An observation's sums are made in
float64; from weights, entropy, received attention and distances are summed in the weights' own
dtype (float32 for most models), which is right to about queries x 2^-22.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.engine.call import ProblemLike, Requested
from regard.engine.observation import Observation
from regard.engine.observe import observe_problem
from regard.engine.profile import BANDS, at_distance, sum_by_band, sum_by_distance
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, NotAskedError, count
from regard.heads.repeats import RepeatPairs, Sums, pair_sums, repeat_sums, repeat_sums_from_weights
from regard.typing import Array


@dataclass(frozen=True)
class Measure:
    """One number of each head, summed over the queries it is defined for.

    ``uniform_h`` is the same sum for a head that weights every visible key equally. For the
    distances all three have one more axis, one entry for each of BANDS; from many texts at once
    they have the texts as a leading axis.
    """

    sum_h: Array
    uniform_h: Array
    queries_h: Array

    @cached_property
    def mean_h(self) -> NDArray[np.float64]:
        """The mean over the queries; 0 without queries."""
        return np.asarray(self.sum_h / np.maximum(self.queries_h, 1))

    @cached_property
    def baseline_h(self) -> NDArray[np.float64]:
        """The mean that uniform attention over the visible keys would give."""
        return np.asarray(self.uniform_h / np.maximum(self.queries_h, 1))

    def __add__(self, other: Measure) -> Measure:
        return Measure(
            self.sum_h + other.sum_h,
            self.uniform_h + other.uniform_h,
            self.queries_h + other.queries_h,
        )


@dataclass(frozen=True)
class HeadMeasures:
    """Measures of each head of one attention; ``heads.names`` has their names and definitions.

    ``distance`` has the weight at each of BANDS, (h, n); the others have one number a head.
    """

    entropy: Measure
    first: Measure
    itself: Measure
    previous: Measure
    next: Measure
    duplicate: Measure
    induction: Measure
    distance: Measure

    def without_first(self) -> HeadMeasures:
        """The same of queries that do not see the first key."""
        none_h = np.zeros_like(self.first.sum_h)
        return replace(self, first=Measure(none_h, none_h, self.first.queries_h))

    def __add__(self, other: HeadMeasures) -> HeadMeasures:
        """The measures of both texts together."""
        return HeadMeasures(
            *(getattr(self, x.name) + getattr(other, x.name) for x in fields(HeadMeasures))
        )


def head_measures(seen: Observation, tokens: ArrayLike | None = None) -> HeadMeasures:
    """Measure every head of an observation of one sequence.

    Parameters
    ----------
    seen : observed with entropy and profile, holding its query and key. Leading axes are flattened,
        so a batch must be of one text.
    tokens : the token of each key, numbers or texts; the queries are those from ``offset`` on. None
        where queries are not among the keys (cross attention): no repeats are counted then.

    Examples
    --------
    >>> from regard.engine.observe import observe
    >>> x = np.array([[4.0, 0.0], [0.0, 4.0], [4.0, 0.0]])
    >>> measures = head_measures(observe(x, x, x, causal=True), ["a", "b", "a"])
    >>> measures.duplicate.mean_h.round(2), measures.duplicate.baseline_h.round(2)
    (array([0.5]), array([0.33]))
    """
    if len(seen.parts) != 1:
        raise NotAskedError(
            "head_measures needs query and key, and this observation does not hold them: measure "
            "when it is made, or keep them."
        )
    problem = seen.parts[0]
    baseline = uniform_baseline(problem)
    live_h = np.isfinite(seen.logsumexp).reshape(problem.heads, -1).sum(axis=1)
    profile = seen.profile
    means = {"first": profile.first, "itself": profile.itself, "previous": profile.previous,
             "next": profile.next}  # fmt: skip
    sums = {name: _float64(mean_h).reshape(-1) * live_h for name, mean_h in means.items()}
    sums["entropy"] = _float64(seen.entropy).reshape(problem.heads, -1).sum(axis=1)
    weight_hn = _float64(profile.weight).reshape(problem.heads, -1) * live_h[:, None]
    lowest = int(profile.back[0]) if profile.back.size else 0
    repeats = _repeats(seen, problem, _checked(tokens, seen), baseline)
    return _measures(sums, sum_by_band(lowest, weight_hn), live_h, baseline, repeats)


@dataclass(frozen=True)
class WeightStatistics:
    """Entropy, received attention and weight by distance of b texts of t tokens.

    Axes: entropy_bhq, received_bhk, distance_bhn (distance 1 - t first). The same facts as an
    Observation's, in the dtype of the weights.
    """

    weights_bhqk: Array
    entropy_bhq: Array
    received_bhk: Array
    distance_bhn: Array

    @classmethod
    def from_weights(cls, weights_bhqk: Array) -> WeightStatistics:
        """Statistics of weights whose queries and keys are the same tokens."""
        return cls(
            weights_bhqk, entropy(weights_bhqk), weights_bhqk.sum(axis=-2),
            sum_by_distance(weights_bhqk),
        )  # fmt: skip

    def measures(
        self,
        pairs: Mapping[str, RepeatPairs],
        baseline: UniformBaseline,
        visible_qk: NDArray[np.bool_] | None = None,
    ) -> HeadMeasures:
        """Measures of every text and head, (b, h); ``baseline`` has one row, for all of them.

        ``visible_qk`` is True where queries may look, None: everywhere.
        """
        length = self.weights_bhqk.shape[-1]
        sums = {
            "entropy": self.entropy_bhq.sum(axis=-1),
            "first": self.received_bhk[..., 0],
            "itself": self.distance_bhn[..., length - 1],
            "previous": at_distance(self.distance_bhn, length),
            "next": at_distance(self.distance_bhn, length - 2),
        }
        bands_bhn = sum_by_band(1 - length, self.distance_bhn)
        repeats = {name: pair_sums(self.weights_bhqk, pairs[name], visible_qk) for name in pairs}
        return _measures(sums, bands_bhn, baseline.live_h, baseline, repeats)


def entropy(weights_bhqk: Array) -> Array:
    """Entropy of each row of weights, in nats.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(3) + 0.0
    array([0.   , 0.693])
    """
    logs = np.maximum(weights_bhqk, np.finfo(weights_bhqk.dtype).tiny)
    np.log(logs, out=logs)
    logs *= weights_bhqk
    entropy_bhq: Array = -logs.sum(axis=-1)
    return entropy_bhq


def _measures(
    sums: Mapping[str, Array],
    distance_hb: Array,
    live_h: Array,
    baseline: UniformBaseline,
    repeats: Mapping[str, Sums],
) -> HeadMeasures:
    """Measures from sums, baseline and number of queries."""
    uniform = {"entropy": baseline.entropy_h, **baseline.positions}
    each = {name: Measure(sum_h, uniform[name], live_h) for name, sum_h in sums.items()}
    each["distance"] = Measure(distance_hb, baseline.distance_hb, live_h[:, None])
    return HeadMeasures(**each, **{name: Measure(*repeats[name]) for name in repeats})


def _repeats(
    seen: Observation,
    problem: ProblemLike,
    tokens_k: NDArray[np.int64] | None,
    baseline: UniformBaseline,
) -> dict[str, Sums]:
    """Sums of repeats from the map where it has every weight, else from query and key."""
    if tokens_k is not None and seen.map_is_weights and problem.visibility.is_band:
        weights_hqk = seen.map.reshape(problem.heads, seen.queries, seen.keys)
        return repeat_sums_from_weights(weights_hqk, problem, tokens_k)
    logsumexp_hq = seen.logsumexp.reshape(problem.heads, -1)
    return repeat_sums(problem, logsumexp_hq, tokens_k, baseline.choices_hq)


def _checked(tokens: ArrayLike | None, seen: Observation) -> NDArray[np.int64] | None:
    """Tokens as numbers, the same number for the same token."""
    if tokens is None:
        return None
    array = np.asarray(tokens)
    if array.shape != (seen.keys,):
        raise ArgumentError(
            f"tokens must be one token for each of the {count(seen.keys, 'key')}, "
            f"got shape {array.shape}."
        )
    if array.dtype == np.int64:
        return array
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _float64(values: Any) -> NDArray[np.float64]:
    return np.asarray(values, np.float64)


@dataclass(frozen=True)
class UniformBaseline:
    """Sums of HeadMeasures for a head that weights every visible key equally.

    ``choices_hq`` is the number of keys that each query sees; ``positions`` has first, itself,
    previous and next; ``distance_hb`` has one entry for each of BANDS.
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
        """The same for this many heads, where one row stands for all of them."""
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
    if visibility.mask is not None or visibility.lengths_h is not None:
        masked = visibility.mask is not None
        counted = _counted_choices(problem) if masked else _choices_in_ranges(visibility)
        sums = _baseline_from_sums(visibility.keys, visibility.offset, *counted)
        return sums.for_heads(heads)
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
    return _baseline_from_sums(keys, offset, *_choices_in_ranges(visibility))


def uniform_where(visible_tt: NDArray[np.bool_]) -> UniformBaseline:
    """The baseline, in one row, of t queries on the same t tokens, from every pair.

    >>> uniform_where(np.tri(2, dtype=bool)).positions["itself"]
    array([1.5])
    """
    length = len(visible_tt)
    choices_1q = visible_tt.sum(axis=1)[None]
    share_1tt = (visible_tt * _inverse(choices_1q)[0, :, None])[None]
    first_1 = share_1tt[:, :, 0].sum(axis=1)
    return _baseline_from_sums(length, 0, choices_1q, sum_by_distance(share_1tt), first_1)


def _choices_in_ranges(visibility: Visibility) -> tuple[NDArray[np.int64], Array, Array]:
    low_hq, high_hq = visibility.key_ranges()
    choices_hq = np.maximum(high_hq - low_hq, 0)
    first_h = _inverse(choices_hq * (low_hq <= 0)).sum(axis=1)
    return choices_hq, _by_distance(visibility, low_hq, high_hq), first_h


def _baseline_from_sums(
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


def _counted_choices(part: ProblemLike) -> tuple[NDArray[np.int64], Array, Array]:
    """Attention with every score 0 is uniform; for one head where all share a mask."""
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


__all__ = [
    "BANDS",
    "HeadMeasures",
    "Measure",
    "UniformBaseline",
    "WeightStatistics",
    "entropy",
    "head_measures",
    "uniform_baseline",
    "uniform_in_band",
    "uniform_where",
]
