"""What belongs to keys: attention received, the map, and how far away the weight lies."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.tiles.panel import Panel, blank_panel
from regard.self_attention.tiles.plan import Plan, Unit, blocks
from regard.self_attention.tiles.problem import Array, Problem
from regard.self_attention.tiles.rows import Scratch, Wanted, tiles

SMALL = 128  # queries or keys in a block of the map: no more than four panels or tiles share it


@dataclass(frozen=True)
class ColumnPart:
    """What one panel adds: sums over its queries, for its keys."""

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
    wanted: Wanted
    received_hk: Array = field(init=False)
    map_hrc: Array | None = None
    distance_hn: Array | None = None

    def __post_init__(self) -> None:
        heads, sight = self.problem.heads, self.problem.sight
        self.received_hk = np.zeros((heads, sight.keys))
        if self.wanted.map:
            shape = (heads, len(self.row_edges) - 1, len(self.column_edges) - 1)
            # Few parts fall into a small cell, so it needs no more digits than they have.
            edges = np.diff(self.row_edges), np.diff(self.column_edges)
            small = all(sizes.max(initial=0) <= SMALL for sizes in edges)
            self.map_hrc = np.zeros(shape, self.problem.dtype if small else np.float64)
        if self.wanted.profile:
            self.distance_hn = np.zeros((heads, max(0, sight.queries + sight.keys - 1)))

    @cached_property
    def row_edges(self) -> NDArray[np.int64]:
        """Where the map's blocks of queries begin and end."""
        if self.wanted.row_edges is not None:
            return self.wanted.row_edges
        return blocks(self.problem.sight.queries, self.wanted.map)

    @cached_property
    def column_edges(self) -> NDArray[np.int64]:
        """Where the map's blocks of keys begin and end."""
        if self.wanted.edges is not None:
            return self.wanted.edges
        return blocks(self.problem.sight.keys, self.wanted.map)

    @cached_property
    def single(self) -> bool:
        """Whether every block of the map is one query and one key, so that it is the weights."""
        sight = self.problem.sight
        sizes = len(self.row_edges) - 1, len(self.column_edges) - 1
        return sizes == (sight.queries, sight.keys)

    def part(self, unit: Unit, panel: Panel, inverse_hq: Array) -> ColumnPart:
        """Sum the weights e * inverse of a panel; products do it, no weight is written down."""
        distance_hn = None
        if self.wanted.profile:
            distance_hn = (inverse_hq[:, None, :] @ panel.skewed_hqn)[:, 0]
        if self.map_hrc is not None and self.single:
            place = self.map_hrc[unit.heads, unit.rows, panel.columns]
            np.multiply(panel.e_hqk, inverse_hq[..., None], out=place)
        if self.map_hrc is None or self.single:
            received_hk = (inverse_hq[:, None, :] @ panel.e_hqk)[:, 0]
            return ColumnPart(unit, panel.columns, received_hk, None, distance_hn)
        edges, _ = cut(self.row_edges, unit.rows)
        summed_hrk = _sum_blocks(panel.e_hqk, inverse_hq, edges)
        received_hk = np.ones(summed_hrk.shape[1], summed_hrk.dtype) @ summed_hrk
        map_hrc = _sum_keys(summed_hrk, cut(self.column_edges, panel.columns)[0])
        return ColumnPart(unit, panel.columns, received_hk, map_hrc, distance_hn)

    def add(self, part: ColumnPart) -> None:
        """Take a part in."""
        heads, rows, columns = part.unit.heads, part.unit.rows, part.columns
        self.received_hk[heads, columns] += part.received_hk
        if self.map_hrc is not None and part.map_hrc is not None:
            row = cut(self.row_edges, rows)[1]
            column = cut(self.column_edges, columns)[1]
            self.map_hrc[heads, row, column] += part.map_hrc
        if self.distance_hn is not None and part.distance_hn is not None:
            start = columns.start + self.problem.sight.queries - rows.stop
            self.distance_hn[heads, start : start + part.distance_hn.shape[1]] += part.distance_hn


def second_pass(
    problem: Problem, plan: Plan, unit: Unit, log2_total_hq: Array, scratch: Scratch,
    sums: ColumnSums,
) -> list[ColumnPart]:  # fmt: skip
    """Scores once more, now that every row's sum is known: 2^(t - log2 total) are the weights."""
    query_hqd = problem.scaled_query(unit.heads, unit.rows)
    seen_hq = np.isfinite(log2_total_hq)
    shift_hq1 = np.where(seen_hq, log2_total_hq, np.inf).astype(problem.dtype)[..., None]
    # What the sum lost when it was rounded; in float32 a sum of 1e6 loses whole percents.
    lost_hq = np.where(seen_hq, log2_total_hq - shift_hq1[..., 0], np.inf)
    inverse_hq = np.exp2(-lost_hq).astype(problem.dtype)
    parts = []
    for columns in tiles(problem, plan, unit):
        panel = blank_panel(problem, unit, columns, sums.wanted.profile, scratch)
        e_hqk = panel.e_hqk
        seen = problem.scores(query_hqd, unit.heads, unit.rows, columns, out=e_hqk)
        e_hqk -= shift_hq1
        problem.exponential(e_hqk, seen, out=e_hqk)
        parts.append(sums.part(unit, panel, inverse_hq))
    return parts


def _sum_blocks(e_hqk: Array, inverse_hq: Array, edges: NDArray[np.int64]) -> Array:
    """Weights summed over blocks of queries (h, r, k)."""
    sizes = np.diff(edges)
    heads, queries, keys = e_hqk.shape
    if len(sizes) == queries:  # a product of one by one is slow
        return np.asarray(e_hqk * inverse_hq[..., None])
    if (sizes == sizes[0]).all():
        split = (heads, len(sizes), int(sizes[0]))
        return (inverse_hq.reshape(split)[:, :, None, :] @ e_hqk.reshape(*split, keys))[:, :, 0]
    parts = [inverse_hq[:, None, a:b] @ e_hqk[:, a:b] for a, b in pairwise(edges)]
    return np.concatenate(parts, axis=1)


def _sum_keys(summed_hrk: Array, edges: NDArray[np.int64]) -> Array:
    """The same over blocks of keys (h, r, c): one product, many times as fast as reduceat.

    Blocks differ in size by one key, and at the ends of a panel; zeros fill up the shorter ones.
    """
    (heads, blocks, keys), dtype = summed_hrk.shape, summed_hrk.dtype
    sizes = np.diff(edges)
    if len(sizes) == keys:
        return summed_hrk
    longest = int(sizes.max(initial=1))
    if (sizes < longest).any():
        at_cs = edges[:-1, None] + np.arange(longest)
        at_cs = np.where(at_cs < edges[1:, None], at_cs, keys)
        wider_hrk = np.concatenate([summed_hrk, np.zeros((heads, blocks, 1), dtype)], axis=-1)
        summed_hrk = np.take(wider_hrk, at_cs.reshape(-1), axis=-1)
    split = (heads, blocks, len(sizes), longest)
    return np.asarray(summed_hrk.reshape(split) @ np.ones(longest, dtype))


def cut(edges: NDArray[np.int64], part: slice) -> tuple[NDArray[np.int64], slice]:
    """The edges that cut a part, from its own start, and which blocks it touches.

    >>> cut(np.array([0, 2, 5, 7, 10]), slice(3, 6))
    (array([0, 2, 3]), slice(1, 3, None))
    """
    first = int(np.searchsorted(edges, part.start, side="right")) - 1
    last = int(np.searchsorted(edges, part.stop, side="left")) if part.stop > part.start else first
    cut = np.clip(edges[first : last + 1], part.start, part.stop) - part.start
    return cut, slice(first, last)
