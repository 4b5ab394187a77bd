"""Exact weights at listed queries and keys, computed chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.blas import one_blas_thread
from regard.engine.call import LOG2_E, Problem, ProblemLike
from regard.engine.tensors import move_like, sum_float64
from regard.typing import Array

MAX_ROUNDINGS = 8  # of a score that two kernels computed
CHUNK_WEIGHTS = 2**21  # weights held at once, 8 MB in float32
DEVICE_CHUNK_WEIGHTS = 2**26
Positions = NDArray[np.intp]


class Block(NamedTuple):
    """Some lists of queries, each with its list of keys: block m holds rows_ma x columns_mb."""

    rows_ma: Positions
    columns_mb: Positions


class Listed(NamedTuple):
    """The weights of a block, and where one may look at all, both (h, m, a, b).

    On a device the weights are a tensor there.
    """

    block: Block
    weights_hmab: Any
    visible_hmab: NDArray[np.bool_]

    def split(self, parts: int) -> Iterator[Listed]:
        """Equal parts of the keys of each list, which may mean different things."""
        rows_ma, columns_mb = self.block
        width = columns_mb.shape[1] // parts
        for part in (slice(i * width, (i + 1) * width) for i in range(parts)):
            block = Block(rows_ma, columns_mb[:, part])
            yield Listed(block, self.weights_hmab[..., part], self.visible_hmab[..., part])


def listed_weights(problem: ProblemLike, logsumexp_hq: Array, block: Block) -> Iterator[Listed]:
    """The weights of each listed query on each of its listed keys, chunk by chunk.

    The cost is m * a * b * d, whatever n is. Equals ``tile`` where rows and columns are ranges.
    """
    device_weights = problem.device_weights
    for chunk in chunks(
        block, problem.heads, DEVICE_CHUNK_WEIGHTS if device_weights else CHUNK_WEIGHTS
    ):
        visible_hmab = problem.visibility.visible_at(slice(0, problem.heads), *chunk)
        shared_hmab = visible_hmab if visible_hmab.strides[0] else visible_hmab[:1]
        if device_weights is None:
            with one_blas_thread():  # many small products: threads would wait for each other
                weights_hmab = weights_at(problem.on_host(), logsumexp_hq, chunk, shared_hmab)
        else:
            weights_hmab = device_weights(logsumexp_hq, chunk)
            if not shared_hmab.all():
                weights_hmab *= move_like(shared_hmab, weights_hmab)
        yield Listed(chunk, weights_hmab, visible_hmab)


def sums_by_span(
    problem: ProblemLike, logsumexp_hq: Array, row_edges: Positions, column_edges: Positions
) -> Array:
    """Weights added over spans of queries and of keys, (h, r, c), a chunk of rows at a time.

    Spans follow each other: span r reaches from ``edges[r]`` to ``edges[r + 1]``; what lies outside
    the first and the last edge is left out.
    """
    spans = len(row_edges) - 1, len(column_edges) - 1
    sums_hrc = np.zeros((problem.heads, *spans))
    columns_1b = np.arange(column_edges[0], column_edges[-1])[None]
    full = np.diff(column_edges) > 0
    starts = (column_edges[:-1] - column_edges[0])[full]
    for r in range(spans[0]):
        rows_1a = np.arange(row_edges[r], row_edges[r + 1])[None]
        if not rows_1a.size or not columns_1b.size:
            continue
        for listed in listed_weights(problem, logsumexp_hq, Block(rows_1a, columns_1b)):
            sums_hk = sum_float64(listed.weights_hmab, (1, 2))
            sums_hrc[:, r, full] += np.add.reduceat(sums_hk, starts, axis=1)
    return sums_hrc


def chunks(block: Block, heads: int, size: int) -> Iterator[Block]:
    """Whole lists while they are small, else some rows of one list at a time."""
    lists, rows = block.rows_ma.shape
    limit = max(1, size // max(1, heads * block.columns_mb.shape[1]))
    many, few = max(1, limit // max(1, rows)), min(max(1, rows), limit)
    for m in range(0, lists, many):
        for a in range(0, rows, few):
            yield Block(block.rows_ma[m : m + many, a : a + few], block.columns_mb[m : m + many])


def weights_at(
    problem: Problem, logsumexp_hq: Array, block: Block, visible_hmab: NDArray[np.bool_] | None
) -> Array:
    """As a tile of ``Observation.tile``, but of gathered queries and keys (h, m, a, b).

    Without ``visible_hmab`` hidden keys have weights too, which may be infinite.
    """
    query_hmad = problem.query_hqd[:, block.rows_ma] * problem.dtype.type(problem.factor)
    key_g1mbd = problem.key_gkd[:, None, block.columns_mb]
    grouped = (len(key_g1mbd), problem.group, *query_hmad.shape[1:])
    t_ghmab = query_hmad.reshape(grouped) @ key_g1mbd.swapaxes(-1, -2)
    t_hmab: Array = t_ghmab.reshape(problem.heads, *t_ghmab.shape[2:])
    every = slice(0, problem.heads)
    visible = None if visible_hmab is None or visible_hmab.all() else visible_hmab
    with np.errstate(all="ignore"):
        problem.cap_and_bias(t_hmab, problem.visibility.bias_at(every, *block))
        if visible is not None and not problem.bounded:
            problem.hide(t_hmab, visible)
        log2_total_hma = problem.log2_total(logsumexp_hq)[:, block.rows_ma]
        problem.weights(t_hmab, visible, log2_total_hma)
    inexact_hma = problem.is_inexact(log2_total_hma)
    if visible_hmab is not None and inexact_hma.any():
        for m, a in np.argwhere(inexact_hma.any(axis=0)):
            row, columns_b = int(block.rows_ma[m, a]), block.columns_mb[m]
            one = slice(row, row + 1)
            row_hk = full_rows((problem,), every, one, logsumexp_hq[:, one])[:, 0]
            chosen_h = inexact_hma[:, m, a]
            t_hmab[chosen_h, m, a] = row_hk[chosen_h][:, columns_b]
    return t_hmab


def chosen_rows(
    parts: Sequence[ProblemLike], heads: slice, rows: slice, logsumexp_hq: Array, chosen_hq: Array
) -> Iterator[tuple[slice, Array]]:
    """``full_rows`` of chunks with a chosen row in them: which rows, and the weights of all."""
    keys = sum(part.visibility.keys for part in parts)
    size = max(1, CHUNK_WEIGHTS // max(1, len(chosen_hq) * keys))
    for first in range(0, chosen_hq.shape[1] if chosen_hq.any() else 0, size):
        some = slice(first, min(first + size, chosen_hq.shape[1]))
        if chosen_hq[:, some].any():
            at = slice(rows.start + some.start, rows.start + some.stop)
            yield some, full_rows(parts, heads, at, logsumexp_hq[:, some])


def full_rows(
    parts: Sequence[ProblemLike], heads: slice, rows: slice, logsumexp_hq: Array
) -> Array:
    """The weights of whole rows (h, q, k), all parts side by side, each divided by its own sum.

    For rows whose log-sum-exp is inexact (see Problem). Where it is not that of these keys, but
    over more of them, it decides all the same.
    """
    scores, highest_hq, size_hq = [], np.array(-np.inf), np.array(0.0)
    for part in parts:
        problem, *where = part.cut(heads, rows, slice(0, part.visibility.keys))
        t_hqk = np.empty([x.stop - x.start for x in where], problem.dtype)
        at_h, at_q, at_k = where
        with one_blas_thread(), np.errstate(all="ignore"):
            query_hqd = problem.scaled_query(at_h, at_q)
            visible = problem.scores(query_hqd, at_h, at_q, at_k, out=t_hqk)
        if visible is not None:
            np.copyto(t_hqk, -np.inf, where=visible == 0)
        scores.append(t_hqk)
        # Terms of a product that cancel are rounded as well: no score is larger than this.
        key_hkd = problem.shared(problem.key_gkd, at_h, at_k)
        longest_h1 = np.linalg.norm(key_hkd, axis=-1).max(axis=-1, initial=0)[:, None]
        size_hq = np.maximum(size_hq, np.linalg.norm(query_hqd, axis=-1) * longest_h1)
        highest_hq = np.maximum(highest_hq, t_hqk.max(axis=-1, initial=-np.inf))
    eps = float(np.finfo(problem.dtype).eps)
    with np.errstate(all="ignore"):
        e_hqk = np.concatenate(scores, axis=-1)
        np.exp2(e_hqk - np.where(highest_hq > -np.inf, highest_hq, 0)[..., None], out=e_hqk)
        total_hq = e_hqk.sum(axis=-1, dtype=np.float64)
        given_hq = problem.log2_total(logsumexp_hq)
        apart_hq = np.abs(highest_hq + np.log2(total_hq) - given_hq)
        size_hq = np.minimum(size_hq, 1) * problem.softcap * LOG2_E if problem.softcap else size_hq
        own_hq = apart_hq <= MAX_ROUNDINGS * eps * (np.abs(given_hq) + size_hq)
        factor_hq = np.where(own_hq, 1 / total_hq, np.exp2(highest_hq - given_hq))
    e_hqk *= np.where(total_hq > 0, factor_hq, 0)[..., None].astype(e_hqk.dtype)
    return e_hqk
