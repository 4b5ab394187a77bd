"""Some of an observation's queries, as an observation of their own: what a sample is drawn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.observation import Observation
from regard.self_attention.tiles.problem import Problem
from regard.self_attention.tiles.sight import MaskRule, Sight, ruled

Array = NDArray[Any]
Place = tuple[int, ...] | None


def can_thin(seen: Observation) -> bool:
    """Whether queries can be picked: not where a float is added to each score."""
    masks = [part.sight.mask for part in seen.parts]
    return bool(masks) and all(
        mask is None or callable(mask) or mask.dtype == bool for mask in masks
    )


def thinned(seen: Observation, place: Place, rows: Array) -> Observation:
    """One head with these of its queries alone; the keys are not copied."""
    heads = seen._heads(place)
    logsumexp = seen.logsumexp.reshape(-1, seen.queries)[heads, rows]
    parts = tuple(_thin(part, heads, rows) for part in seen.parts)
    return Observation({"logsumexp": logsumexp}, None, parts, seen.keys, seen.cost)


def _thin(part: Problem, heads: slice, rows: Array) -> Problem:
    shared = slice(heads.start // part.group, heads.start // part.group + 1)
    sight = Sight((1,), len(rows), part.sight.keys, mask=_rule(part.sight, heads, rows))
    return replace(
        part,
        query_hqd=part.query_hqd[heads, rows],
        key_gkd=part.key_gkd[shared],
        value_gkv=part.value_gkv[shared],
        leading=(1,),
        sight=sight,
    )


def _rule(sight: Sight, heads: slice, rows: Array) -> MaskRule:
    """Where the picked queries may look, by the positions that they had."""

    def rule(queries_q1: Array, keys_1k: Array) -> Array:
        at_q1 = rows[queries_q1] + sight.offset
        may = np.ones(np.broadcast_shapes(at_q1.shape, keys_1k.shape), bool)
        if sight.left is not None:
            may &= at_q1 - sight.left <= keys_1k
        if sight.right is not None:
            may &= keys_1k <= at_q1 + sight.right
        if sight.lengths_h is not None:
            may &= keys_1k < int(sight.lengths_h[heads.start])
        return may if sight.mask is None else may & _masked(sight, heads, rows, queries_q1, keys_1k)

    return rule


def _masked(sight: Sight, heads: slice, rows: Array, queries_q1: Array, keys_1k: Array) -> Array:
    columns = slice(int(keys_1k.min()), int(keys_1k.max()) + 1)
    found = []
    for row in rows[queries_q1[:, 0]].tolist():
        if callable(sight.mask):
            found.append(ruled(sight.mask, slice(row, row + 1), columns)[0])
        else:
            found.append(sight._mask_tile(heads, slice(row, row + 1), columns)[0, 0])
    return np.stack(found)
