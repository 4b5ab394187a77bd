"""What a head does, in seven numbers and a histogram, each beside what even attention would give.

Everything here is a sum over queries, so measures of parts of a text, or of many texts, add up.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.engine.interfaces import ProblemLike
from regard.engine.observation import Observation, in_map
from regard.errors import ArgumentError, NotAskedError, count
from regard.heads.baseline import BANDS, Even, by_band, even_attention
from regard.heads.repeats import Sums, repeats, repeats_in
from regard.typing import Array


@dataclass(frozen=True)
class Measure:
    """One number of each head, summed over the queries it is defined for.

    ``even_h`` is the same sum for a head that looks evenly at every key it may see. For the
    distances all three have one more axis, one entry for each of BANDS.
    """

    sum_h: Array
    even_h: Array
    queries_h: Array

    @cached_property
    def mean_h(self) -> NDArray[np.float64]:
        """The mean over the queries; 0 where there is none."""
        return np.asarray(self.sum_h / np.maximum(self.queries_h, 1))

    @cached_property
    def baseline_h(self) -> NDArray[np.float64]:
        """What even attention over the visible keys would give."""
        return np.asarray(self.even_h / np.maximum(self.queries_h, 1))

    def __add__(self, other: Measure) -> Measure:
        return Measure(
            self.sum_h + other.sum_h, self.even_h + other.even_h, self.queries_h + other.queries_h
        )


@dataclass(frozen=True)
class HeadMeasures:
    """What each head of one attention does; every field is a Measure with one entry a head.

    entropy: how spread out, in nats
    first: weight on the first key (the usual sink); itself, previous, next: on those places
    duplicate: weight on other places of the same token, over queries that see one
    induction: weight on what followed the same token elsewhere, over queries that see one
    distance: weight at each of BANDS, (h, n)
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
    seen : observed with entropy and profile, holding its query and key.
        Leading axes are flattened, so a batch needs to be of one text.
    tokens : the token of each key, numbers or texts; the queries are those from ``offset`` on.
        None where queries are not among the keys (cross attention): no repeats are counted then.

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
    even = even_attention(problem)
    live_h = np.isfinite(seen.logsumexp).reshape(problem.heads, -1).sum(axis=1)
    profile = seen.profile
    places = {"first": profile.first, "itself": profile.itself, "previous": profile.previous,
              "next": profile.next}  # fmt: skip
    measures = {
        name: Measure(_flat(share) * live_h, even.places[name], live_h)
        for name, share in places.items()
    }
    entropy_hq = np.asarray(seen.entropy, np.float64).reshape(problem.heads, -1)
    measures["entropy"] = Measure(entropy_hq.sum(axis=1), even.entropy_h, live_h)
    weight_hn = np.asarray(profile.weight, np.float64).reshape(problem.heads, -1) * live_h[:, None]
    measures["distance"] = Measure(
        by_band(profile.back, weight_hn), even.distance_hb, live_h[:, None]
    )
    for name, found in _repeats(seen, problem, _checked(tokens, seen), even).items():
        measures[name] = Measure(*found)
    return HeadMeasures(**measures)


def _repeats(
    seen: Observation, problem: ProblemLike, tokens_k: NDArray[np.int64] | None, even: Even
) -> dict[str, Sums]:
    """From the map where it holds every weight, else from query and key."""
    if tokens_k is not None and in_map(seen, problem.visibility):
        weights_hqk = seen.map.reshape(problem.heads, seen.queries, seen.keys)
        return repeats_in(weights_hqk, problem, tokens_k)
    return repeats(problem, seen.logsumexp.reshape(problem.heads, -1), tokens_k, even)


def _checked(tokens: ArrayLike | None, seen: Observation) -> NDArray[np.int64] | None:
    """Tokens as numbers, the same number for the same token."""
    if tokens is None:
        return None
    array = np.asarray(tokens)
    if array.shape != (seen.keys,):
        raise ArgumentError(
            f"tokens needs one token for each of the {count(seen.keys, 'key')}, "
            f"but its shape is {array.shape}."
        )
    if array.dtype == np.int64:
        return array
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _flat(share: Any) -> NDArray[np.float64]:
    return np.asarray(share, np.float64).reshape(-1)


__all__ = ["BANDS", "HeadMeasures", "Measure", "head_measures"]
