"""Facts of each key: attention received, the map, and sums by distance.

Columns are summed from a panel, the full rows of a block of queries, or in a second pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import Problem, Requested, blocks
from regard.engine.tiles.plan import TilePlan, Unit
from regard.engine.tiles.rows import Rows, Scratch, buffer, tiles
from regard.engine.tiles.topk import TILES_PER_SPAN, Best, Groups, largest, largest_among
from regard.typing import Array


@dataclass(frozen=True)
class Panel:
    """Unnormalised weights e of some queries over a range of keys, with margins of zeros.

    The zeros let a view whose rows each start one column later (a skew) stay inside its own row.
    """

    full_hqs: Array
    margin: int
    columns: slice

    @property
    def e_hqk(self) -> Array:
        """The weights alone, a view."""
        return self.full_hqs[
            ..., self.margin : self.margin + self.columns.stop - self.columns.start
        ]

    @property
    def skewed_hqn(self) -> Array:
        """Row i moved left by i, a view: its column n holds key - query = n - (rows - 1)."""
        heads, rows, _ = self.full_hqs.shape
        head_step, row_step, step = self.full_hqs.strides
        first = self.full_hqs[:, :, self.margin - (rows - 1) :]
        width = self.columns.stop - self.columns.start + rows - 1
        return np.lib.stride_tricks.as_strided(
            first, (heads, rows, width), (head_step, row_step + step, step), writeable=False
        )


def blank_panel(
    problem: Problem, unit: Unit, columns: slice, skew: bool, scratch: Scratch
) -> Panel:
    """A panel with its margins zero and the rest uninitialised."""
    heads, rows = unit.heads.stop - unit.heads.start, unit.rows.stop - unit.rows.start
    margin = rows if skew else 0
    width = columns.stop - columns.start
    # One zero at least on the right: _find_best reads it for columns past the last.
    full = margin + width + max(margin, 1)
    panel = Panel(buffer(scratch, "panel", (heads, rows, full), problem.dtype), margin, columns)
    panel.full_hqs[..., :margin] = 0
    panel.full_hqs[..., margin + width :] = 0
    return panel


def panel_rows(
    problem: Problem, plan: TilePlan, unit: Unit, requested: Requested, scratch: Scratch
) -> tuple[Rows, Panel]:
    """As stream_rows, with e kept for every key in reach."""
    rows = Rows.none_seen(problem, unit, requested)
    query_hqd = problem.scaled_query(unit.heads, unit.rows)
    reach = problem.visibility.reach(unit.heads, unit.rows)
    panel = blank_panel(problem, unit, reach, requested.profile, scratch)
    groups = _blank_groups(problem, plan, panel, scratch) if requested.top else None
    if not problem.bounded:
        # Columns are summed over e, so that a row needs one shift: its maximum, before any e.
        _fill_scores(problem, plan, unit, query_hqd, panel)
        rows.raise_shift(panel.e_hqk.max(axis=-1, initial=problem.floor))
    for index, columns in enumerate(tiles(problem, plan, unit)):
        e_hqk = panel.e_hqk[..., columns.start - reach.start : columns.stop - reach.start]
        t_hqk = buffer(scratch, "scores", e_hqk.shape, problem.dtype)
        if problem.bounded:
            visible = problem.scores(query_hqd, unit.heads, unit.rows, columns, out=t_hqk)
        else:
            visible = problem.visibility.visible_as(unit.heads, unit.rows, columns, problem.dtype)
            np.subtract(e_hqk, rows.shift_hq[..., None], out=t_hqk)
        problem.exponential(t_hqk, visible, out=e_hqk)
        if groups is not None:
            if visible is not None:
                problem.hide(t_hqk, visible)
            groups.take(t_hqk, index)
        value_hkv = problem.shared(problem.value_gkv, unit.heads, columns)
        rows.take(
            e_hqk, t_hqk if requested.entropy else None, value_hkv if requested.output else None
        )
    if rows.best is not None:
        _find_best(rows, rows.best, panel, groups)
    return rows, panel


def _fill_scores(
    problem: Problem, plan: TilePlan, unit: Unit, query_hqd: Array, panel: Panel
) -> None:
    for columns in tiles(problem, plan, unit):
        start = panel.columns.start
        t_hqk = panel.e_hqk[..., columns.start - start : columns.stop - start]
        problem.scores(query_hqd, unit.heads, unit.rows, columns, out=t_hqk)


def _blank_groups(
    problem: Problem, plan: TilePlan, panel: Panel, scratch: Scratch
) -> Groups | None:
    """Room for the maxima over tiles; with one tile only there is nothing to gain by them."""
    heads, queries, _ = panel.full_hqs.shape
    width = panel.columns.stop - panel.columns.start
    if width <= plan.columns:
        return None
    spans = -(-width // (plan.columns * TILES_PER_SPAN))
    shape = (spans, heads, queries, plan.columns)
    return Groups.blank(buffer(scratch, "groups", shape, problem.dtype), problem.floor)


def _find_best(rows: Rows, best: Best, panel: Panel, groups: Groups | None) -> None:
    """The largest e of each full row; columns past its end read a zero of the margin."""
    heads, queries, full = panel.full_hqs.shape
    width = panel.columns.stop - panel.columns.start
    number, margin = best.values_hqn.shape[-1], panel.margin
    if groups is None:
        margin = 0
        e_rn, columns_rn = largest(panel.e_hqk.reshape(heads * queries, width), number)
    else:
        flat_rs = panel.full_hqs.reshape(heads * queries, full)
        among_rn = np.minimum(groups.columns(number), width) + margin
        e_rn, columns_rn = largest_among(flat_rs, among_rn, number)
    shape = (heads, queries, e_rn.shape[1])
    weights_hqn = e_rn.reshape(shape) * rows.inverse_hq()[..., None]
    best.values_hqn[..., : shape[-1]] = weights_hqn
    best.columns_hqn[..., : shape[-1]] = columns_rn.reshape(shape) - margin + panel.columns.start
    best.drop_weightless()


# Queries or keys in a block of the map: at most four panels or tiles add to a smaller one.
MAX_FLOAT32_BLOCK = 128


@dataclass(frozen=True)
class ColumnPart:
    """The sums of one panel over its queries, for its keys."""

    unit: Unit
    columns: slice
    received_hk: Array
    map_hrc: Array | None
    distance_hn: Array | None


@dataclass
class ColumnSums:
    """Sums over all queries in float64; parts are added in a fixed order.

    ``distance_hn`` counts key - query - offset from the most negative up: n = 0 is the first key
    seen from the last query.
    """

    problem: Problem
    requested: Requested
    received_hk: Array = field(init=False)
    map_hrc: Array | None = None
    distance_hn: Array | None = None

    def __post_init__(self) -> None:
        heads, visibility = self.problem.heads, self.problem.visibility
        self.received_hk = np.zeros((heads, visibility.keys))
        if self.requested.map:
            shape = (heads, len(self.row_edges) - 1, len(self.column_edges) - 1)
            # Few parts fall into a small cell, so it needs no more digits than they have.
            edges = np.diff(self.row_edges), np.diff(self.column_edges)
            small = all(sizes.max(initial=0) <= MAX_FLOAT32_BLOCK for sizes in edges)
            self.map_hrc = np.zeros(shape, self.problem.dtype if small else np.float64)
        if self.requested.profile:
            self.distance_hn = np.zeros((heads, max(0, visibility.queries + visibility.keys - 1)))

    @cached_property
    def row_edges(self) -> NDArray[np.int64]:
        if self.requested.row_edges is not None:
            return self.requested.row_edges
        return blocks(self.problem.visibility.queries, self.requested.map)

    @cached_property
    def column_edges(self) -> NDArray[np.int64]:
        if self.requested.edges is not None:
            return self.requested.edges
        return blocks(self.problem.visibility.keys, self.requested.map)

    @cached_property
    def single(self) -> bool:
        """Whether every block of the map is one query and one key, so that it is the weights."""
        visibility = self.problem.visibility
        sizes = len(self.row_edges) - 1, len(self.column_edges) - 1
        return sizes == (visibility.queries, visibility.keys)

    def part(self, unit: Unit, panel: Panel, inverse_hq: Array) -> ColumnPart:
        """Sum the weights e * inverse of a panel by matrix products; no weight is stored."""
        distance_hn = None
        if self.requested.profile:
            distance_hn = (inverse_hq[:, None, :] @ panel.skewed_hqn)[:, 0]
        if self.map_hrc is not None and self.single:
            # No other unit has these cells: they are written at once, in any order.
            block = self.map_hrc[unit.heads, unit.rows, panel.columns]
            np.multiply(panel.e_hqk, inverse_hq[..., None], out=block)
        if self.map_hrc is None or self.single:
            received_hk = (inverse_hq[:, None, :] @ panel.e_hqk)[:, 0]
            return ColumnPart(unit, panel.columns, received_hk, None, distance_hn)
        edges, _ = cut(self.row_edges, unit.rows)
        summed_hrk = _sum_blocks(panel.e_hqk, inverse_hq, edges)
        received_hk = np.ones(summed_hrk.shape[1], summed_hrk.dtype) @ summed_hrk
        map_hrc = _sum_keys(summed_hrk, cut(self.column_edges, panel.columns)[0])
        return ColumnPart(unit, panel.columns, received_hk, map_hrc, distance_hn)

    def add(self, part: ColumnPart) -> None:
        heads, rows, columns = part.unit.heads, part.unit.rows, part.columns
        self.received_hk[heads, columns] += part.received_hk
        if self.map_hrc is not None and part.map_hrc is not None:
            row = cut(self.row_edges, rows)[1]
            column = cut(self.column_edges, columns)[1]
            self.map_hrc[heads, row, column] += part.map_hrc
        if self.distance_hn is not None and part.distance_hn is not None:
            start = columns.start + self.problem.visibility.queries - rows.stop
            self.distance_hn[heads, start : start + part.distance_hn.shape[1]] += part.distance_hn


def second_pass(
    problem: Problem,
    plan: TilePlan,
    unit: Unit,
    shift_hq: Array,
    inverse_hq: Array,
    scratch: Scratch,
    sums: ColumnSums,
) -> list[ColumnPart]:
    """Scores once more, now that every row's sum is known: 2^(t - shift) * inverse are the weights.

    Shift and inverse are the unit's from the first pass (see Rows). Their log-sum-exp would not do:
    a huge one has no digits left for the number of keys.
    """
    query_hqd = problem.scaled_query(unit.heads, unit.rows)
    shift_hq1, inverse_hq = shift_hq[..., None], inverse_hq.astype(problem.dtype)
    parts = []
    for columns in tiles(problem, plan, unit):
        panel = blank_panel(problem, unit, columns, sums.requested.profile, scratch)
        e_hqk = panel.e_hqk
        visible = problem.scores(query_hqd, unit.heads, unit.rows, columns, out=e_hqk)
        e_hqk -= shift_hq1
        problem.exponential(e_hqk, visible, out=e_hqk)
        parts.append(sums.part(unit, panel, inverse_hq))
    return parts


def _sum_blocks(e_hqk: Array, inverse_hq: Array, edges: NDArray[np.int64]) -> Array:
    """Weights summed over blocks of queries (h, r, k)."""
    heads, queries, keys = e_hqk.shape
    if len(edges) - 1 == queries:  # a product of one by one is slow
        return np.asarray(e_hqk * inverse_hq[..., None])
    parts = []
    for part, number, size in _runs(edges):
        split = (heads, number, size)
        row_hr1s, e_hrsk = inverse_hq[:, part].reshape(split), e_hqk[:, part].reshape(*split, keys)
        parts.append((row_hr1s[:, :, None, :] @ e_hrsk)[:, :, 0])
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _sum_keys(summed_hrk: Array, edges: NDArray[np.int64]) -> Array:
    """The same over blocks of keys (h, r, c); products with ones are far faster than reduceat."""
    heads, blocks, keys = summed_hrk.shape
    if len(edges) - 1 == keys:
        return summed_hrk
    parts = []
    for part, number, size in _runs(edges):
        split_hrcs = summed_hrk[..., part].reshape(heads, blocks, number, size)
        parts.append(split_hrcs @ np.ones(size, summed_hrk.dtype))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def _runs(edges: NDArray[np.int64]) -> list[tuple[slice, int, int]]:
    """Blocks of one size in a row: where they lie, their number, their size.

    Only the ends of a part cut through blocks, so there are three runs at most.

    >>> _runs(np.array([0, 3, 11, 19, 21]))
    [(slice(0, 3, None), 1, 3), (slice(3, 19, None), 2, 8), (slice(19, 21, None), 1, 2)]
    """
    sizes = np.diff(edges)
    turns = [0, *(np.flatnonzero(np.diff(sizes)) + 1).tolist(), len(sizes)]
    return [(slice(int(edges[a]), int(edges[b])), b - a, int(sizes[a])) for a, b in pairwise(turns)]


def cut(edges: NDArray[np.int64], part: slice) -> tuple[NDArray[np.int64], slice]:
    """The edges that cut a part, from its own start, and which blocks it touches.

    >>> cut(np.array([0, 2, 5, 7, 10]), slice(3, 6))
    (array([0, 2, 3]), slice(1, 3, None))
    """
    first = int(np.searchsorted(edges, part.start, side="right")) - 1
    last = int(np.searchsorted(edges, part.stop, side="left")) if part.stop > part.start else first
    cut = np.clip(edges[first : last + 1], part.start, part.stop) - part.start
    return cut, slice(first, last)
