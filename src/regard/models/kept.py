"""Query and key of several calls, put together as if they had been one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.self_attention.tiles.arguments import pose
from regard.self_attention.tiles.problem import Array, Problem


class Kept(NamedTuple):
    """One call's query and key, and where its first of each stands in the sentence."""

    problem: Problem
    row_start: int
    column_start: int


def joined_problem(kept: Sequence[Kept], keys: int) -> Problem:
    """All queries of all calls, over all keys."""
    first = kept[0].problem
    query_hqd = np.concatenate([part.problem.query_hqd for part in kept], axis=1)
    key_gkd = np.zeros((first.key_gkd.shape[0], keys, first.key_gkd.shape[2]), first.dtype)
    for part, _, start in kept:
        key_gkd[:, start : start + part.sight.keys] = part.key_gkd
    given: dict[str, Any] = {x: first.arguments[x] for x in ("window", "softcap", "causal")}
    given["offset"] = kept[0].row_start if first.arguments["offset"] is not None else None
    if any(part.problem.sight.mask is not None for part in kept):
        given["mask"] = _joined_mask(kept, keys)
    return pose(query_hqd, key_gkd, key_gkd[..., :0], scale=first.scale, **given)


def _joined_mask(kept: Sequence[Kept], keys: int) -> Array:
    """What each call added to its scores, side by side; nothing is seen outside its own keys."""
    heads = kept[0].problem.heads
    rows = sum(part.problem.sight.queries for part in kept)
    mask_hqk = np.full((heads, rows, keys), -np.inf, kept[0].problem.dtype)
    row = 0
    for part, _, start in kept:
        sight = part.sight
        every = slice(0, heads), slice(0, sight.queries), slice(0, sight.keys)
        tile_hqk = sight.bias(*every)
        if tile_hqk is None:
            tile_hqk = np.zeros((1, sight.queries, sight.keys), mask_hqk.dtype)
        visible = sight.visible(*every)
        if visible is not None:
            tile_hqk = np.where(visible, tile_hqk, -np.inf)
        mask_hqk[:, row : row + sight.queries, start : start + sight.keys] = tile_hqk
        row += sight.queries
    return mask_hqk
