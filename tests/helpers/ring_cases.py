"""Which cases run on how many ranks, cut how."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.helpers.attention_cases import CASES, Case

from regard.distributed import positions

RINGS = (1, 2, 3, 4)
SLICE = 512  # tokens a rank holds where its memory is measured


@dataclass(frozen=True)
class Slices:
    """A way to cut tokens into slices, one for each rank."""

    name: str
    layout: str
    gathered: bool = False  # keys and values at once instead of around the ring
    device: bool = False  # torch tensors by the path of a GPU, although on the CPU


EVEN, ZIGZAG = Slices("even", "contiguous"), Slices("zigzag", "zigzag")
UNEVEN = Slices("uneven", "contiguous")
EVEN_AT_ONCE = Slices("even, at once", "contiguous", True)
ZIGZAG_AT_ONCE = Slices("zigzag, at once", "zigzag", True)
UNEVEN_AT_ONCE = Slices("uneven, at once", "contiguous", True)
ZIGZAG_TENSORS = Slices("zigzag, tensors", "zigzag", device=True)
UNEVEN_TENSORS = Slices("uneven, tensors", "contiguous", device=True)
# Hardly a case has a number of tokens that ranks divide, so even and zigzag slices differ in size
# as well; uneven ones differ much.
WAYS = {
    1: (EVEN, EVEN_AT_ONCE),
    2: (ZIGZAG, UNEVEN_AT_ONCE, ZIGZAG_TENSORS),
    3: (UNEVEN, ZIGZAG_AT_ONCE, UNEVEN_TENSORS),
    4: (EVEN, ZIGZAG),
}


def taken(slices: Slices, tokens: int, rank: int, ranks: int) -> np.ndarray:
    """Which tokens a rank holds; uneven slices grow from rank to rank, and the first is empty."""
    if slices not in (UNEVEN, UNEVEN_AT_ONCE, UNEVEN_TENSORS):
        return positions(tokens, rank, ranks, layout=slices.layout)
    edges = [tokens * i * i // (ranks * ranks) if i > 1 else 0 for i in range(ranks + 1)]
    edges[-1] = tokens
    return np.arange(edges[rank], edges[rank + 1])


def is_repeat(number: int, ranks: int, slices: Slices) -> bool:
    """Whether other runs of a case show as much: if so, it is for the night.

    Every case runs on one rank, and around a ring, at once and as tensors on two ranks or three:
    two of the three ways on two ranks, and the third on three. On four ranks runs every fourth.
    """
    if ranks == 1:
        return False
    if ranks == 4:
        return number % 4 > 0
    third = WAYS[ranks][number % 3]
    return (slices is third) == (ranks == 2)


def cases_of(ranks: int) -> Iterator[tuple[str, Case, Slices, bool]]:
    """Every case with some ways to cut it, and whether it is a repeat."""
    for slices in WAYS[ranks]:
        for number, case in enumerate(CASES):
            yield f"{case}, {slices.name}", case, slices, is_repeat(number, ranks, slices)


def parameters() -> list[Any]:
    """What a test of every run takes: ranks, name, case, slices."""
    return [
        pytest.param(
            ranks, name, case, slices, id=f"{ranks} ranks, {name}",
            marks=[pytest.mark.nightly] if repeat else [],
        )
        for ranks in RINGS
        for name, case, slices, repeat in cases_of(ranks)
    ]  # fmt: skip
