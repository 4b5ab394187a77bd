"""What ``watch`` saw of one long window, put into its place among the facts."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.survey.windows import (
    COMPARED,
    NAMES,
    PLACES,
    Array,
    Facts,
    cosines,
    most_received,
    place_bands,
)


def put_seen(facts: Facts, number: int, seen: Any, bands: slice) -> None:
    """All layers of a Seen whose query and key were kept."""
    start, compared = 0, []
    for place in seen.names:
        layer = seen[place]
        heads = slice(start, start + layer.leading[-1])
        _put_measures(facts, number, heads, layer.measures, bands)
        _put_received(facts, number, heads, layer)
        few = slice(0, min(COMPARED, layer.keys))
        compared.append(layer.tile(few, few).reshape(layer.leading[-1], -1))
        start = heads.stop
    facts.places_p[...] += np.bincount(place_bands(layer.keys), minlength=PLACES)
    facts.alike_hh[...] += cosines(np.concatenate(compared).astype(np.float32)[None])


def _put_measures(facts: Facts, number: int, heads: slice, measures: Any, bands: slice) -> None:
    for row, name in enumerate(NAMES):
        measure = getattr(measures, name)
        facts.sums_mwh[row, number, heads] = measure.sum_h
        facts.even_mwh[row, number, heads] = measure.even_h
        facts.queries_mwh[row, number, heads] = measure.queries_h
    facts.distance_whb[number, heads] = measures.distance.sum_h[:, bands]


def _put_received(facts: Facts, number: int, heads: slice, layer: Any) -> None:
    received_hk = np.asarray(layer.received, np.float64)
    keys, most = most_received(received_hk)
    facts.most_keys_whn[number, heads, : keys.shape[-1]] = keys
    facts.most_whn[number, heads, : most.shape[-1]] = most
    facts.by_place_2hp[0, heads] += _banded(np.asarray(layer.entropy, np.float64))
    facts.by_place_2hp[1, heads] += _banded(received_hk)


def _banded(values_ht: Array) -> Array:
    return np.array([np.bincount(place_bands(len(x)), x, minlength=PLACES) for x in values_ht])
