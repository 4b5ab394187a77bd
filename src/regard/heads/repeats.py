"""Repeated tokens: weight on the same token elsewhere (duplicate), and on what follows it there.

Two entry points with one definition: from query and key, token by token, for texts of any length,
and from the weights themselves for short texts, many at once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.blas import one_blas_thread
from regard.engine.call import Problem, ProblemLike
from regard.engine.pairs import Block, Listed, chunks, listed_weights, weights_at
from regard.engine.tensors import as_array, is_tensor, move_like, sum_float64
from regard.engine.threads import run_in_order
from regard.engine.tiles.rows import Scratch
from regard.engine.visibility import Visibility
from regard.typing import Array

SHIFTS = {"duplicate": 0, "induction": 1}  # from the same token to the key that counts
Sums = tuple[Array, Array, Array]  # weight, uniform baseline, queries: as in Measure
Occurrences = tuple[NDArray[np.intp], NDArray[np.intp]]  # queries (m, a), keys (m, b) of m tokens


class RepeatPairs(NamedTuple):
    """Query and key of every repeat in short texts of one length, in the order of the texts."""

    text_p: NDArray[np.intp]
    query_p: NDArray[np.intp]
    key_p: NDArray[np.intp]


def repeat_pairs(
    tokens_bk: NDArray[np.int64], queries: int, offset: int = 0
) -> dict[str, RepeatPairs]:
    """Pairs for each of SHIFTS, visible or not; query q stands at position q + offset.

    A query's own position does not count, nor what follows it.

    >>> {name: (x.query_p, x.key_p) for name, x in repeat_pairs(np.array([[7, 8, 7]]), 3).items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'duplicate': (array([0, 2]), array([2, 0])),
     'induction': (array([2]), array([1]))}
    """
    keys = tokens_bk.shape[1]
    at_q1, at_k = np.arange(queries)[:, None] + offset, np.arange(keys)
    inside_q1 = (at_q1 >= 0) & (at_q1 < keys)
    own_bq1 = tokens_bk[:, np.clip(at_q1, 0, keys - 1)] if keys else tokens_bk[:, :0, None]
    same_bqk = (own_bq1 == tokens_bk[:, None, :]) & inside_q1 & (at_k != at_q1)
    pairs = {}
    for name, shift in SHIFTS.items():
        text_p, query_p, key_p = np.nonzero(same_bqk[..., : keys - shift])
        counts_p = key_p + shift != query_p + offset
        pairs[name] = RepeatPairs(text_p[counts_p], query_p[counts_p], key_p[counts_p] + shift)
    return pairs


def pair_sums(
    weights_bhqk: Array, pairs: RepeatPairs, visible_qk: NDArray[np.bool_] | None
) -> Sums:
    """Weight (b, h), uniform baseline and queries (b, 1) of the pairs, from every weight.

    A text's sums do not depend on the other texts of the batch, to the bit. Weights of pairs that
    are not visible are 0.
    """
    texts, heads, queries, keys = weights_bhqk.shape
    sums_bh = np.zeros((texts, heads))
    if pairs.text_p.size:
        weights_ph = weights_bhqk[pairs.text_p, :, pairs.query_p, pairs.key_p].astype(np.float64)
        starts = np.flatnonzero(np.diff(pairs.text_p, prepend=-1))
        sums_bh[pairs.text_p[starts]] = np.add.reduceat(weights_ph, starts, axis=0)
    if visible_qk is None:
        visible_qk = np.ones((queries, keys), bool)
    visible_p = visible_qk[pairs.query_p, pairs.key_p]
    row_p = (pairs.text_p * queries + pairs.query_p)[visible_p]
    number_bq = np.bincount(row_p, minlength=texts * queries).reshape(texts, queries)
    choices_q = np.maximum(visible_qk.sum(axis=1), 1)
    uniform_b1 = (number_bq / choices_q).sum(axis=1, keepdims=True)
    return sums_bh, uniform_b1, (number_bq > 0).sum(axis=1, keepdims=True)


def repeat_sums_from_weights(
    weights_hqk: Array, problem: ProblemLike, tokens_k: NDArray[np.int64]
) -> dict[str, Sums]:
    """As ``repeat_sums`` where every weight is at hand and there is no mask."""
    visibility, heads = problem.visibility, problem.heads
    pairs = _pairs_of_text(tokens_k.tobytes(), replace(visibility, leading=()))
    weights_hn = weights_hqk.reshape(heads, -1)
    sums = {}
    for name, (cells_p, uniform, queries) in pairs.items():
        weight_h = np.take(weights_hn, cells_p, axis=1).sum(axis=1, dtype=np.float64)
        sums[name] = weight_h, np.full(heads, uniform), np.full(heads, queries)
    return sums


@lru_cache(maxsize=16)
def _pairs_of_text(
    tokens: bytes, visibility: Visibility
) -> dict[str, tuple[NDArray[np.intp], float, float]]:
    """Visible pairs as q * keys + k, uniform baseline and queries: the same for all layers."""
    queries, keys = visibility.queries, visibility.keys
    visible_qk = visibility.visible(slice(0, 1), slice(0, queries), slice(0, keys))
    visible_qk = None if visible_qk is None else np.asarray(visible_qk).reshape(queries, keys)
    nothing = np.zeros((1, 0, queries, keys))
    counted = {}
    pairs = repeat_pairs(np.frombuffer(tokens, np.int64)[None], queries, visibility.offset)
    for name, (_, query_p, key_p) in pairs.items():
        _, uniform_b1, queries_b1 = pair_sums(nothing, pairs[name], visible_qk)
        cells_p = query_p * keys + key_p
        if visible_qk is not None:
            cells_p = cells_p[visible_qk[query_p, key_p]]
        counted[name] = cells_p, float(uniform_b1[0, 0]), float(queries_b1[0, 0])
    return counted


def repeat_sums(
    problem: ProblemLike,
    logsumexp_hq: Array,
    tokens_k: NDArray[np.int64] | None,
    choices_hq: NDArray[np.int64],
) -> dict[str, Sums]:
    """Sums over the queries that see such a key: weight, uniform baseline, queries, (h,) each.

    ``choices_hq`` is the number of keys that each query sees. Tokens that occur equally often are
    computed together, so there are few calls.
    """
    sums_hn3 = None if tokens_k is None else problem.device_repeats(tokens_k)
    if sums_hn3 is not None:
        by_name = [(a, b, c) for a, b, c in np.moveaxis(as_array(sums_hn3), 0, -1)]
        return dict(zip(SHIFTS, by_name, strict=True))
    visibility = problem.visibility
    if tokens_k is not None and visibility.is_band and problem.device_weights is None:
        repeated = _repeated_tokens(tokens_k.tobytes(), replace(visibility, leading=()))
        if repeated is not None:
            return _sums_in_band(problem.on_host(), logsumexp_hq, repeated)
    totals = {name: np.zeros((3, problem.heads)) for name in SHIFTS}
    units = (
        []
        if tokens_k is None
        else _occurrences(tokens_k.tobytes(), visibility.queries, visibility.offset)
    )

    def work(unit: Occurrences, scratch: Scratch) -> dict[str, Array]:
        rows_ma, keys_mb = unit
        columns_mb = np.concatenate([keys_mb + shift for shift in SHIFTS.values()], axis=1)
        block = Block(rows_ma, np.where(columns_mb < visibility.keys, columns_mb, -1))
        sums = {name: np.zeros((3, problem.heads)) for name in SHIFTS}
        for listed in listed_weights(problem, logsumexp_hq, block):
            for part, (name, shift) in zip(listed.split(len(SHIFTS)), SHIFTS.items(), strict=True):
                others_mab = _others(part.block, visibility.offset, shift)
                sums[name] += _listed_sums(part, others_mab, choices_hq)
        return sums

    def commit(unit: Occurrences, sums: dict[str, Array]) -> None:
        for name in SHIFTS:
            totals[name] += sums[name]

    run_in_order(units, work, commit)
    return {name: (a, b, c) for name, (a, b, c) in totals.items()}


PAIRS_PER_UNIT = 2**16  # pairs of one unit of work, in each head
MAX_CACHED_PAIRS = 2**23  # largest number of pairs whose visibility is cached for the other layers


class RepeatedTokens(NamedTuple):
    """Queries and keys of repeated tokens, and 1 where a pair is visible and counts, (n, m, a, b).

    n are the SHIFTS; ``uniform_n`` and ``queries_n`` are the sums that no weight changes.
    """

    blocks: list[tuple[Block, Array]]
    uniform_n: Array
    queries_n: Array


@lru_cache(maxsize=4)
def _repeated_tokens(tokens: bytes, visibility: Visibility) -> RepeatedTokens | None:
    """Repeats of a text, shared by all layers of a model; None for too many pairs."""
    units = _occurrences(tokens, visibility.queries, visibility.offset)
    if sum(rows_ma.size * keys_mb.shape[1] for rows_ma, keys_mb in units) > MAX_CACHED_PAIRS:
        return None
    low_1q, high_1q = visibility.key_ranges()
    choices_q = np.maximum(high_1q - low_1q, 1)[0]
    blocks, sums_2n = [], np.zeros((2, len(SHIFTS)))
    for rows_ma, keys_mb in (
        part for unit in units for part in chunks(Block(*unit), 1, PAIRS_PER_UNIT)
    ):
        columns_mb = np.concatenate([keys_mb + shift for shift in SHIFTS.values()], axis=1)
        block = Block(rows_ma, np.where(columns_mb < visibility.keys, columns_mb, -1))
        counts = []
        for n, shift in enumerate(SHIFTS.values()):
            part = Block(rows_ma, np.split(block.columns_mb, len(SHIFTS), axis=1)[n])
            visible_1mab = visibility.visible_at(slice(0, 1), *part)
            counts_mab = visible_1mab[0] & _others(part, visibility.offset, shift)
            number_ma = counts_mab.sum(axis=-1)
            sums_2n[:, n] += (number_ma / choices_q[rows_ma]).sum(), (number_ma > 0).sum()
            counts.append(counts_mab)
        blocks.append((block, np.stack(counts).astype(np.float32)))
    return RepeatedTokens(blocks, *sums_2n)


def _sums_in_band(
    problem: Problem, logsumexp_hq: Array, repeated: RepeatedTokens
) -> dict[str, Sums]:
    """As ``repeat_sums`` where a band alone decides what is visible."""
    weight_nh = np.zeros((len(SHIFTS), problem.heads))

    def work(unit: tuple[Block, Array], scratch: Scratch) -> Array:
        block, counts_nmab = unit
        with one_blas_thread():
            weights_hmab = weights_at(problem, logsumexp_hq, block, None)
        # A hidden key's score may be so far above the others that it has no finite weight.
        parts = np.split(np.minimum(weights_hmab, 2, out=weights_hmab), len(SHIFTS), axis=-1)
        counted = zip(parts, counts_nmab.astype(problem.dtype, copy=False), strict=True)
        return np.stack([sum_float64(np.vecdot(x, y), (1, 2)) for x, y in counted])

    def commit(unit: tuple[Block, Array], sums_nh: Array) -> None:
        np.add(weight_nh, sums_nh, out=weight_nh)

    run_in_order(repeated.blocks, work, commit)
    every = np.ones(problem.heads)
    uniform_nh, queries_nh = (x[:, None] * every for x in (repeated.uniform_n, repeated.queries_n))
    return dict(zip(SHIFTS, zip(weight_nh, uniform_nh, queries_nh, strict=True), strict=True))


@lru_cache(maxsize=16)
def _occurrences(tokens: bytes, queries: int, offset: int) -> list[Occurrences]:
    """Queries and keys of each token that occurs more than once, stacked by how often it does."""
    tokens_k = np.frombuffer(tokens, np.int64)
    order_k = np.argsort(tokens_k, kind="stable")
    starts = np.flatnonzero(np.diff(tokens_k[order_k], prepend=tokens_k.min(initial=0) - 1))
    stacks: dict[tuple[int, int], list[Occurrences]] = {}
    for keys_b in np.split(order_k, starts[1:]):
        rows_a = keys_b - offset
        rows_a = rows_a[(rows_a >= 0) & (rows_a < queries)]
        if len(keys_b) > 1 and len(rows_a):
            stacks.setdefault((len(rows_a), len(keys_b)), []).append((rows_a, keys_b))
    return [
        (np.stack([rows_a for rows_a, _ in stack]), np.stack([keys_b for _, keys_b in stack]))
        for stack in stacks.values()
    ]


def _others(block: Block, offset: int, shift: int) -> NDArray[np.bool_]:
    """All but a query's own position, what follows it, and what would follow the last token."""
    own_ma1 = block.rows_ma[..., None] + offset
    columns_m1b = block.columns_mb[:, None, :]
    other_mab = (columns_m1b != own_ma1) & (columns_m1b - shift != own_ma1)
    return np.asarray(other_mab & (columns_m1b >= 0))


def _listed_sums(
    listed: Listed, other_mab: NDArray[np.bool_], choices_hq: NDArray[np.int64]
) -> Array:
    """Weight, uniform baseline and queries, each a sum for each head, (3, h)."""
    visible_hmab, heads = listed.visible_hmab, len(choices_hq)
    if visible_hmab.strides[0] == 0:  # the same for all heads
        visible_hmab, choices_hq = visible_hmab[:1], choices_hq[:1]
    number_hma = (visible_hmab & other_mab).sum(axis=-1)
    choices_hma = np.maximum(choices_hq[:, listed.block.rows_ma], 1)
    uniform_h = (number_hma / choices_hma).sum(axis=(1, 2))
    seeing_h = (number_hma > 0).sum(axis=(1, 2))
    weights_h = _summed_where(listed.weights_hmab, other_mab)
    return np.stack([weights_h, *(np.broadcast_to(x, heads) for x in (uniform_h, seeing_h))])


def _summed_where(weights_hmab: Any, other_mab: NDArray[np.bool_]) -> Array:
    if is_tensor(weights_hmab):
        return sum_float64(weights_hmab * move_like(other_mab, weights_hmab), (1, 2, 3))
    return sum_float64(np.vecdot(weights_hmab, other_mab.astype(weights_hmab.dtype)), (1, 2))
