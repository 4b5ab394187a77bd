"""How much weight goes to the same token elsewhere, and to what followed it there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.engine.interfaces import ProblemLike
from regard.engine.pairs import Block, Listed, listed_weights
from regard.engine.tensors import as_array, is_tensor, move_like, sum_float64
from regard.engine.tiles.rows import Scratch
from regard.engine.tiles.threads import run_in_order
from regard.heads.baseline import Even
from regard.typing import Array

AFTER = {"duplicate": 0, "induction": 1}  # how far behind the same token one looks
Sums = tuple[Array, Array, Array]
Places = tuple[NDArray[np.intp], NDArray[np.intp]]  # queries (m, a) and keys (m, b) of a token each


class Pairs(NamedTuple):
    """Queries and keys of every such pair in a short text; the sums that need no weights."""

    rows_p: NDArray[np.intp]
    columns_p: NDArray[np.intp]
    even: float
    queries: int


def repeats_in(
    weights_hqk: Array, problem: ProblemLike, tokens_k: NDArray[np.int64]
) -> dict[str, Sums]:
    """As ``repeats`` where every weight is at hand and there is no mask."""
    visibility, heads = problem.visibility, problem.heads
    band = (
        visibility.queries,
        visibility.keys,
        visibility.offset,
        visibility.left,
        visibility.right,
    )
    found = {}
    for name, after in AFTER.items():
        pairs = _pairs(tokens_k.tobytes(), after, *band)
        sums_h = weights_hqk[:, pairs.rows_p, pairs.columns_p].sum(axis=1, dtype=np.float64)
        found[name] = sums_h, np.full(heads, pairs.even), np.full(heads, float(pairs.queries))
    return found


@lru_cache(maxsize=16)
def _pairs(
    tokens: bytes, after: int, queries: int, keys: int, offset: int, left: int | None,
    right: int | None,
) -> Pairs:  # fmt: skip
    """The same for all layers of a model, so made once."""
    tokens_k = np.frombuffer(tokens, np.int64)
    at_q1, at_k = np.arange(queries)[:, None] + offset, np.arange(keys)
    inside = (at_q1 >= 0) & (at_q1 < keys)
    own_q1 = tokens_k[np.clip(at_q1, 0, keys - 1)]
    same_qk = np.zeros((queries, keys), bool)
    same_qk[:, after:] = (own_q1 == tokens_k[: keys - after]) & inside
    visible_qk = np.ones((queries, keys), bool)
    if left is not None:
        visible_qk &= at_k >= at_q1 - left
    if right is not None:
        visible_qk &= at_k <= at_q1 + right
    listed_qk = same_qk & visible_qk & (at_k != at_q1) & (at_k - after != at_q1)
    number_q, choices_q = listed_qk.sum(axis=1), np.maximum(visible_qk.sum(axis=1), 1)
    rows_p, columns_p = np.nonzero(listed_qk)
    return Pairs(rows_p, columns_p, float((number_q / choices_q).sum()), int((number_q > 0).sum()))


def repeats(
    problem: ProblemLike, logsumexp_hq: Array, tokens_k: NDArray[np.int64] | None, even: Even
) -> dict[str, Sums]:
    """Sums over the queries that see such a key: weight, what even attention gives, queries.

    Tokens with equally many places are computed together, so there are few calls.
    """
    sums_hn3 = None if tokens_k is None else problem.device_repeats(tokens_k)
    if sums_hn3 is not None:
        return dict(zip(AFTER, _by_name(as_array(sums_hn3)), strict=True))
    sums = {name: np.zeros((3, problem.heads)) for name in AFTER}
    visibility = problem.visibility
    classes = (
        []
        if tokens_k is None
        else _classes(tokens_k.tobytes(), visibility.queries, visibility.offset)
    )

    def work(unit: Places, scratch: Scratch) -> dict[str, Array]:
        rows_ma, places_mb = unit
        columns_mb = np.concatenate([places_mb + after for after in AFTER.values()], axis=1)
        block = Block(rows_ma, np.where(columns_mb < visibility.keys, columns_mb, -1))
        found = {name: np.zeros((3, problem.heads)) for name in AFTER}
        for listed in listed_weights(problem, logsumexp_hq, block):
            for part, (name, after) in zip(listed.split(len(AFTER)), AFTER.items(), strict=True):
                found[name] += _counted(
                    part, _others(part, visibility.offset, after), even.choices_hq
                )
        return found

    def commit(unit: Places, found: dict[str, Array]) -> None:
        for name in AFTER:
            sums[name] += found[name]

    run_in_order(classes, work, commit)
    return {name: (a, b, c) for name, (a, b, c) in sums.items()}


def _by_name(sums_hn3: Array) -> list[Sums]:
    return [(a, b, c) for a, b, c in np.moveaxis(sums_hn3, 0, -1)]


@lru_cache(maxsize=16)
def _classes(tokens: bytes, queries: int, offset: int) -> list[Places]:
    """Queries and places of each token that stands more than once, stacked by their numbers."""
    tokens_k = np.frombuffer(tokens, np.int64)
    order_k = np.argsort(tokens_k, kind="stable")
    starts = np.flatnonzero(np.diff(tokens_k[order_k], prepend=tokens_k.min(initial=0) - 1))
    stacks: dict[tuple[int, int], list[Places]] = {}
    for places_b in np.split(order_k, starts[1:]):
        rows_a = places_b - offset
        rows_a = rows_a[(rows_a >= 0) & (rows_a < queries)]
        if len(places_b) > 1 and len(rows_a):
            stacks.setdefault((len(rows_a), len(places_b)), []).append((rows_a, places_b))
    return [
        (np.stack([rows for rows, _ in pairs]), np.stack([places for _, places in pairs]))
        for pairs in stacks.values()
    ]


def _others(listed: Listed, offset: int, after: int) -> NDArray[np.bool_]:
    """A query's own place does not count, nor what follows it, nor what would follow the last."""
    own_ma1 = listed.block.rows_ma[..., None] + offset
    columns_m1b = listed.block.columns_mb[:, None, :]
    other_mab = (columns_m1b != own_ma1) & (columns_m1b - after != own_ma1)
    return np.asarray(other_mab & (columns_m1b >= 0))


def _counted(listed: Listed, other_mab: NDArray[np.bool_], choices_hq: NDArray[np.int64]) -> Array:
    """Weight, what even attention gives, and queries, each a sum for each head, (3, h)."""
    visible_hmab, heads = listed.visible_hmab, len(choices_hq)
    if visible_hmab.strides[0] == 0:  # all heads see alike
        visible_hmab, choices_hq = visible_hmab[:1], choices_hq[:1]
    number_hma = (visible_hmab & other_mab).sum(axis=-1)
    choices_hma = np.maximum(choices_hq[:, listed.block.rows_ma], 1)
    even_h = (number_hma / choices_hma).sum(axis=(1, 2))
    seeing_h = (number_hma > 0).sum(axis=(1, 2))
    weights_h = _summed_where(listed.weights_hmab, other_mab)
    return np.stack([weights_h, *(np.broadcast_to(x, heads) for x in (even_h, seeing_h))])


def _summed_where(weights_hmab: Any, other_mab: NDArray[np.bool_]) -> Array:
    if is_tensor(weights_hmab):
        return sum_float64(weights_hmab * move_like(other_mab, weights_hmab), (1, 2, 3))
    return sum_float64(np.vecdot(weights_hmab, other_mab.astype(weights_hmab.dtype)), (1, 2))
