"""Layouts of tokens over ranks: one run of tokens each, or two that balance causal work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError

LAYOUTS = ("contiguous", "zigzag")


@dataclass(frozen=True)
class Chunk:
    """A run of tokens: its slice in the rank's local arrays, and in the sequence."""

    local: slice
    sequence: slice


@dataclass(frozen=True)
class Layout:
    """The chunks of every rank, in the order of the rank's arrays."""

    ranks: tuple[tuple[Chunk, ...], ...]

    @property
    def tokens(self) -> int:
        return sum(self.token_count(rank) for rank in range(len(self.ranks)))

    def token_count(self, rank: int) -> int:
        return int(self.ranks[rank][-1].local.stop)

    def positions(self, rank: int) -> NDArray[np.int64]:
        runs = [np.arange(chunk.sequence.start, chunk.sequence.stop) for chunk in self.ranks[rank]]
        return np.concatenate(runs)


def build_layout(name: str, counts: Sequence[int], what: str) -> Layout:
    """The layout of this name in which rank i has ``counts[i]`` tokens.

    Contiguous slices may have any sizes; those of a zigzag follow from the number of tokens.
    """
    if name == "contiguous":
        edges = [0, *accumulate(counts)]
        return Layout(tuple((Chunk(slice(0, b - a), slice(a, b)),) for a, b in pairwise(edges)))
    layout = zigzag(sum(counts), len(counts))
    for rank, tokens in enumerate(counts):
        if tokens != layout.token_count(rank):
            raise ArgumentError(
                f"rank {rank} must have {layout.token_count(rank):,} of {sum(counts):,} {what} in "
                f"layout 'zigzag', got {tokens:,}: cut the arrays with "
                "regard.distributed.cut(array, layout='zigzag')."
            )
    return layout


def zigzag(tokens: int, ranks: int) -> Layout:
    """The layout of twice as many chunks as ranks: one from the front, one from the back for each.

    So under a causal mask every rank sees about as many keys as any other.

    >>> zigzag(8, 2).positions(0), zigzag(8, 2).positions(1)
    (array([0, 1, 6, 7]), array([2, 3, 4, 5]))
    """
    edges = [i * tokens // (2 * ranks) for i in range(2 * ranks + 1)]
    front, back = edges[: ranks + 1], edges[ranks:][::-1]
    pairs = zip(pairwise(front), pairwise(back), strict=True)
    return Layout(tuple(_two(slice(a, b), slice(d, c)) for (a, b), (c, d) in pairs))


def _two(front: slice, back: slice) -> tuple[Chunk, ...]:
    middle = front.stop - front.start
    return (
        Chunk(slice(0, middle), front),
        Chunk(slice(middle, middle + back.stop - back.start), back),
    )


def positions(
    tokens: int, rank: int, ranks: int, *, layout: str = "contiguous"
) -> NDArray[np.int64]:
    """The positions of a rank's tokens in a sequence, sizes being as equal as they can be.

    >>> positions(10, rank=1, ranks=3)
    array([3, 4, 5])
    >>> positions(10, rank=1, ranks=3, layout="zigzag")
    array([1, 2, 6, 7])
    """
    check_layout(layout)
    if not 0 <= rank < ranks:
        raise ArgumentError(f"rank must be from 0 to {ranks - 1}, got {rank}.")
    if layout == "zigzag":
        return zigzag(tokens, ranks).positions(rank)
    return np.arange(rank * tokens // ranks, (rank + 1) * tokens // ranks)


def check_layout(layout: str) -> None:
    """Raise unless there is a layout of this name."""
    if layout not in LAYOUTS:
        raise ArgumentError(f"layout must be 'contiguous' or 'zigzag', got {layout!r}.")
