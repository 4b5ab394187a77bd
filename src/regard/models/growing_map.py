"""A map that grows as tokens are generated: blocks are added, and larger ones made when many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.tiles.plan import blocks
from regard.self_attention.tiles.problem import Array

Edges = NDArray[np.int64]


@dataclass
class GrowingMap:
    """Mean weight of a block of queries on a block of keys, (h, r, c); counts_hr queries a block.

    What the first call saw keeps its blocks; later keys get blocks of the same width, later
    queries one each. Above twice ``most`` of either, neighbours become one, in the blocks that
    ``observe`` would cut: sums of columns and weighted means of rows stay exact.
    """

    map_hrc: Array
    counts_hr: Array
    row_edges: Edges
    column_edges: Edges
    most: int

    @classmethod
    def of(
        cls, map_hrc: Array, live_hq: Array, starts: tuple[int, int], keys: int, most: int
    ) -> GrowingMap:
        """The map of a first call as ``observe`` made it; ``starts`` of its rows and columns."""
        row_edges = blocks(live_hq.shape[1], map_hrc.shape[1])
        counts_hr = np.add.reduceat(live_hq, row_edges[:-1], axis=1, dtype=np.int64)
        columns = blocks(keys, map_hrc.shape[2]) + starts[1]
        return cls(map_hrc, counts_hr, row_edges + starts[0], columns, most)

    @property
    def width(self) -> int:
        """How many keys a new block gets."""
        return int(np.diff(self.column_edges).max(initial=1))

    def add(self, weights_hqk: Array, live_hq: Array, column_start: int) -> None:
        """Every weight of some more queries, on keys from column_start on."""
        self._reach(column_start + weights_hqk.shape[2])
        sums_hqc = self._by_column(weights_hqk, column_start)
        self.map_hrc = np.concatenate([self.map_hrc, sums_hqc], axis=1)
        self.counts_hr = np.concatenate([self.counts_hr, live_hq.astype(np.int64)], axis=1)
        first = int(self.row_edges[-1])
        more = np.arange(first + 1, first + 1 + weights_hqk.shape[1])
        self.row_edges = np.concatenate([self.row_edges, more])
        if self.map_hrc.shape[1] > 2 * self.most:
            self._merge_rows()
        if self.map_hrc.shape[2] > 2 * self.most:
            self._merge_columns()

    def _reach(self, keys: int) -> None:
        """The last block is filled up before a new one begins."""
        width, edges = self.width, self.column_edges.tolist()
        blocks_before = len(edges) - 1
        while edges[-1] < keys:
            room = width - (edges[-1] - edges[-2]) if len(edges) > 1 else 0
            if room > 0:
                edges[-1] = min(keys, edges[-1] + room)
            else:
                edges.append(min(keys, edges[-1] + width))
        self.column_edges = np.array(edges)
        more = len(edges) - 1 - blocks_before
        if more:
            self.map_hrc = np.pad(self.map_hrc, ((0, 0), (0, 0), (0, more)))

    def _by_column(self, weights_hqk: Array, column_start: int) -> Array:
        stop = column_start + weights_hqk.shape[2]
        inside = np.clip(self.column_edges, column_start, stop) - column_start
        full = np.diff(inside) > 0
        sums_hqc = np.zeros((*weights_hqk.shape[:2], len(inside) - 1), self.map_hrc.dtype)
        if full.any():
            sums_hqc[..., full] = np.add.reduceat(weights_hqk, inside[:-1][full], axis=2)
        return sums_hqc

    def _merge_rows(self) -> None:
        self.row_edges, groups = self._fewer(self.row_edges)
        totals_hrc = np.add.reduceat(self.map_hrc * self.counts_hr[..., None], groups, axis=1)
        self.counts_hr = np.add.reduceat(self.counts_hr, groups, axis=1)
        self.map_hrc = totals_hrc / np.maximum(self.counts_hr, 1)[..., None]

    def _merge_columns(self) -> None:
        self.column_edges, groups = self._fewer(self.column_edges)
        self.map_hrc = np.add.reduceat(self.map_hrc, groups, axis=2)

    def _fewer(self, edges: Edges) -> tuple[Edges, Edges]:
        """The edges of larger blocks, and which of the old ones each begins with."""
        fewer = blocks(edges[-1] - edges[0], self.most) + edges[0]
        return fewer, np.searchsorted(edges, fewer[:-1])
