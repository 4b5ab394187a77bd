"""Plan of a call: its units of work, chosen from its shape alone so that results never vary."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.engine.call import Cost, Problem
from regard.engine.threads import threads

TILE_ROWS, TILE_COLUMNS = 512, 512  # a tile of 1 MB in float32: two of them stay near the core
# Scores in a unit of several heads. Small units contend for Python's lock; large tiles do not fit
# the cache, and panels never do.
TILE_SCORES, UNIT_SCORES, PANEL_SCORES = 2**18, 2**20, 2**21
PANEL_BYTES = 2**25  # full rows of one worker
MIN_PANEL_ROWS = 128  # fewer rows than this make the products slow


@dataclass(frozen=True)
class Unit:
    """A range of heads and of queries that one worker computes at a time."""

    heads: slice
    rows: slice


@dataclass(frozen=True)
class TilePlan:
    """The path of a call, and the sizes of its units and tiles.

    ``one pass``: tiles of keys stream past each block of queries; enough for what belongs to rows.
    ``panel``: full rows of a block of queries are held at once, so columns can be summed too.
    ``two passes``: as one pass, then the scores again for what belongs to columns.
    """

    name: str
    heads: int
    rows: int
    columns: int

    def units(self, problem: Problem) -> list[Unit]:
        """Every unit of work; the last queries first, since under a causal mask they see most."""
        queries = problem.visibility.queries
        starts = range(0, queries, self.rows)
        return [
            Unit(
                slice(h, min(h + self.heads, problem.heads)), slice(q, min(q + self.rows, queries))
            )
            for h in range(0, problem.heads, self.heads)
            for q in reversed(starts)
        ]


def choose(problem: Problem, column_facts: bool) -> TilePlan:
    """Pick a plan: panel while a block of full rows fits a worker's share of memory, else tiles."""
    queries, keys = problem.visibility.queries, max(1, problem.visibility.keys)
    if not column_facts:
        return _tiles("one pass", problem)
    rows = PANEL_BYTES // (keys * problem.dtype.itemsize)
    if rows < MIN_PANEL_ROWS and rows < queries:
        return _tiles("two passes", problem)
    # A panel has margins of zeros as wide as its number of rows: with few keys take few rows.
    most = min(_block_rows(problem), max(MIN_PANEL_ROWS, keys // 8))
    rows = max(1, min(rows // 32 * 32 or rows, most, queries))
    return TilePlan("panel", _heads_in_unit(problem, rows * keys, PANEL_SCORES), rows, TILE_COLUMNS)


def _tiles(name: str, problem: Problem) -> TilePlan:
    queries, keys = problem.visibility.queries, max(1, problem.visibility.keys)
    rows = max(1, min(_block_rows(problem), queries))
    # With few queries (a decoding step has one) a wider tile keeps the calls to NumPy few.
    columns = max(TILE_COLUMNS, min(2**13, TILE_ROWS * TILE_COLUMNS // rows))
    most = TILE_SCORES if queries > TILE_ROWS else UNIT_SCORES
    return TilePlan(name, _heads_in_unit(problem, rows * min(columns, keys), most), rows, columns)


def _block_rows(problem: Problem) -> int:
    """Under a band, smaller blocks waste less at its edge; more than 512 rows gain nothing."""
    if problem.visibility.left is None and problem.visibility.right is None:
        return TILE_ROWS
    return min(TILE_ROWS, max(128, problem.visibility.keys // 8))


def _heads_in_unit(problem: Problem, scores: int, most: int) -> int:
    """Number of small heads in one unit, at most half of them so that a second core has work."""
    return max(1, min(most // max(1, scores), math.ceil(problem.heads / 2)))


def cost(problem: Problem, plan: TilePlan) -> Cost:
    """The cost of a plan: products of its units, and working memory of its workers."""
    width, value_width = problem.query_hqd.shape[-1], problem.value_gkv.shape[-1]
    products = {"one pass": 1, "panel": 1, "two passes": 2}[plan.name] * width + value_width
    seen = 0
    widest = 0
    for unit in plan.units(problem):
        reach = problem.visibility.reach(unit.heads, unit.rows)
        block = (unit.heads.stop - unit.heads.start) * (unit.rows.stop - unit.rows.start)
        seen += block * (reach.stop - reach.start)
        widest = max(
            widest, block * _numbers_in_memory(plan, reach.stop - reach.start, value_width)
        )
    workers = min(threads(), max(1, len(plan.units(problem))))
    return Cost(plan.name, 2 * seen * products, workers * widest * problem.dtype.itemsize)


def _numbers_in_memory(plan: TilePlan, reach: int, value_width: int) -> int:
    tile = min(plan.columns, reach)
    return 2 * tile + 2 * value_width + (reach if plan.name == "panel" else 0)
