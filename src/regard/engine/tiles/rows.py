"""Facts of each query: sum, entropy, output and best keys, accumulated tile by tile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.engine.call import Problem, Requested
from regard.engine.tiles.plan import TilePlan, Unit
from regard.engine.tiles.topk import Best
from regard.typing import Array

Scratch = dict[str, Any]
HUGE_SUM = 2.0**26  # the same as in native/attention.c


@dataclass
class Rows:
    """Running sums over the keys seen so far, e = 2^(t - shift) being an unnormalised weight.

    Any two of these over disjoint keys make one over their union: that is all that tiles,
    threads and ``merge`` do.
    """

    shift_hq: Array
    total_hq: Array  # sum of e, in float64
    moment_hq: Array  # sum of e * (t - shift), in float64
    output_hqv: Array  # sum of e * value
    best: Best | None = None
    external_log2_hq: Array | None = None  # log2 of the caller's sum, over these keys or more
    value_scale: float = 1.0  # see Problem

    @classmethod
    def none_seen(cls, problem: Problem, unit: Unit, requested: Requested) -> Rows:
        shape = (unit.heads.stop - unit.heads.start, unit.rows.stop - unit.rows.start)
        start = 0.0 if problem.bounded else problem.floor
        external_log2_hq = requested.log2_total_hq
        return cls(
            np.full(shape, start, problem.dtype),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(
                (*shape, problem.value_gkv.shape[-1] if requested.output else 0), problem.dtype
            ),
            Best.empty(shape, requested.top, problem.dtype, problem.floor)
            if requested.top
            else None,
            None if external_log2_hq is None else external_log2_hq[unit.heads, unit.rows],
            problem.value_scale,
        )

    def log2_total_hq(self) -> Array:
        """Base-2 log-sum-exp of each row; minus infinity where nothing was seen."""
        if self.external_log2_hq is not None:
            return self.external_log2_hq
        return self._own_log2_hq()

    def _own_log2_hq(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(self.shift_hq + np.log2(self.total_hq))

    def _is_own_hq(self, external_log2_hq: Array) -> Array:
        """Where the caller's sum is huge and that of these keys.

        Such a sum has no digits left for the number of keys; their own is exact.
        """
        with np.errstate(invalid="ignore"):
            apart_hq = np.abs(self._own_log2_hq() - external_log2_hq)
        size_hq = np.abs(external_log2_hq)
        huge_hq = np.isfinite(apart_hq) & (size_hq > HUGE_SUM)
        return np.asarray(huge_hq & (apart_hq <= size_hq * 2.0**-50))

    def inverse_hq(self) -> Array:
        """The factor from e to a weight; 0 where nothing was seen."""
        own_hq = np.divide(
            1, self.total_hq, out=np.zeros_like(self.total_hq), where=self.total_hq > 0
        )
        if self.external_log2_hq is None:
            return own_hq
        # A part without visible keys has a shift that is unrelated to the total.
        seen_hq = np.isfinite(self.external_log2_hq) & (self.total_hq > 0)
        log2_total_hq = np.where(seen_hq, self.external_log2_hq, np.inf)
        with np.errstate(over="ignore"):
            given_hq = np.exp2(self.shift_hq - log2_total_hq)
        return np.where(self._is_own_hq(self.external_log2_hq), own_hq, given_hq)

    def entropy_hq(self) -> Array:
        """Entropy in nats, the weighted mean of log total - t; rounding may not take it below 0."""
        # Not as shift + log2(total): next to a large shift the second term would be rounded away.
        above_hq = np.log2(self.total_hq)
        if self.external_log2_hq is not None:
            own_hq = self._is_own_hq(self.external_log2_hq)
            above_hq = np.where(own_hq, above_hq, self.external_log2_hq - self.shift_hq)
        above_hq = np.where(np.isfinite(above_hq), above_hq, 0)
        bits_hq = self.inverse_hq() * (self.total_hq * above_hq - self.moment_hq)
        return np.asarray(np.maximum(bits_hq * math.log(2), 0))

    def mean_output_hqv(self) -> Array:
        """The weighted mean of the values; 0 where nothing was seen."""
        inverse_hq1 = self.inverse_hq()[..., None].astype(self.output_hqv.dtype)
        mean_hqv = np.asarray(self.output_hqv * inverse_hq1)
        if self.value_scale == 1:
            return mean_hqv
        # A mean is no larger than its values, but rounding may take it one step past float64.
        most = np.finfo(mean_hqv.dtype).max / self.value_scale
        return np.asarray(np.clip(mean_hqv, -most, most) * self.value_scale)

    def take(self, e_hqk: Array, t_hqk: Array | None, value_hkv: Array | None) -> None:
        """Add a tile: e, and where entropy or output is requested, t - shift and the values."""
        ones = np.ones(e_hqk.shape[-1], e_hqk.dtype)
        self.total_hq += e_hqk @ ones
        if t_hqk is not None:
            self.moment_hq += np.vecdot(e_hqk, t_hqk)
        if value_hkv is not None:
            self.output_hqv += e_hqk @ value_hkv

    def finish(self) -> None:
        """After the last key: best scores become weights."""
        if self.best is not None:
            self.best.become_weights(self.shift_hq, self.inverse_hq())

    def raise_shift(self, highest_hq: Array) -> None:
        """Move the shift up to a new maximum; what was summed is scaled down to match."""
        shift_hq = np.maximum(self.shift_hq, highest_hq)
        change_hq = self.shift_hq - shift_hq
        factor_hq = np.exp2(change_hq)
        # t - new shift = (t - old shift) + change, so the moment also gains change times the sum.
        self.moment_hq = factor_hq * (self.moment_hq + change_hq * self.total_hq)
        self.total_hq = factor_hq * self.total_hq
        self.output_hqv *= factor_hq[..., None]
        self.shift_hq = shift_hq


def stream_rows(
    problem: Problem, plan: TilePlan, unit: Unit, requested: Requested, scratch: Scratch
) -> Rows:
    """Rows of a unit in one pass over its keys, tile by tile; one tile is in memory at a time.

    Equals ``steps.attend``. Where scores are bounded (see Problem) nothing is subtracted from them;
    elsewhere a running maximum is.
    """
    rows = Rows.none_seen(problem, unit, requested)
    stream_past(rows, problem, plan, unit, requested, scratch)
    rows.finish()
    return rows


def stream_past(
    rows: Rows,
    problem: Problem,
    plan: TilePlan,
    unit: Unit,
    requested: Requested,
    scratch: Scratch,
    first: int = 0,
) -> None:
    """Add the keys of a problem to rows that may have seen others; ``first`` is its first key.

    The problems must agree in dtype and in whether they are bounded.
    """
    query_hqd = problem.scaled_query(unit.heads, unit.rows)
    for columns in tiles(problem, plan, unit):
        shape = (*rows.shift_hq.shape, columns.stop - columns.start)
        t_hqk = buffer(scratch, "scores", shape, problem.dtype)
        visible = problem.scores(query_hqd, unit.heads, unit.rows, columns, out=t_hqk)
        if rows.best is not None:
            # By score and before the shift, which differs from tile to tile; a bounded problem
            # leaves the scores of hidden keys as they are.
            if visible is not None:
                problem.hide(t_hqk, visible)
            rows.best.update(t_hqk, first + columns.start)
        if not problem.bounded:
            rows.raise_shift(t_hqk.max(axis=-1))
            t_hqk -= rows.shift_hq[..., None]
        e_hqk = buffer(scratch, "e", shape, problem.dtype) if requested.entropy else t_hqk
        problem.exponential(t_hqk, visible, out=e_hqk)
        value_hkv = problem.shared(problem.value_gkv, unit.heads, columns)
        rows.take(
            e_hqk, t_hqk if requested.entropy else None, value_hkv if requested.output else None
        )


def tiles(problem: Problem, plan: TilePlan, unit: Unit) -> Iterator[slice]:
    """The tiles of keys that this unit may see."""
    reach = problem.visibility.reach(unit.heads, unit.rows)
    for start in range(reach.start, reach.stop, plan.columns):
        yield slice(start, min(start + plan.columns, reach.stop))


def buffer(scratch: Scratch, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A buffer in the worker's scratch memory, reused by every unit; its contents are arbitrary."""
    size = math.prod(shape)
    array = scratch.get(name)
    if array is None or array.size < size or array.dtype != dtype:
        array = scratch[name] = np.empty(size, dtype)
    piece: Array = array[:size].reshape(shape)
    return piece
