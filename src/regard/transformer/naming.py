"""Parts of the transformer that hold attention, and checked numbers of layers and heads."""

from typing import Any

import numpy as np

from regard.errors import ArgumentError

PARTS = ("encoder", "decoder", "cross")


def check_part(part: str) -> None:
    """Raise an ArgumentError unless this is one of PARTS."""
    if part not in PARTS:
        raise ArgumentError(
            f"part needs to be 'encoder', 'decoder' or 'cross', but it is {part!r}."
        )


def check_number(name: str, number: Any, total: int) -> int:
    """The number of a layer or head, from 0 and below ``total``, as an int.

    >>> check_number("layer", np.int64(3), 6)
    3
    """
    if not isinstance(number, int | np.integer) or not 0 <= number < total:
        raise ArgumentError(
            f"{name} needs a number from 0 to {total - 1} ({name}s count from 0), but it is "
            f"{number!r}."
        )
    return int(number)
