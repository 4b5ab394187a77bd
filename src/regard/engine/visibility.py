"""Which keys each query may look at: masks, causal order, windows and lengths, tile by tile."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError

MaskRule = Callable[[NDArray[np.intp], NDArray[np.intp]], Any]
Mask = NDArray[Any] | MaskRule | None


@dataclass(frozen=True)
class Visibility:
    """What the queries of one call may look at; nothing of size q x k is ever made here.

    Key j is in the band of query i when ``i + offset - left <= j <= i + offset + right``.
    ``mask`` is a broadcast view of axes (..., h, q, k), or a rule, or None.
    """

    leading: tuple[int, ...]
    queries: int
    keys: int
    offset: int = 0
    left: int | None = None
    right: int | None = None
    mask: Mask = None
    lengths_h: NDArray[np.int64] | None = None

    def part(self, rows: slice, columns: slice) -> "Visibility":
        """What some of the queries see of some of the keys, both counted from 0 again.

        >>> Visibility((1,), queries=8, keys=8, right=0).part(slice(4, 8), slice(2, 6)).offset
        2
        """
        mask = self.mask
        if mask is not None:
            mask = _moved(mask, rows, columns) if callable(mask) else mask[..., rows, columns]
        keys, lengths_h = columns.stop - columns.start, self.lengths_h
        return replace(
            self,
            queries=rows.stop - rows.start,
            keys=keys,
            offset=self.offset + rows.start - columns.start,
            mask=mask,
            lengths_h=None if lengths_h is None else np.clip(lengths_h - columns.start, 0, keys),
        )

    def reach(self, heads: slice, rows: slice) -> slice:
        """The range of keys outside which none of these queries sees anything.

        >>> Visibility((1,), queries=4, keys=4, right=0).reach(slice(0, 1), slice(1, 3))
        slice(0, 3, None)
        """
        low = 0 if self.left is None else max(0, rows.start + self.offset - self.left)
        high = self.keys if self.right is None else rows.stop + self.offset + self.right
        if self.lengths_h is not None:
            high = min(high, int(self.lengths_h[heads].max(initial=0)))
        high = max(0, min(high, self.keys))
        return slice(min(low, high), high)

    def visible(self, heads: slice, rows: slice, columns: slice) -> NDArray[np.bool_] | None:
        """Where these queries may look, to broadcast over (h, q, k); None: everywhere.

        >>> Visibility((1,), queries=3, keys=3, right=0).visible(
        ...     slice(0, 1), slice(0, 3), slice(0, 3)).astype(int)
        array([[1, 0, 0],
               [1, 1, 0],
               [1, 1, 1]])
        """
        parts = [self._band(rows, columns), self._real(heads, columns)]
        if callable(self.mask):
            parts.append(ruled(self.mask, rows, columns))
        elif self.mask is not None:
            tile_hqk = self._mask_tile(heads, rows, columns)
            parts.append(tile_hqk if tile_hqk.dtype == bool else tile_hqk != -np.inf)
        found = [part for part in parts if part is not None]
        if not found:
            return None
        result = found[0]
        for part in found[1:]:
            result = result & part
        return result

    def visible_as(
        self, heads: slice, rows: slice, columns: slice, dtype: Any
    ) -> NDArray[Any] | None:
        """As visible, but 1.0 and 0.0, to multiply with; an ordinary causal tile is made once."""
        if self.mask is None and self._real(heads, columns) is None:
            if not self._cuts(rows, columns):
                return None
            first = rows.start + self.offset - columns.start
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            return _band_as(first, shape, self.left, self.right, dtype)
        visible = self.visible(heads, rows, columns)
        return None if visible is None else visible.astype(dtype)

    def bias(self, heads: slice, rows: slice, columns: slice) -> NDArray[Any] | None:
        """What a float mask adds to these scores; what it forbids (-inf) counts as 0 here."""
        if self.mask is None or callable(self.mask) or self.mask.dtype == bool:
            return None
        tile_hqk = self._mask_tile(heads, rows, columns)
        return np.where(tile_hqk == -np.inf, 0, tile_hqk)

    def audience(self, heads: int) -> NDArray[np.int64]:
        """How many queries may look at each key, (h, k).

        >>> Visibility((1,), queries=3, keys=3, right=0).audience(1)
        array([[3, 2, 1]])
        """
        if self.mask is not None:
            return self._counted(heads)
        at_k = np.arange(self.keys)
        first = 0 if self.right is None else at_k - self.right - self.offset
        last = self.queries - 1 if self.left is None else at_k + self.left - self.offset
        seen_k = np.minimum(last, self.queries - 1) - np.maximum(first, 0) + 1
        audience_hk = np.broadcast_to(np.maximum(seen_k, 0), (heads, self.keys))
        return (
            audience_hk
            if self.lengths_h is None
            else audience_hk * (at_k < self.lengths_h[:, None])
        )

    def _counted(self, heads: int) -> NDArray[np.int64]:
        """Count block by block what a mask lets through."""
        audience_hk = np.zeros((heads, self.keys), np.int64)
        step = max(1, 2**20 // max(1, self.keys))
        for head in range(heads):
            one = slice(head, head + 1)
            for start in range(0, self.queries, step):
                rows = slice(start, min(start + step, self.queries))
                visible = self.visible(one, rows, slice(0, self.keys))
                if visible is not None:
                    audience_hk[head] += np.broadcast_to(
                        visible, (1, rows.stop - rows.start, self.keys)
                    )[0].sum(axis=0)
        return audience_hk

    def _cuts(self, rows: slice, columns: slice) -> bool:
        """Whether an edge of the band runs through this tile."""
        first, last = rows.start + self.offset, rows.stop - 1 + self.offset
        cuts_left = self.left is not None and columns.start < last - self.left
        return cuts_left or (self.right is not None and columns.stop - 1 > first + self.right)

    def _band(self, rows: slice, columns: slice) -> NDArray[np.bool_] | None:
        if not self._cuts(rows, columns):
            return None
        first = rows.start + self.offset - columns.start
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        return _band_tile(first, shape, self.left, self.right)

    def _real(self, heads: slice, columns: slice) -> NDArray[np.bool_] | None:
        if self.lengths_h is None or int(self.lengths_h[heads].min()) >= columns.stop:
            return None
        at_k = np.arange(columns.start, columns.stop)
        return np.asarray(at_k < self.lengths_h[heads][:, None, None])

    def _mask_tile(self, heads: slice, rows: slice, columns: slice) -> NDArray[Any]:
        mask: Any = self.mask
        places = [np.unravel_index(h, self.leading) for h in range(heads.start, heads.stop)]
        tiles = [mask[place][rows, columns] for place in places]
        return tiles[0][None] if len(tiles) == 1 else np.stack(tiles)


def ruled(rule: MaskRule, rows: slice, columns: slice) -> NDArray[np.bool_]:
    """What a mask function says of a tile; positions go in as a column and a row.

    >>> ruled(lambda q, k: k < q, slice(0, 2), slice(0, 2)).astype(int)
    array([[0, 0],
           [1, 0]])
    """
    at_q1 = np.arange(rows.start, rows.stop)[:, None]
    at_1k = np.arange(columns.start, columns.stop)[None, :]
    tile_qk = np.asarray(rule(at_q1, at_1k))
    shape = (at_q1.size, at_1k.size)
    # A float tile would be read the wrong way round: 0.0, which hides nothing, counts as False.
    if tile_qk.dtype == bool:
        with contextlib.suppress(ValueError):
            return np.broadcast_to(tile_qk, shape)
    raise ArgumentError(
        f"mask, a function, needs to give bool values that broadcast to {shape}, "
        f"but it gave dtype {tile_qk.dtype} and shape {tile_qk.shape}."
    )


def _moved(rule: MaskRule, rows: slice, columns: slice) -> MaskRule:
    """The same rule for a part of the sequence, which counts its own positions from 0."""
    return lambda at_q, at_k: rule(at_q + rows.start, at_k + columns.start)


def _band_tile(
    first: int, shape: tuple[int, int], left: int | None, right: int | None
) -> NDArray[np.bool_]:
    """Where column j of a tile is in the band of its row i, which stands at column first + i."""
    at_q1 = np.arange(first, first + shape[0])[:, None]
    at_k = np.arange(shape[1])
    visible_qk = np.ones(shape, bool)
    if left is not None:
        visible_qk &= at_k >= at_q1 - left
    if right is not None:
        visible_qk &= at_k <= at_q1 + right
    return visible_qk


@lru_cache(maxsize=8)
def _band_as(
    first: int, shape: tuple[int, int], left: int | None, right: int | None, dtype: Any
) -> NDArray[Any]:
    visible_qk = _band_tile(first, shape, left, right).astype(dtype)
    visible_qk.flags.writeable = False
    return visible_qk
