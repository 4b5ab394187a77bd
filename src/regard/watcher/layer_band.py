"""The band of visible keys of a watched layer, and what even attention would give to each key."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from regard.engine.visibility import Visibility
from regard.heads.measures import UniformBaseline, uniform_in_band
from regard.typing import Array
from regard.watcher.layer import LayerObservation

Band = tuple[int, int | None, int | None]  # offset, left, right


def band_of(layer: LayerObservation) -> Visibility | None:
    """The band that gives the layer's uniform baseline; None where no band does.

    A watched layer records baselines, not its mask. A band (all keys, causal, a window) is taken
    where its entropy and its shares by distance are the recorded ones; a mask has none.
    """
    measures = layer.measures
    if measures is None or layer._profile is None:
        return None
    for offset, left, right in dict.fromkeys(_candidates(layer)):
        uniform = uniform_in_band(layer.queries, layer.keys, offset, left, right)
        if _is_uniform(layer, uniform):
            return Visibility((), layer.queries, layer.keys, offset, left, right)
    return None


def _candidates(layer: LayerObservation) -> Iterator[Band]:
    back, weight_hn = layer.profile.back, np.asarray(layer.profile.weight)
    seen = back[(weight_hn.reshape(-1, len(back)) > 0).any(axis=0)]
    left, right = (int(seen.max()), int(-seen.min())) if seen.size else (0, 0)
    for offset in (0, layer.keys - layer.queries):
        yield offset, None, 0
        yield offset, None, None
        yield offset, max(left, 0), 0
        yield offset, max(left, 0), max(right, 0)


def _is_uniform(layer: LayerObservation, uniform: UniformBaseline) -> bool:
    """Whether the recorded sums are these, up to the rounding of as many additions."""
    assert layer.measures is not None  # the caller looked
    entropy, distance = layer.measures.entropy, layer.measures.distance
    allowed = 1e-9 * max(1, layer.queries) * np.log(layer.keys + 1.0)
    pairs = ((uniform.entropy_h, entropy.uniform_h), (uniform.distance_hb, distance.uniform_h))
    return all(bool(np.abs(np.asarray(a)[:1] - b).max() <= allowed) for a, b in pairs)


def even_shares(band: Visibility) -> NDArray[np.float64]:
    """Share of all attention that each key gets where every query weights its keys evenly, (k,).

    >>> even_shares(Visibility((), queries=2, keys=2, right=0))
    array([0.75, 0.25])
    """
    low_q, high_q, even_q = even_rows(band)
    steps_k = np.zeros(band.keys + 1)
    live_q = even_q > 0
    np.add.at(steps_k, low_q[live_q], even_q[live_q])
    np.add.at(steps_k, high_q[live_q], -even_q[live_q])
    received_k = np.maximum(np.cumsum(steps_k)[:-1], 0)
    return np.asarray(received_k / max(received_k.sum(), np.finfo(float).tiny))


def even_rows(band: Visibility) -> tuple[Array, Array, Array]:
    """The first key of each query, the one after its last, and the even weight of each key."""
    low_hq, high_hq = band.key_ranges()
    choices_q = np.maximum(high_hq[0] - low_hq[0], 0)
    even_q = np.where(choices_q > 0, 1 / np.maximum(choices_q, 1), 0.0)
    return low_hq[0], high_hq[0], even_q
