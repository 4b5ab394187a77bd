"""Layers and heads as people count them, from 1, and the three places where attention happens."""

from typing import Any

import numpy as np

from regard.errors import ArgumentError

PLACES = ("encoder", "decoder", "across")


def check_where(where: str) -> None:
    """One of the three places."""
    if where not in PLACES:
        raise ArgumentError(
            f"where needs to be 'encoder', 'decoder' or 'across', but it is {where!r}."
        )


def from_one(name: str, number: Any, last: int) -> int:
    """An index from 0 for a layer or head that is counted from 1.

    >>> from_one("layer", 4, 6)
    3
    """
    if not isinstance(number, int | np.integer) or not 1 <= number <= last:
        raise ArgumentError(
            f"{name} needs a number from 1 to {last} ({name}s count from 1), but it is {number!r}."
        )
    return int(number) - 1
