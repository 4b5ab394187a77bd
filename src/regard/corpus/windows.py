"""Windows of a document: segments of its tokens that fit the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

WEIGHTS = 2**18  # weights of a layer in memory at once: a megabyte stays in the cache


class Window(NamedTuple):
    """A segment of one document that fits the model: its tokens, and how many came before."""

    start: int
    tokens: tuple[int, ...]


def cut(
    tokens: Sequence[int], window: int, first: Sequence[int] = (), last: Sequence[int] = ()
) -> list[Window]:
    """Windows of at most ``window`` tokens, ``first`` and ``last`` put around each.

    >>> [(x.start, x.tokens) for x in cut([5, 6, 7, 8, 9], window=3, last=[3])]
    [(0, (5, 6, 3)), (3, (7, 8, 3)), (6, (9, 3))]
    """
    step = window - len(first) - len(last)
    return [
        Window(number * window, (*first, *tokens[start : start + step], *last))
        for number, start in enumerate(range(0, max(1, len(tokens)), step))
    ]


@dataclass(frozen=True)
class LengthGroup:
    """Windows of one length: a slice of the windows, and the rows of their tokens."""

    windows: slice
    rows: slice
    length: int


def runs_of_windows(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Windows that run through the model together, the shortest first, about so many tokens each.

    >>> list(runs_of_windows([5, 2, 5, 9], tokens=8))
    [[1, 0], [2], [3]]
    """
    run: list[int] = []
    total = 0
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if run and total + lengths[i] > tokens:
            yield run
            run, total = [], 0
        run.append(i)
        total += lengths[i]
    if run:
        yield run


def groups_of_length(lengths: Sequence[int], heads: int) -> Iterator[LengthGroup]:
    """Windows of equal length, given in order of length, as many as fit WEIGHTS.

    >>> [(group.windows, group.length) for group in groups_of_length([2, 5, 5], heads=8)]
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
        yield LengthGroup(slice(start, stop), slice(row, row + rows), length)
        start, row = stop, row + rows
