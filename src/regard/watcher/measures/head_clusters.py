"""Clusters of heads by the distance between their rows of weights, the sink left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay
from regard.errors import ArgumentError
from regard.heads.divergence import hellinger_squared
from regard.typing import Array
from regard.watcher.layer import LayerObservation

if TYPE_CHECKING:
    from regard.watcher.seen import Seen

MAX_COMPARED_TOKENS = 128  # first tokens whose rows are compared
DEFINITION = (
    "Distance: squared Hellinger distance of two heads' rows, the mean over rows, the first token "
    "left out and each row scaled to 1: 0 the same, 1 no token in common."
)


class HeadNumbers(NamedTuple):
    """Part, layer and head, from 0."""

    part: str
    layer: int
    head: int


@dataclass(frozen=True)
class HeadCluster:
    """Heads with like rows; ``spread`` is the mean distance of two of them, 0 of one head.

    ``even`` is their mean distance from even attention over the visible keys; ``middle`` the head
    that is nearest to all others.
    """

    heads: tuple[HeadNumbers, ...]
    middle: HeadNumbers
    spread: float
    even: float


@dataclass(frozen=True, repr=False)
class HeadClusters(TextDisplay):
    """Clusters, the largest first; ``usual`` is the mean distance of any two heads.

    ``distance_hh`` has the distances in the order of ``heads``.
    """

    clusters: tuple[HeadCluster, ...]
    heads: tuple[HeadNumbers, ...]
    distance_hh: NDArray[np.float64] = field(repr=False)
    usual: float
    within: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "definition": DEFINITION,
            "within": self.within,
            "usual": self.usual,
            "clusters": [
                {
                    "heads": [x._asdict() for x in one.heads],
                    "middle": one.middle._asdict(),
                    "spread": one.spread,
                    "even": one.even,
                }
                for one in self.clusters
            ],
            "counting": "layers and heads count from 0",
        }


def clusters(seen: Seen, within: float = 0.1, *, part: str | None = None) -> HeadClusters:
    """Heads grouped by their rows of weights, the first token left out.

    Average linkage: the two nearest clusters are joined while their mean distance allows it.

    Parameters
    ----------
    within : the mean distance up to which clusters are joined, from 0 (the same rows) to 1.
    part : the part of the model, where it has several.
    """
    layers = seen._part_layers(seen._one_part(part, "clusters"))
    if not isinstance(within, float | int) or not 0 <= within <= 1:
        raise ArgumentError(f"within must be a distance from 0 to 1, got {within!r}.")
    sizes = {(layer.queries, layer.keys) for _, layer in layers}
    if len(sizes) > 1:
        raise ArgumentError(
            "clusters need layers that see the same tokens: choose one part, as in "
            f"seen.clusters(part={layers[0][0].part!r})."
        )
    heads = tuple(
        HeadNumbers(*key, head) for key, layer in layers for head in range(layer.head_shape[-1])
    )
    weights_hqk = np.concatenate([_rows(layer) for _, layer in layers])
    visible_qk = (weights_hqk > 0).any(axis=0).astype(np.float64)
    even_1qk = (visible_qk / np.maximum(visible_qk.sum(axis=1, keepdims=True), 1))[None]
    every_hh = hellinger_squared(np.concatenate([weights_hqk, even_1qk]))
    distance_hh, even_h = every_hh[:-1, :-1], every_hh[-1, :-1]
    members = linked(distance_hh, within)
    made = [_cluster(heads, distance_hh, even_h, some) for some in members]
    made.sort(key=lambda one: (-len(one.heads), one.heads))
    pairs = distance_hh[np.triu_indices(len(heads), 1)]
    usual = float(pairs.mean()) if pairs.size else 0.0
    return HeadClusters(tuple(made), heads, distance_hh, usual, float(within))


def linked(distance_hh: Array, within: float) -> list[list[int]]:
    """Groups of average linkage, in the order of their first members.

    >>> linked(np.array([[0.0, 0.1, 0.9], [0.1, 0.0, 0.7], [0.9, 0.7, 0.0]]), 0.2)
    [[0, 1], [2]]
    """
    members = {i: [i] for i in range(len(distance_hh))}
    mean_hh = distance_hh.astype(np.float64)
    np.fill_diagonal(mean_hh, np.inf)
    while len(members) > 1:
        a, b = sorted(divmod(int(mean_hh.argmin()), len(mean_hh)))
        if not mean_hh[a, b] <= within:
            break
        sizes = len(members[a]), len(members[b])
        joined_h = (mean_hh[a] * sizes[0] + mean_hh[b] * sizes[1]) / sum(sizes)
        members[a] = sorted(members[a] + members.pop(b))
        mean_hh[a], mean_hh[:, a] = joined_h, joined_h
        mean_hh[b], mean_hh[:, b], mean_hh[a, a] = np.inf, np.inf, np.inf
    return sorted(members.values())


def _rows(layer: LayerObservation) -> Array:
    """weights_hqk among the first tokens without the first key, each row scaled to 1."""
    layer.check_weights("clusters")
    few = (
        slice(0, min(MAX_COMPARED_TOKENS, layer.queries)),
        slice(0, min(MAX_COMPARED_TOKENS, layer.keys)),
    )
    weights_hqk = np.array(layer.tile(*few), np.float64)
    weights_hqk[..., 0] = 0
    sums_hq1 = weights_hqk.sum(axis=-1, keepdims=True)
    return np.asarray(weights_hqk / np.where(sums_hq1 > 0, sums_hq1, 1))


def _cluster(
    heads: tuple[HeadNumbers, ...], distance_hh: Array, even_h: Array, some: list[int]
) -> HeadCluster:
    inside_hh = distance_hh[np.ix_(some, some)]
    pairs = len(some) * (len(some) - 1)
    middle = some[int(inside_hh.sum(axis=1).argmin())]
    spread = float(inside_hh.sum() / pairs) if pairs else 0.0
    return HeadCluster(
        tuple(heads[i] for i in some), heads[middle], spread, float(even_h[some].mean())
    )
