"""Windows of like length side by side, so that nothing needs padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WEIGHTS = 2**18  # weights of a layer held at once: a megabyte stays in the cache


@dataclass(frozen=True)
class Alike:
    """Windows of one length: which they are, and the rows of their tokens."""

    windows: slice
    rows: slice
    length: int


def together(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Runs of windows, the shortest first, of about so many tokens each.

    >>> list(together([5, 2, 5, 9], tokens=8))
    [[1, 0], [2], [3]]
    """
    chosen: list[int] = []
    held = 0
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if chosen and held + lengths[i] > tokens:
            yield chosen
            chosen, held = [], 0
        chosen.append(i)
        held += lengths[i]
    if chosen:
        yield chosen


def alike(lengths: Sequence[int], heads: int) -> Iterator[Alike]:
    """Windows of equal length, given in order of length, as many as keep weights in the cache.

    >>> [(group.windows, group.length) for group in alike([2, 5, 5], heads=8)]
    [(slice(0, 1, None), 2), (slice(1, 3, None), 5)]
    """
    start = row = 0
    while start < len(lengths):
        length = lengths[start]
        most = max(1, WEIGHTS // (heads * length * length))
        stop = start + 1
        while stop < len(lengths) and lengths[stop] == length and stop - start < most:
            stop += 1
        rows = (stop - start) * length
        yield Alike(slice(start, stop), slice(row, row + rows), length)
        start, row = stop, row + rows
