"""Which tokens each rank holds: one run of them, or two that balance causal work."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, count

LAYOUTS = ("contiguous", "zigzag")


@dataclass(frozen=True)
class Chunk:
    """Tokens that follow each other: ``here`` in the rank's own arrays, ``there`` in the whole."""

    here: slice
    there: slice


@dataclass(frozen=True)
class Layout:
    """The chunks of every rank, in the order in which the rank holds them."""

    ranks: tuple[tuple[Chunk, ...], ...]

    @property
    def tokens(self) -> int:
        """How many there are in all."""
        return sum(self.held(rank) for rank in range(len(self.ranks)))

    def held(self, rank: int) -> int:
        """How many tokens a rank holds."""
        return int(self.ranks[rank][-1].here.stop)

    def positions(self, rank: int) -> NDArray[np.int64]:
        """Where in the whole a rank's tokens stand."""
        runs = [np.arange(chunk.there.start, chunk.there.stop) for chunk in self.ranks[rank]]
        return np.concatenate(runs)


def laid_out(name: str, counts: Sequence[int], what: str) -> Layout:
    """The layout of this name in which each rank holds so many tokens.

    Contiguous slices may have any sizes; those of a zigzag follow from the number of tokens.
    """
    if name == "contiguous":
        edges = [0, *accumulate(counts)]
        return Layout(tuple((Chunk(slice(0, b - a), slice(a, b)),) for a, b in pairwise(edges)))
    layout = zigzag(sum(counts), len(counts))
    for rank, held in enumerate(counts):
        if held != layout.held(rank):
            raise ArgumentError(
                f"layout 'zigzag' gives rank {rank} {layout.held(rank):,} of {sum(counts):,} "
                f"{what}, but it holds {held:,}: cut the whole with "
                "regard.distributed.cut(array, layout='zigzag')."
            )
    return layout


def zigzag(tokens: int, ranks: int) -> Layout:
    """Cut into twice as many chunks as ranks; a rank holds one from the front, one from the back.

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
    """Which of so many tokens a rank holds, sizes being as equal as they can be.

    >>> positions(10, rank=1, ranks=3)
    array([3, 4, 5])
    >>> positions(10, rank=1, ranks=3, layout="zigzag")
    array([1, 2, 6, 7])
    """
    check_layout(layout)
    if not 0 <= rank < ranks:
        raise ArgumentError(
            f"rank needs a number from 0 to {ranks - 1}, there being {count(ranks, 'rank')}, "
            f"but it is {rank}."
        )
    if layout == "zigzag":
        return zigzag(tokens, ranks).positions(rank)
    return np.arange(rank * tokens // ranks, (rank + 1) * tokens // ranks)


def check_layout(layout: str) -> None:
    """Say what there is, where something else was asked for."""
    if layout not in LAYOUTS:
        raise ArgumentError(f"layout needs 'contiguous' or 'zigzag', but it is {layout!r}.")
