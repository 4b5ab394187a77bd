"""The k largest entries of each row, without sorting rows.

The k largest lie in the k groups of columns with the largest maxima. So group maxima are made
first, in one pass of plain SIMD, then maxima of those; the search goes down from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.typing import Array

TILES_PER_SPAN = 8  # tiles that share their maxima, column by column
# Inside a tile each level keeps the maxima of groups of four of the level below.
COLUMNS_PER_GROUP = 4
MAX_SORTED_WIDTH = 128  # rows this short are sorted as they are
COLUMN_BITS = 2**32 - 1  # mask of the column in a packed value and column


@dataclass
class Best:
    """The best entries so far: values from high to low, and the columns they came from."""

    values_hqn: Array
    columns_hqn: NDArray[np.int64]

    @classmethod
    def empty(cls, shape: tuple[int, ...], number: int, dtype: np.dtype[Any], floor: float) -> Best:
        """No entries yet: every value at the floor, every column -1."""
        full = (*shape, number)
        return cls(np.full(full, floor, dtype), np.full(full, -1, np.int64))

    def update(self, tile_hqk: Array, start: int) -> None:
        """Take in a tile of each row whose first column is ``start``.

        After a few tiles most rows hold nothing new: only rows whose maximum beats their
        k-th best are looked at.
        """
        worst_hq = self.values_hqn[..., -1]
        rows = np.nonzero(tile_hqk.max(axis=-1, initial=-np.inf) > worst_hq)
        if rows[0].size:
            new = largest(tile_hqk[rows], self.values_hqn.shape[-1])
            self._merge(rows, new[0], new[1] + start)

    def become_weights(self, shift_hq: Array, inverse_hq: Array) -> None:
        """Turn base-2 scores t into weights 2^(t - shift) * inverse."""
        e_hqn = np.exp2(self.values_hqn - shift_hq[..., None])
        self.values_hqn[...] = e_hqn * inverse_hq[..., None]
        self.drop_weightless()

    def drop_weightless(self) -> None:
        """Set the columns of entries without weight to -1."""
        weighted = (self.values_hqn > 0) & (self.columns_hqn >= 0)
        np.copyto(self.values_hqn, 0, where=~weighted)
        np.copyto(self.columns_hqn, -1, where=~weighted)

    def _merge(
        self, rows: tuple[NDArray[np.intp], ...], values_rn: Array, columns_rn: NDArray[np.int64]
    ) -> None:
        values = np.concatenate([self.values_hqn[rows], values_rn], axis=-1)
        columns = np.concatenate([self.columns_hqn[rows], columns_rn], axis=-1)
        order = np.argsort(-values, axis=-1, kind="stable")[:, : self.values_hqn.shape[-1]]
        self.values_hqn[rows] = np.take_along_axis(values, order, axis=-1)
        self.columns_hqn[rows] = np.take_along_axis(columns, order, axis=-1)


@dataclass(frozen=True)
class Groups:
    """Maxima over groups of columns, taken tile by tile while a tile is still close to the core.

    Column c of a span is the maximum of column c of eight tiles in a row: that is a group.
    """

    maxima_shqc: Array  # s: span
    tile: int

    @classmethod
    def blank(cls, buffer_shqc: Array, floor: float) -> Groups:
        buffer_shqc.fill(floor)
        return cls(buffer_shqc, buffer_shqc.shape[-1])

    def take(self, t_hqk: Array, index: int) -> None:
        """Take in the tile with this index; the last one may be narrower."""
        span_hqc = self.maxima_shqc[index // TILES_PER_SPAN, ..., : t_hqk.shape[-1]]
        np.maximum(span_hqc, t_hqk, out=span_hqc)

    def columns(self, number: int) -> NDArray[np.int64]:
        """The columns of each row's best groups, (h * q, columns); some may lie past the last."""
        spans, heads, queries, tile = self.maxima_shqc.shape
        maxima = np.moveaxis(self.maxima_shqc, 0, 2).reshape(heads * queries, spans * tile)
        _, groups_rn = largest(maxima, min(number, spans * tile))
        start_rn = groups_rn // tile * (TILES_PER_SPAN * tile) + groups_rn % tile
        return _inside(start_rn, tile, TILES_PER_SPAN)


def largest(tile_rk: Array, number: int) -> tuple[Array, NDArray[np.int64]]:
    """The ``number`` largest entries of each row, high to low, and their columns.

    >>> values, columns = largest(np.array([[3.0, 9.0, 1.0, 7.0]]), 2)
    >>> values, columns
    (array([[9., 7.]]), array([[1, 3]]))
    >>> largest(np.zeros((1, 3000), np.float32), 4)[1]
    array([[0, 1, 2, 3]])
    """
    levels = _levels(tile_rk, number)
    values_rn, columns_rn = _best_entries(levels[-1], np.arange(levels[-1].shape[1]), number)
    for level in levels[-2::-1]:
        inside_rn = _inside(columns_rn, level.shape[1] // COLUMNS_PER_GROUP, COLUMNS_PER_GROUP)
        values_rn, columns_rn = largest_among(level, inside_rn, number)
    return values_rn, columns_rn


def largest_among(
    tile_rk: Array, columns_rn: NDArray[np.int64], number: int
) -> tuple[Array, NDArray[np.int64]]:
    """The largest entries of each row among some of its columns."""
    return _best_entries(_gather(tile_rk, columns_rn), columns_rn, number)


def _levels(tile_rk: Array, number: int) -> list[Array]:
    """The tile, the maxima of its groups of four columns, the maxima of groups of those, ..."""
    levels = [tile_rk]
    while (width := levels[-1].shape[1]) > max(MAX_SORTED_WIDTH, COLUMNS_PER_GROUP * number):
        if width % COLUMNS_PER_GROUP:
            tail = ((0, 0), (0, -width % COLUMNS_PER_GROUP))
            levels[-1] = np.pad(levels[-1], tail, constant_values=-np.inf)
        folded = levels[-1].reshape(len(tile_rk), COLUMNS_PER_GROUP, -1).max(axis=1)
        levels.append(folded)
    return levels


def _inside(groups_rn: NDArray[np.int64], width: int, size: int) -> NDArray[np.int64]:
    """The columns of the level below that these groups of some size are the maxima of."""
    steps_s1 = width * np.arange(size)[:, None]
    return (groups_rn[:, None, :] + steps_s1).reshape(len(groups_rn), -1)


def _best_entries(
    values_rn: Array, columns_rn: NDArray[np.int64], number: int
) -> tuple[Array, NDArray[np.int64]]:
    """The largest of a few values, high to low, and their columns, which are below 2^32.

    A float32 value and its column fit into one whole number, value * 2^32 - column: sorting those
    takes a third of the time of argsort, nothing is gathered afterwards, and of equal values the
    smaller column comes first.
    """
    best = slice(None, -number - 1, -1)
    if values_rn.dtype != np.float32:
        order_rn = np.argsort(values_rn, axis=1)[:, best]
        columns_rn = np.broadcast_to(columns_rn, values_rn.shape)
        return _gather(values_rn, order_rn), _gather(columns_rn, order_rn)
    both_rn = _in_order(values_rn.view(np.int32)).astype(np.int64)
    both_rn <<= 32
    both_rn -= columns_rn
    both_rn.sort(axis=1)
    best_rn = both_rn[:, best]
    values_rn = _in_order(((best_rn + COLUMN_BITS) >> 32).astype(np.int32)).view(np.float32)
    return values_rn, -best_rn & COLUMN_BITS


def _in_order(bits: NDArray[np.int32]) -> NDArray[np.int32]:
    """The bits of float32 as whole numbers in the same order, and back: below 0 they run down."""
    return bits ^ ((bits >> 31) & (2**31 - 1))


def _gather(level_rk: Array, columns_rn: NDArray[np.int64]) -> Array:
    """take_along_axis, at four times its speed."""
    starts = np.arange(len(level_rk))[:, None] * level_rk.shape[1]
    gathered: Array = np.take(level_rk.reshape(-1), columns_rn + starts)
    return gathered
