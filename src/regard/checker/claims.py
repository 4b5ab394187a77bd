"""Intervals of numbers that were written with few digits, and arithmetic on them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from regard.typing import Array

# Between two exact computations in float64; far below any digit that somebody writes.
NOISE = 1e-9


@dataclass(frozen=True)
class Interval:
    """Numbers that lie in [low, high], element by element."""

    low: Array
    high: Array

    @classmethod
    def exactly(cls, array: Array) -> Interval:
        """The interval of exact numbers."""
        return cls(array, array)

    def overlaps(self, other: Interval) -> Array:
        """The elements in which the intervals have a number in common."""
        return np.asarray((self.low <= other.high + NOISE) & (other.low <= self.high + NOISE))

    def times(self, other: Interval) -> Interval:
        """The interval of the matrix product."""
        corners = np.stack(
            [
                a[..., :, None] * b[None, :, :]
                for a in (self.low, self.high)
                for b in (other.low, other.high)
            ]
        )
        return Interval(corners.min(axis=0).sum(axis=-2), corners.max(axis=0).sum(axis=-2))

    @property
    def transposed(self) -> Interval:
        """The interval of the transposed matrix."""
        return Interval(self.low.T, self.high.T)

    def scaled(self, factor: float) -> Interval:
        """The interval times a positive factor."""
        return Interval(self.low * factor, self.high * factor)

    def hidden(self, visible_k: Array) -> Interval:
        """The interval with minus infinity for hidden keys."""
        return Interval(
            np.where(visible_k, self.low, -np.inf), np.where(visible_k, self.high, -np.inf)
        )

    def softmax(self, visible_k: Array) -> Interval:
        """The interval of the softmax of each row; 0 for hidden keys.

        A weight is least with its own score lowest and all others highest.
        """
        low, high = np.zeros_like(self.low), np.zeros_like(self.high)
        seen_low, seen_high = self.low[:, visible_k], self.high[:, visible_k]
        low[:, visible_k] = _weights(seen_low, seen_high)
        high[:, visible_k] = _weights(seen_high, seen_low)
        return Interval(low, high)


@dataclass(frozen=True)
class Claimed:
    """One row or more of numbers with the digits they were written with."""

    numbers: Array
    decimals: Array

    @property
    def rounded(self) -> Interval:
        """The interval of numbers that round to these: 0.19 stands for 0.185 to 0.195."""
        half = 0.5 * 10.0**-self.decimals
        return Interval(self.numbers - half, self.numbers + half)

    @property
    def cut(self) -> Interval:
        """The interval of numbers cut to these: 0.19 to 0.20 for 0.19, -0.20 to -0.19 for -0.19."""
        unit = 10.0**-self.decimals
        below = np.where(self.numbers < 0, unit, 0)
        above = np.where(self.numbers >= 0, unit, 0)
        return Interval(self.numbers - below, self.numbers + above)

    @property
    def either(self) -> Interval:
        """The interval of numbers that are rounded or cut to these."""
        one, other = self.rounded, self.cut
        return Interval(np.minimum(one.low, other.low), np.maximum(one.high, other.high))

    def row(self, index: int) -> Claimed:
        """One row, as a matrix."""
        return Claimed(self.numbers[index : index + 1], self.decimals[index : index + 1])


def claimed_row(row: list[Any]) -> Claimed:
    """The claim of a row; a whole number among decimals has as many digits as the fewest of them.

    >>> claimed_row([0, Decimal("0.19"), Decimal("0.620")]).decimals
    array([[2., 2., 3.]])
    >>> claimed_row([0, 1]).decimals
    array([[0., 0.]])
    """
    written = [max(0, -int(Decimal(x).as_tuple().exponent)) for x in row]
    fewest = min(
        (n for n, x in zip(written, row, strict=True) if isinstance(x, Decimal)), default=0
    )
    decimals = [n if isinstance(x, Decimal) else fewest for n, x in zip(written, row, strict=True)]
    return Claimed(np.array([[float(x) for x in row]]), np.array([decimals], np.float64))


def _weights(scores: Array, others: Array) -> Array:
    """Each weight with its own score from one array and every other from the other."""
    with np.errstate(over="ignore"):
        gaps = others[..., None, :] - scores[..., :, None]
        e = np.exp(gaps)
    diagonal = np.arange(scores.shape[-1])
    e[..., diagonal, diagonal] = 1.0
    return np.asarray(1 / e.sum(axis=-1))
