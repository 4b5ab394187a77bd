"""Visibility of keys to queries: band (causal, window), lengths and masks.

Every other part of the engine asks this module; nothing of size q x k is made beyond the tile or
the pairs that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.textbook.options import Mask, MaskRule, rule_at, rule_tile


@dataclass(frozen=True)
class Visibility:
    """Visibility of every key to every query of one call.

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

    @property
    def is_band(self) -> bool:
        """Whether the band alone decides: neither mask nor lengths, and all heads are alike."""
        return self.mask is None and self.lengths_h is None

    def part(self, rows: slice, columns: slice) -> Visibility:
        """Visibility among a range of queries and a range of keys, both counted from 0 again.

        >>> Visibility((1,), queries=8, keys=8, right=0).part(slice(4, 8), slice(2, 6)).offset
        2
        """
        mask = self.mask
        if mask is not None:
            mask = _shifted(mask, rows, columns) if callable(mask) else mask[..., rows, columns]
        keys, lengths_h = columns.stop - columns.start, self.lengths_h
        return replace(
            self,
            queries=rows.stop - rows.start,
            keys=keys,
            offset=self.offset + rows.start - columns.start,
            mask=mask,
            lengths_h=None if lengths_h is None else np.clip(lengths_h - columns.start, 0, keys),
        )

    def subsample(self, head: int, rows: NDArray[np.intp]) -> Visibility:
        """Visibility of one head for some of its queries, counted from 0 again, as a mask function.

        >>> causal = Visibility((1,), queries=4, keys=4, right=0)
        >>> some = causal.subsample(0, np.array([1, 3]))
        >>> some.visible(slice(0, 1), slice(0, 2), slice(0, 4)).astype(int)
        array([[1, 1, 0, 0],
               [1, 1, 1, 1]])
        """

        def rule(at_q1: NDArray[np.intp], at_1k: NDArray[np.intp]) -> NDArray[np.bool_]:
            one = slice(head, head + 1)
            tile_qk: NDArray[np.bool_] = self.visible_at(one, rows[at_q1[:, 0]][None], at_1k)[0, 0]
            return tile_qk

        return Visibility((1,), len(rows), self.keys, mask=rule)

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
        """True where a query of a tile may look at a key, to broadcast over (h, q, k).

        None where all of them may look at all.

        >>> Visibility((1,), queries=3, keys=3, right=0).visible(
        ...     slice(0, 1), slice(0, 3), slice(0, 3)).astype(int)
        array([[1, 0, 0],
               [1, 1, 0],
               [1, 1, 1]])
        """
        parts = [self._band(rows, columns), self._real(heads, columns)]
        if callable(self.mask):
            parts.append(rule_tile(self.mask, rows, columns))
        elif self.mask is not None:
            parts.append(_allowed(self._mask_tile(heads, rows, columns)))
        limits = [part for part in parts if part is not None]
        return reduce(np.logical_and, limits) if limits else None

    def visible_at(
        self, heads: slice, rows_ma: NDArray[np.intp], columns_mb: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """As ``visible`` for m lists of queries, each with its list of keys, (h, m, a, b).

        A view whose first axis has no stride where all heads are alike.

        >>> causal = Visibility((2,), queries=8, keys=8, right=0)
        >>> causal.visible_at(slice(0, 2), np.array([[3, 7]]), np.array([[0, 5]]))[0, 0].astype(int)
        array([[1, 0],
               [1, 1]])
        """
        at_ma1, at_m1b = rows_ma[..., None] + self.offset, columns_mb[:, None, :]
        visible_mab = _in_band(at_ma1, at_m1b, self.left, self.right)
        if callable(self.mask):
            for m, (rows_a, columns_b) in enumerate(zip(rows_ma, columns_mb, strict=True)):
                visible_mab[m] &= rule_at(self.mask, rows_a[:, None], columns_b[None, :])
        shape = (heads.stop - heads.start, *visible_mab.shape)
        visible_hmab: NDArray[np.bool_] = np.broadcast_to(visible_mab, shape)
        if self.lengths_h is not None:
            visible_hmab = visible_hmab & (at_m1b < self.lengths_h[heads, None, None, None])
        masked_hmab = self._mask_at(heads, rows_ma, columns_mb)
        return visible_hmab if masked_hmab is None else visible_hmab & _allowed(masked_hmab)

    def visible_as(
        self, heads: slice, rows: slice, columns: slice, dtype: Any
    ) -> NDArray[Any] | None:
        """As ``visible`` with 1.0 and 0.0, to multiply with; a tile of the band alone is cached."""
        if self.mask is None and self._real(heads, columns) is None:
            if not self._cuts(rows, columns):
                return None
            first = rows.start + self.offset - columns.start
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            return _band_as(first, shape, self.left, self.right, dtype)
        visible = self.visible(heads, rows, columns)
        return None if visible is None else visible.astype(dtype)

    def bias(self, heads: slice, rows: slice, columns: slice) -> NDArray[Any] | None:
        """The summand of a float mask for a tile of scores, 0 where it forbids (-inf)."""
        if self.mask is None or callable(self.mask) or self.mask.dtype == bool:
            return None
        return _finite(self._mask_tile(heads, rows, columns))

    def bias_at(
        self, heads: slice, rows_ma: NDArray[np.intp], columns_mb: NDArray[np.intp]
    ) -> NDArray[Any] | None:
        """As ``bias`` for m lists of queries, each with its list of keys, (h, m, a, b)."""
        masked_hmab = self._mask_at(heads, rows_ma, columns_mb)
        return None if masked_hmab is None or masked_hmab.dtype == bool else _finite(masked_hmab)

    def key_ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The keys that each query sees without a mask: from low up to but not including high.

        Both are (h, q), one row where all heads agree.

        >>> Visibility((1,), queries=3, keys=3, left=1, right=0).key_ranges()
        (array([[0, 0, 1]]), array([[1, 2, 3]]))
        """
        at_1q = np.arange(self.queries)[None] + self.offset
        lengths_h1 = np.array([[self.keys]])
        if self.lengths_h is not None:
            lengths_h1 = np.unique(self.lengths_h)[:1, None]
            if (self.lengths_h != lengths_h1[0, 0]).any():
                lengths_h1 = self.lengths_h[:, None]
        low_1q = np.zeros_like(at_1q) if self.left is None else np.maximum(at_1q - self.left, 0)
        high_hq = np.broadcast_to(lengths_h1, (len(lengths_h1), self.queries))
        if self.right is not None:
            high_hq = np.minimum(high_hq, at_1q + self.right + 1)
        return np.broadcast_to(low_1q, high_hq.shape), high_hq

    def audience(self, heads: int) -> NDArray[np.int64]:
        """The number of queries that may look at each key, (h, k).

        >>> Visibility((1,), queries=3, keys=3, right=0).audience(1)
        array([[3, 2, 1]])
        """
        if self.mask is not None:
            return self._masked_audience(heads)
        at_k = np.arange(self.keys)
        first = 0 if self.right is None else at_k - self.right - self.offset
        last = self.queries - 1 if self.left is None else at_k + self.left - self.offset
        queries_k = np.minimum(last, self.queries - 1) - np.maximum(first, 0) + 1
        audience_hk = np.broadcast_to(np.maximum(queries_k, 0), (heads, self.keys))
        if self.lengths_h is None:
            return audience_hk
        return audience_hk * (at_k < self.lengths_h[:, None])

    def _masked_audience(self, heads: int) -> NDArray[np.int64]:
        """The audience under a mask, counted block by block."""
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
        if (
            self.lengths_h is None
            or int(self.lengths_h[heads].min(initial=self.keys)) >= columns.stop
        ):
            return None
        at_k = np.arange(columns.start, columns.stop)
        return np.asarray(at_k < self.lengths_h[heads][:, None, None])

    def _mask_tile(self, heads: slice, rows: slice, columns: slice) -> NDArray[Any]:
        tiles = [mask_qk[rows, columns] for mask_qk in self._head_masks(heads)]
        return tiles[0][None] if len(tiles) == 1 else _stacked(tiles)

    def _mask_at(
        self, heads: slice, rows_ma: NDArray[np.intp], columns_mb: NDArray[np.intp]
    ) -> NDArray[Any] | None:
        if self.mask is None or callable(self.mask):
            return None
        at_ma1, at_m1b = rows_ma[..., None], columns_mb[:, None, :]
        return _stacked([mask_qk[at_ma1, at_m1b] for mask_qk in self._head_masks(heads)])

    def _head_masks(self, heads: slice) -> Iterator[NDArray[Any]]:
        """The mask (q, k) of each head: a view, where a flat axis of heads might need a copy."""
        mask: Any = self.mask
        for head in range(heads.start, heads.stop):
            yield mask[np.unravel_index(head, self.leading)]


def _shifted(rule: MaskRule, rows: slice, columns: slice) -> MaskRule:
    """The same mask function for a part of the sequence, whose positions count from 0."""
    return partial(_rule_from, rule, rows.start, columns.start)  # unlike a lambda it can be pickled


def _rule_from(
    rule: MaskRule, row: int, column: int, at_q: NDArray[np.intp], at_k: NDArray[np.intp]
) -> Any:
    return rule(at_q + row, at_k + column)


def _stacked(tiles: list[NDArray[Any]]) -> NDArray[Any]:
    """Tiles under an axis of heads; a call without heads has none, and any shape will do."""
    return np.stack(tiles) if tiles else np.ones((0, 1, 1), bool)


def _allowed(mask: NDArray[Any]) -> NDArray[np.bool_]:
    return mask if mask.dtype == bool else mask != -np.inf


def _finite(mask: NDArray[Any]) -> NDArray[Any]:
    return np.where(mask == -np.inf, 0, mask)


def _in_band(
    at_q: NDArray[np.intp], at_k: NDArray[np.intp], left: int | None, right: int | None
) -> NDArray[np.bool_]:
    """True where key position k is in the band of query position q, the offset included."""
    visible = np.ones(np.broadcast_shapes(at_q.shape, at_k.shape), bool)
    if left is not None:
        visible &= at_k >= at_q - left
    if right is not None:
        visible &= at_k <= at_q + right
    return visible


def _band_tile(
    first: int, shape: tuple[int, int], left: int | None, right: int | None
) -> NDArray[np.bool_]:
    """The band in a tile whose row i stands at column first + i."""
    at_q1 = np.arange(first, first + shape[0])[:, None]
    return _in_band(at_q1, np.arange(shape[1]), left, right)


@lru_cache(maxsize=8)
def _band_as(
    first: int, shape: tuple[int, int], left: int | None, right: int | None, dtype: Any
) -> NDArray[Any]:
    visible_qk = _band_tile(first, shape, left, right).astype(dtype)
    visible_qk.flags.writeable = False
    return visible_qk
