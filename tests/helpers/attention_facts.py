"""Every fact of an observation, computed from all the weights by its definition."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from tests.helpers.attention_cases import Case

from regard.engine.observation import Observation
from regard.textbook.stages import softmax
from regard.textbook.steps import Steps, attend

Array = np.ndarray
MAP, TOP = 5, 4


@dataclass(frozen=True)
class DenseFacts:
    """All the weights, the scores they came from, and the output: what ``steps`` holds."""

    weights: Array
    scores: Array
    output: Array
    offset: int = 0

    @property
    def sees(self) -> Array:
        """Which queries see anything."""
        return (self.scores > -np.inf).any(axis=-1)

    def facts(self) -> dict[str, Array]:
        """Each by its definition in the design."""
        return dict(self._facts)

    @cached_property
    def _facts(self) -> dict[str, Array]:
        received = self.weights.sum(axis=-2)
        audience = (self.scores > -np.inf).sum(axis=-2)
        return {
            "output": self.output,
            "logsumexp": self.logsumexp(),
            "entropy": self.entropy(),
            "received": received,
            "received_mean": received / np.maximum(audience, 1),
            "map": self.map(),
            "top": -np.sort(-self.weights, axis=-1)[..., :TOP],
            "first": self.mean(self.weights[..., :1].sum(axis=-1)),
            "shares": self.shares(),
            "itself": self.at(0),
            "previous": self.at(1),
            "next": self.at(-1),
            "tile": self.weights[..., 1:9, 2:20],
            "row": self.weights[..., -1:, :],
        }

    def logsumexp(self) -> Array:
        """log of the sum of e^score; -inf for an empty sum."""
        highest = np.maximum(
            self.scores.max(axis=-1, initial=-np.inf), np.finfo(self.scores.dtype).min
        )
        with np.errstate(divide="ignore"):
            return highest + np.log(np.exp(self.scores - highest[..., None]).sum(axis=-1))

    def entropy(self) -> Array:
        """Minus the sum of p log p, where 0 log 0 is 0."""
        return -(self.weights * np.log(np.where(self.weights > 0, self.weights, 1))).sum(axis=-1)

    def map(self) -> Array:
        """Means over the queries of a block that see anything, sums over the keys of a block."""
        rows, columns = (edges(n) for n in self.weights.shape[-2:])
        blocks = [
            [self.mean(self.weights[..., a:b, c:d].sum(axis=-1), a, b) for c, d in columns]
            for a, b in rows
        ]
        return np.moveaxis(np.array(blocks), (0, 1), (-2, -1))

    def shares(self) -> Array:
        """The mean weight at every distance, from the farthest ahead to the farthest back."""
        queries, keys = self.weights.shape[-2:]
        low = self.offset - (keys - 1)
        actual = [self.at(low + n) for n in range(max(0, queries + keys - 1))]
        leading = self.weights.shape[:-2]
        return np.moveaxis(np.array(actual).reshape(len(actual), *leading), 0, -1)

    def at(self, back: int) -> Array:
        """The mean weight on the key this far before the query's own position."""
        queries, keys = self.weights.shape[-2:]
        at_distance = np.arange(queries)[:, None] + self.offset - np.arange(keys) == back
        return self.mean((self.weights * at_distance).sum(axis=-1))

    def mean(self, sums: Array, start: int = 0, stop: int | None = None) -> Array:
        """The mean over the queries that see anything."""
        return sums.sum(axis=-1) / np.maximum(self.sees[..., start:stop].sum(axis=-1), 1)


def edges(positions: int) -> list[tuple[int, int]]:
    """The blocks of the map: at most MAP, of the smallest power of two that will do."""
    size = 1
    while size * MAP < positions:
        size *= 2
    starts = range(0, max(1, positions), size)
    return [(start, min(start + size, positions)) for start in starts]


def last_scores(steps: Steps) -> Array:
    """The scores that softmax saw."""
    stages = (steps.masked, steps.capped, steps.scaled)
    return next(stage for stage in stages if stage is not None)


def specification(query: Any, key: Any, value: Any, **arguments: Any) -> DenseFacts:
    """The specification, in float64."""
    steps = attend(query, key, value, **arguments)
    return DenseFacts(steps.weights, last_scores(steps), steps.output, arguments.get("offset") or 0)


_SPECIFIED: dict[tuple[str, str, str], DenseFacts] = {}


def specified(case: Case, dtype: Any = np.float64) -> DenseFacts:
    """The specification of a case whose arrays are in this dtype; computed once for all plans."""
    return _once(specification, case, dtype)


def plain_of(case: Case, dtype: Any) -> DenseFacts:
    """The same in plain float32; computed once for all plans."""
    return _once(plain, case, dtype)


def _once(function: Callable[..., DenseFacts], case: Case, dtype: Any) -> DenseFacts:
    key = (function.__name__, case.name, np.dtype(dtype).name)
    if key not in _SPECIFIED:
        facts = _SPECIFIED[key] = function(*case.arrays(dtype), **case.arguments)
        for array in facts.facts().values():
            if isinstance(array, np.ndarray):  # of two axes some are single numbers
                array.flags.writeable = False
    return _SPECIFIED[key]


def plain(query: Array, key: Array, value: Array, **arguments: Any) -> DenseFacts:
    """The same in float32, as anybody would write it; only where to look comes from ``steps``."""
    hidden = specification(query, key, value, **arguments).scores == -np.inf
    query, key, value = (array.astype(np.float32) for array in (query, key, value))
    if query.ndim > 2:
        group = query.shape[-3] // key.shape[-3]
        key, value = (np.repeat(array, group, axis=-3) for array in (key, value))
    scale = arguments.get("scale") or 1 / np.sqrt(max(1, query.shape[-1]))
    scores = (query @ key.swapaxes(-1, -2)) * np.float32(scale)
    if cap := arguments.get("softcap"):
        scores = np.float32(cap) * np.tanh(scores / np.float32(cap))
    scores = np.where(hidden, np.float32(-np.inf), scores + _bias(arguments.get("mask")))
    with np.errstate(invalid="ignore"):  # 0 / 0 in a row that sees nothing
        weights = np.where(hidden.all(axis=-1, keepdims=True), 0, softmax(scores))
    return DenseFacts(weights, scores, weights @ value, arguments.get("offset") or 0)


def _bias(mask: Any) -> Any:
    if mask is None or callable(mask) or np.asarray(mask).dtype == bool:
        return np.float32(0)
    with np.errstate(over="ignore"):
        return np.asarray(mask).astype(np.float32)


def observed(seen: Observation) -> dict[str, Array]:
    """The facts an observation has, under the names of ``Whole.facts``."""
    facts = {name: getattr(seen, name) for name in seen.facts if not name.startswith("top_")}
    if "received" in facts:
        facts["received_mean"] = seen.received_mean
    if "top_weights" in seen.facts:
        facts["top"] = seen.top().weights[..., : seen.keys]
    if seen._profile is not None:
        names = ("first", "itself", "previous", "next")
        facts |= {name: getattr(seen.profile, name) for name in names}
        facts["shares"] = seen.profile.weight
    if seen.queries > 1 and seen.keys > 2:
        facts["tile"] = seen.tile(slice(1, 9), slice(2, 20))
        facts["row"] = seen.row(seen.queries - 1)[..., None, :]
    return facts


def score_size(query: Array, key: Array, expected: DenseFacts, **arguments: Any) -> float:
    """How large the numbers are that cancel in a score, and the scores that have any weight."""
    norms = [np.linalg.norm(np.asarray(a, float), axis=-1).max(initial=0) for a in (query, key)]
    scale = arguments.get("scale") or 1 / np.sqrt(max(1, query.shape[-1]))
    size = scale * norms[0] * norms[1]
    weighty = np.abs(
        expected.scores, where=expected.weights > 0, out=np.zeros_like(expected.scores)
    )
    # The slope of softcap * tanh(score / softcap) is at most 1: a cap makes no error larger.
    return float(size + weighty.max(initial=0))
