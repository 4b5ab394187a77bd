"""Rectangles of the weights at any resolution, exact where that is quick, else sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.engine.call import Problem
from regard.engine.observation import ArrayFacts, Observation
from regard.engine.threads import run_in_order
from regard.errors import ArgumentError
from regard.typing import Array
from regard.view.page.maps import HeadIndex, map_edges


def can_subsample(seen: Observation) -> bool:
    """Whether queries can be subsampled: not where a float mask is added to each score."""
    masks = [part.visibility.mask for part in seen.parts]
    return bool(masks) and all(
        mask is None or callable(mask) or mask.dtype == bool for mask in masks
    )


def subsampled(seen: Observation, index: HeadIndex, rows: Array) -> Observation:
    """An observation of one head at these queries only; the keys are not copied."""
    heads = seen._heads(index)
    logsumexp = seen.logsumexp.reshape(-1, seen.queries)[heads, rows]
    parts = tuple(_subsampled_part(part.on_host(), heads, rows) for part in seen.parts)
    return Observation(ArrayFacts(logsumexp=logsumexp), None, parts, seen.keys, seen.cost)


def _subsampled_part(part: Problem, heads: slice, rows: Array) -> Problem:
    shared = slice(heads.start // part.group, heads.start // part.group + 1)
    return replace(
        part,
        query_hqd=part.query_hqd[heads, rows],
        key_gkd=part.key_gkd[shared],
        value_gkv=part.value_gkv[shared],
        leading=(1,),
        visibility=part.visibility.subsample(heads.start, rows),
    )


@dataclass(frozen=True)
class Region:
    """A range of queries and of keys, and the number of cells along each."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    cells: tuple[int, int]

    @property
    def row_edges(self) -> Array:
        return edges(*self.rows, self.cells[0])

    @property
    def column_edges(self) -> Array:
        return edges(*self.columns, self.cells[1])

    @property
    def size(self) -> int:
        return (self.rows[1] - self.rows[0]) * (self.columns[1] - self.columns[0])


@dataclass(frozen=True)
class RegionCells:
    """Values of a region's cells, their edges, a description, and whether more time helps."""

    values_rc: Array
    row_edges: Array
    column_edges: Array
    description: str
    better: bool = False

    def geometry(self) -> dict[str, list[int]]:
        """Extent of the cells, for the page; ``spans`` count the last cell as wide as the others.

        Cell i begins at start + i * span // cells.
        """
        sides = self.row_edges, self.column_edges
        rows, columns = ([int(side[0]), int(side[-1])] for side in sides)
        spans = [_span(side) for side in sides]
        return {
            "rows": rows,
            "columns": columns,
            "cells": list(self.values_rc.shape),
            "spans": spans,
        }


def edges(start: int, stop: int, cells: int) -> Array:
    """Cut a range into cells as even as whole numbers allow; never more cells than positions.

    >>> edges(5, 15, 4).tolist(), edges(5, 7, 4).tolist()
    ([5, 7, 10, 12, 15], [5, 6, 7])
    """
    parts = max(1, min(cells, stop - start))
    return start + np.arange(parts + 1) * (stop - start) // parts


def _span(bounds: Array) -> int:
    sizes = np.diff(bounds)
    equal = (sizes[:-1] == sizes[0]).all() and sizes[-1] <= sizes[0]
    return int(len(sizes) * sizes[0] if equal else bounds[-1] - bounds[0])


def describe_cells(rows: int, columns: int) -> str:
    """A description of exact cells, by the largest number of queries and of keys in one."""
    if rows == columns == 1:
        return "exact: every cell is one weight"
    return (
        f"exact: each cell is the mean over {_up_to(rows, 'query', 'queries')} of the weight given "
        f"to {_up_to(columns, 'key', 'keys')}"
    )


def _up_to(size: int, one: str, many: str) -> str:
    return f"one {one}" if size == 1 else f"up to {size:,} {many}"


QUICK_WEIGHTS = 16_000_000  # computed while the user waits, at 64 features a head
THOROUGH_WEIGHTS = 30 * QUICK_WEIGHTS  # computed while the user looks at the quick result
MIN_QUERIES_PER_CELL = 4  # a coarser map is better than a sample of fewer queries
TILE_ROWS, TILE_COLUMNS = 256, 2048  # a tile that fits the cache
Check = Callable[[], None]


@dataclass(frozen=True)
class RowBatch:
    """Queries computed together: their cells, their rows, the start of each cell.

    ``positions`` are the original positions of subsampled rows.
    """

    target: slice
    rows: slice
    starts: Array
    positions: Array | None = None


def region_cells(
    seen: Observation, head: HeadIndex, region: Region, *, thorough: bool, check: Check
) -> RegionCells:
    """The cells of a region: exact, sampled or from the map, by the time that is allowed."""
    block = (region.rows[1] - region.rows[0]) / region.cells[0]
    own = np.diff(map_edges(seen)[0]).max() if "map" in seen.facts else np.inf
    if not seen.parts or block >= own:
        return _from_map(seen, head, region)
    wide = max(16, seen.parts[0].width)
    quick, most = QUICK_WEIGHTS * 64 // wide, THOROUGH_WEIGHTS * 64 // wide
    if region.size > quick and own < 2 * block:  # nearly as fine, exact, and there already
        return _from_map(seen, head, region)
    if region.size <= (most if thorough else quick):
        values_rc = _means(seen, head, _all_rows(region.row_edges), region, check)
        sizes = (np.diff(x).max() for x in (region.row_edges, region.column_edges))
        return RegionCells(values_rc, region.row_edges, region.column_edges, describe_cells(*sizes))
    thin = quick * block < MIN_QUERIES_PER_CELL * region.size and own <= 4 * block
    if thin or not can_subsample(seen):
        return replace(_from_map(seen, head, region), better=region.size <= most)
    return _sampled(seen, head, region, quick, region.size <= most, check)


def _sampled(
    seen: Observation, head: HeadIndex, region: Region, quick: int, better: bool, check: Check
) -> RegionCells:
    """A few queries of each cell, evenly spaced; of each all its keys."""
    bounds, block = region.row_edges, int(np.diff(region.row_edges).min())
    sampled = max(1, min(block, quick * block // region.size))
    offsets = (2 * np.arange(sampled) + 1) * block // (2 * sampled)
    rows = (bounds[:-1, None] + offsets).reshape(-1)
    few = subsampled(seen, head, rows)
    batches = [
        replace(batch, positions=rows) for batch in _all_rows(sampled * np.arange(len(bounds)))
    ]
    description = (
        f"a sample: each cell is the mean over {sampled:,} of its {block:,} queries, of each "
        "all its keys"
    )
    values_rc = _means(few, (0,), batches, region, check, seen)
    return RegionCells(values_rc, bounds, region.column_edges, description, better)


def _means(
    seen: Observation,
    head: HeadIndex,
    batches: list[RowBatch],
    region: Region,
    check: Check,
    full: Observation | None = None,
) -> Array:
    """Means of tiles over cells, a batch of rows on each thread."""
    values_rc = np.zeros((len(region.row_edges) - 1, len(region.column_edges) - 1))
    logsumexp_q = seen.logsumexp.reshape(-1, seen.queries)[seen._heads(head)][0]

    def work(batch: RowBatch, scratch: dict[str, Any]) -> None:
        check()
        live_q = np.isfinite(logsumexp_q[batch.rows])  # as in the map, the others do not count
        sizes_r = np.add.reduceat(live_q, batch.starts, dtype=np.int64)
        columns = _reach(full or seen, batch)
        sums_rc = _row_sums(seen, head, batch, region.column_edges, columns)
        values_rc[batch.target] = sums_rc / np.maximum(sizes_r, 1)[:, None]

    run_in_order(batches, work)
    return values_rc


def _all_rows(row_edges: Array) -> list[RowBatch]:
    """Every query, in batches of complete cells with about ROWS queries each."""
    cells = len(row_edges) - 1
    step = max(1, TILE_ROWS * cells // max(1, int(row_edges[-1] - row_edges[0])))
    batches = []
    for first in range(0, cells, step):
        block_edges = row_edges[first : first + step + 1]
        target = slice(first, first + len(block_edges) - 1)
        batches.append(
            RowBatch(
                target,
                slice(int(block_edges[0]), int(block_edges[-1])),
                block_edges[:-1] - block_edges[0],
            )
        )
    return batches


def _row_sums(
    seen: Observation, head: HeadIndex, batch: RowBatch, column_edges: Array, reach: slice
) -> Array:
    """For each cell of a run the sum of what its queries give to each block of keys."""
    cells = len(column_edges) - 1
    first = max(0, int(np.searchsorted(column_edges, reach.start, "right")) - 1)
    last = min(cells, int(np.searchsorted(column_edges, reach.stop, "left")))
    step = max(1, TILE_COLUMNS * cells // max(1, int(column_edges[-1] - column_edges[0])))
    sums_rc = np.zeros((len(batch.starts), cells))
    for cell in range(first, last, step):
        block_edges = column_edges[cell : min(cell + step, last) + 1]
        columns = slice(int(block_edges[0]), int(block_edges[-1]))
        tile_qk = seen.tile(batch.rows, columns, head).reshape(-1, columns.stop - columns.start)
        tile_rk = np.add.reduceat(tile_qk, batch.starts, axis=0)
        target = slice(cell, cell + len(block_edges) - 1)
        sums_rc[:, target] = np.add.reduceat(tile_rk, block_edges[:-1] - columns.start, axis=1)
    return sums_rc


def _reach(seen: Observation, batch: RowBatch) -> slice:
    """The range of keys that these queries can see; all of them where the keys are in parts."""
    if len(seen.parts) != 1:
        return slice(0, seen.keys)
    rows = batch.rows
    if batch.positions is not None:
        rows = slice(int(batch.positions[rows.start]), int(batch.positions[rows.stop - 1]) + 1)
    return seen.parts[0].visibility.reach(slice(0, seen.parts[0].heads), rows)


def _from_map(seen: Observation, head: HeadIndex, region: Region) -> RegionCells:
    """The map's own blocks that the region touches; several together where there are many."""
    if "map" not in seen.facts:
        raise ArgumentError(
            "this file holds neither a map nor query and key, so there is nothing to draw: "
            "observe with map=256, or save with query_and_key=True."
        )
    map_rc: Array = seen.map if head is None else seen.map[head]
    bounds = map_edges(seen)
    rows = _touched(region.rows, bounds[0], region.cells[0])
    columns = _touched(region.columns, bounds[1], region.cells[1])
    means_rc = np.asarray(map_rc[rows[0] : rows[-1], columns[0] : columns[-1]], np.float64)
    sizes = np.diff(bounds[0])[rows[0] : rows[-1], None]
    means_rc = np.add.reduceat(means_rc * sizes, rows[:-1] - rows[0], axis=0)
    means_rc /= np.diff(bounds[0][rows])[:, None]
    means_rc = np.add.reduceat(means_rc, columns[:-1] - columns[0], axis=1)
    row_edges, column_edges = bounds[0][rows], bounds[1][columns]
    description = _describe_map(row_edges, column_edges, bool(seen.parts))
    return RegionCells(means_rc, row_edges, column_edges, description)


def _describe_map(row_edges: Array, column_edges: Array, fine: bool) -> str:
    rows, columns = np.diff(row_edges).max(), np.diff(column_edges).max()
    description = describe_cells(rows, columns)
    if fine or rows == columns == 1:
        return description
    return f"{description}; this file holds no query and key, so it can be shown no finer"


def _touched(part: tuple[int, int], bounds: Array, cells: int) -> Array:
    """The blocks of the map that a range touches, in groups of equal size, and their end.

    While a text grows the last blocks are smaller than the others: as many go into a group as fit.
    """
    size, start = int(np.diff(bounds).max()), int(bounds[0])
    first, last = max(0, (part[0] - start) // size), -(-(part[1] - start) // size)
    group = max(1, -(-(last - first) // max(1, cells)))
    first -= first % group  # the same groups wherever one looks, so that panning does not flicker
    starts = start + size * np.append(np.arange(first, last, group), last)
    return np.unique(np.searchsorted(bounds, np.minimum(starts, bounds[-1])))
