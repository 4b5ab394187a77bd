"""A rectangle of the weights at any resolution.

Its cells, exact where that is quick, else marked as what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.observation import Observation
from regard.engine.tiles.plan import blocks
from regard.errors import ArgumentError
from regard.typing import Array
from regard.view.page.map_source import Place, can_thin, thinned

Edges = NDArray[Any]


def map_edges(seen: Observation) -> tuple[Edges, Edges]:
    """Edges of rows and of columns: as what was seen says, else as ``observe`` cuts them."""
    rows, columns = (getattr(seen, name, None) for name in ("row_edges", "column_edges"))
    down, across = seen.map.shape[-2:]
    return (blocks(seen.queries, down) if rows is None else np.asarray(rows),
            blocks(seen.keys, across) if columns is None else np.asarray(columns))  # fmt: skip


@dataclass(frozen=True)
class Region:
    """Which queries and keys, and into how many cells each side is cut."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    cells: tuple[int, int]

    @property
    def row_edges(self) -> Array:
        """Where blocks of queries begin, and the end."""
        return edges(*self.rows, self.cells[0])

    @property
    def column_edges(self) -> Array:
        """Where blocks of keys begin, and the end."""
        return edges(*self.columns, self.cells[1])

    @property
    def size(self) -> int:
        """How many weights lie in it."""
        return (self.rows[1] - self.rows[0]) * (self.columns[1] - self.columns[0])


@dataclass(frozen=True)
class Shown:
    """Numbers of cells, where these lie, and in words what they are; can waiting make it better?"""

    values_rc: Array
    row_edges: Array
    column_edges: Array
    what: str
    better: bool = False

    def places(self) -> dict[str, list[int]]:
        """Where the cells lie, for the page: ``spans`` count the last one as whole as the others.

        Cell i begins at start + i * span // cells.
        """
        sides = self.row_edges, self.column_edges
        rows, columns = ([int(side[0]), int(side[-1])] for side in sides)
        spans = [_span(side) for side in sides]
        return {"rows": rows, "columns": columns, "cells": list(self.values_rc.shape),
                "spans": spans}  # fmt: skip


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


def cell_words(rows: int, columns: int) -> str:
    """What exact cells are, by the largest number of queries and of keys in one."""
    if rows == columns == 1:
        return "exact: every cell is one weight"
    return (
        f"exact: each cell is the mean over {_up_to(rows, 'query', 'queries')} of the weight given "
        f"to {_up_to(columns, 'key', 'keys')}"
    )


def _up_to(size: int, one: str, many: str) -> str:
    return f"one {one}" if size == 1 else f"up to {size:,} {many}"


QUICK = 16_000_000  # weights that can be computed while somebody waits, at 64 features a head


THOROUGH = 30 * QUICK  # and while somebody is looking at something else


FEWEST = 4  # queries of a cell: a coarser map is better than a sample of fewer


ROWS, COLUMNS = 256, 2048  # of a tile that stays near the core


Check = Callable[[], None]


@dataclass(frozen=True)
class Run:
    """Queries to be computed together: their cells, their rows, where each cell begins.

    ``positions`` say where the rows of a sample stood.
    """

    target: slice
    rows: slice
    starts: Array
    positions: Array | None = None


def region_of(
    seen: Observation, head: Place, region: Region, *, thorough: bool, check: Check
) -> Shown:
    """The cells of a region, by the best way that the waiting allows."""
    block = (region.rows[1] - region.rows[0]) / region.cells[0]
    own = np.diff(map_edges(seen)[0]).max() if "map" in seen.facts else np.inf
    if not seen.parts or block >= own:
        return _from_map(seen, head, region)
    wide = max(16, seen.parts[0].width)
    quick, most = QUICK * 64 // wide, THOROUGH * 64 // wide
    if region.size > quick and own < 2 * block:  # nearly as fine, exact, and there already
        return _from_map(seen, head, region)
    if region.size <= (most if thorough else quick):
        values_rc = _means(seen, head, _all_rows(region.row_edges), region, check)
        sizes = (np.diff(x).max() for x in (region.row_edges, region.column_edges))
        return Shown(values_rc, region.row_edges, region.column_edges, cell_words(*sizes))
    thin = quick * block < FEWEST * region.size and own <= 4 * block
    if thin or not can_thin(seen):
        return replace(_from_map(seen, head, region), better=region.size <= most)
    return _sampled(seen, head, region, quick, region.size <= most, check)


def _sampled(
    seen: Observation, head: Place, region: Region, quick: int, better: bool, check: Check
) -> Shown:
    """A few queries of each cell, evenly spaced; of each all its keys."""
    bounds, block = region.row_edges, int(np.diff(region.row_edges).min())
    taken = max(1, min(block, quick * block // region.size))
    offsets = (2 * np.arange(taken) + 1) * block // (2 * taken)
    rows = (bounds[:-1, None] + offsets).reshape(-1)
    few = thinned(seen, head, rows)
    runs = [replace(run, positions=rows) for run in _all_rows(taken * np.arange(len(bounds)))]
    what = (
        f"a sample: each cell is the mean over {taken:,} of its {block:,} queries, of each "
        "all its keys"
    )
    values_rc = _means(few, (0,), runs, region, check, seen)
    return Shown(values_rc, bounds, region.column_edges, what, better)


def _means(
    seen: Observation,
    head: Place,
    runs: list[Run],
    region: Region,
    check: Check,
    whole: Observation | None = None,
) -> Array:
    """Sum tiles into cells, on two threads, a run at a time."""
    values_rc = np.zeros((len(region.row_edges) - 1, len(region.column_edges) - 1))
    logsumexp_q = seen.logsumexp.reshape(-1, seen.queries)[seen._heads(head)][0]

    def work(run: Run) -> None:
        check()
        live_q = np.isfinite(logsumexp_q[run.rows])  # as in the map, the others do not count
        sizes_r = np.add.reduceat(live_q, run.starts, dtype=np.int64)
        columns = _reach(whole or seen, run)
        sums_rc = _row_sums(seen, head, run, region.column_edges, columns)
        values_rc[run.target] = sums_rc / np.maximum(sizes_r, 1)[:, None]

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, runs))
    return values_rc


def _all_rows(row_edges: Array) -> list[Run]:
    """Every query, in runs of whole cells of about ROWS queries in all."""
    cells = len(row_edges) - 1
    step = max(1, ROWS * cells // max(1, int(row_edges[-1] - row_edges[0])))
    runs = []
    for first in range(0, cells, step):
        held = row_edges[first : first + step + 1]
        target = slice(first, first + len(held) - 1)
        runs.append(Run(target, slice(int(held[0]), int(held[-1])), held[:-1] - held[0]))
    return runs


def _row_sums(seen: Observation, head: Place, run: Run, column_edges: Array, reach: slice) -> Array:
    """For each cell of a run the sum of what its queries give to each block of keys."""
    cells = len(column_edges) - 1
    first = max(0, int(np.searchsorted(column_edges, reach.start, "right")) - 1)
    last = min(cells, int(np.searchsorted(column_edges, reach.stop, "left")))
    step = max(1, COLUMNS * cells // max(1, int(column_edges[-1] - column_edges[0])))
    sums_rc = np.zeros((len(run.starts), cells))
    for cell in range(first, last, step):
        held = column_edges[cell : min(cell + step, last) + 1]
        tile_qk = seen.tile(run.rows, slice(int(held[0]), int(held[-1])), head)
        tile_rk = np.add.reduceat(tile_qk.reshape(-1, held[-1] - held[0]), run.starts, axis=0)
        place = slice(cell, cell + len(held) - 1)
        sums_rc[:, place] = np.add.reduceat(tile_rk, held[:-1] - held[0], axis=1)
    return sums_rc


def _reach(seen: Observation, run: Run) -> slice:
    """The keys outside which these queries see nothing; known where query and key are in one."""
    if len(seen.parts) != 1:
        return slice(0, seen.keys)
    rows = run.rows
    if run.positions is not None:
        rows = slice(int(run.positions[rows.start]), int(run.positions[rows.stop - 1]) + 1)
    return seen.parts[0].visibility.reach(slice(0, seen.parts[0].heads), rows)


def _from_map(seen: Observation, head: Place, region: Region) -> Shown:
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
    held_rc = np.asarray(map_rc[rows[0] : rows[-1], columns[0] : columns[-1]], np.float64)
    sizes = np.diff(bounds[0])[rows[0] : rows[-1], None]
    held_rc = np.add.reduceat(held_rc * sizes, rows[:-1] - rows[0], axis=0)
    held_rc /= np.diff(bounds[0][rows])[:, None]
    held_rc = np.add.reduceat(held_rc, columns[:-1] - columns[0], axis=1)
    row_edges, column_edges = bounds[0][rows], bounds[1][columns]
    what = _map_words(row_edges, column_edges, bool(seen.parts))
    return Shown(held_rc, row_edges, column_edges, what)


def _map_words(row_edges: Array, column_edges: Array, fine: bool) -> str:
    rows, columns = np.diff(row_edges).max(), np.diff(column_edges).max()
    what = cell_words(rows, columns)
    if fine or rows == columns == 1:
        return what
    return f"{what}; this file holds no query and key, so it can be shown no finer"


def _touched(part: tuple[int, int], bounds: Array, cells: int) -> Array:
    """The blocks of the map that a range touches, in groups of equal size, and their end.

    While a text grows the last blocks are smaller than the others: as many go into a group as fit.
    """
    size, start = int(np.diff(bounds).max()), int(bounds[0])
    first, last = max(0, (part[0] - start) // size), -(-(part[1] - start) // size)
    group = max(1, -(-(last - first) // max(1, cells)))
    first -= first % group  # the same groups wherever one looks, so that panning does not flicker
    wanted = start + size * np.append(np.arange(first, last, group), last)
    return np.unique(np.searchsorted(bounds, np.minimum(wanted, bounds[-1])))
