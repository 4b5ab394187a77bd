"""Medians of the last numbers of every head, kept sorted: one number goes in, one goes out."""

from __future__ import annotations

import numpy as np

from regard.typing import Array

NORMAL = 1.4826  # the standard deviation of a normal distribution by its median deviation


class RunningMedian:
    """The median and the noise of the last ``window`` numbers of each column, an odd number.

    Examples
    --------
    >>> running = RunningMedian(window=3)
    >>> for number in (1.0, 9.0, 4.0, 5.0):
    ...     running.push(np.array([number]))
    >>> running.median.tolist(), (running.noise / NORMAL).tolist()
    ([5.0], [1.0])
    """

    def __init__(self, window: int = 21) -> None:
        self.window, self.pushed = window, 0
        self._rows: Array = np.zeros(0)
        self._sorted: Array = np.zeros(0)

    @property
    def full(self) -> bool:
        return self.pushed >= self.window

    def push(self, row: Array) -> None:
        """Take the next number of each column; the oldest goes."""
        if not self.pushed:
            self._rows = np.zeros((self.window, *row.shape), np.float32)
            self._sorted = np.full_like(self._rows, np.inf)
        at = self.pushed % self.window
        gone = self._rows[at] if self.full else np.full(row.shape, np.inf)
        below, rows = self._sorted[:-1], self._sorted
        others = np.where(below < gone, below, rows[1:])  # sorted, without the one that goes
        rows[0], rows[1:] = -np.inf, others
        np.maximum(rows, row, out=rows)  # each place has the larger of the new one and its left
        np.minimum(rows[:-1], others, out=rows[:-1])
        self._rows[at] = row
        self.pushed += 1

    @property
    def median(self) -> Array:
        middle: Array = self._sorted[self.window // 2]
        return middle

    @property
    def noise(self) -> Array:
        """The median deviation from the median, as a standard deviation.

        Half of the numbers and one more, beside each other in their order, have the median among
        them; their largest deviation is smallest for those that are nearest.
        """
        half = self.window // 2
        middle = self._sorted[half]
        left, right = self._sorted[: half + 1], self._sorted[half:]
        nearest: Array = np.maximum(middle - left, right - middle).min(axis=0)
        return NORMAL * nearest
