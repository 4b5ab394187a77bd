"""What the reader of the steps gives: numbers and words, checked."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import ArgumentError
from regard.shapes import expect

Array = NDArray[np.float64]


def floats(name: str, array: ArrayLike) -> Array:
    """Any numbers as float64; what is not a finite number is an error that says where."""
    try:
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} needs numbers in rows of equal length.") from None
    if not np.isfinite(numbers).all():
        place = [int(i) for i in np.argwhere(~np.isfinite(numbers))[0]]
        raise ArgumentError(
            f"{name} has {numbers[tuple(place)]} at {place}: it needs finite numbers."
        )
    return numbers


def projections(parameters: dict[str, ArrayLike], width: int, heads: int) -> dict[str, Array]:
    """w_query, w_key and w_value, each (e, h * d), as float64."""
    matrices = {name: floats(name, matrix) for name, matrix in parameters.items()}
    for name, matrix in matrices.items():
        expect(name, matrix, "e hd", e=width)
        if heads < 1 or matrix.shape[1] % heads:
            raise ArgumentError(
                f"heads needs to divide the {matrix.shape[1]} columns of {name}, but it is {heads}."
            )
    expect("w_key", matrices["w_key"], "e hd", hd=matrices["w_query"].shape[1])
    return matrices


def named(words: Any, x_te: Array) -> Any:
    """A tuple of words a sentence, one word for each row of x; numbers where none are given.

    >>> named(None, np.zeros((3, 8)))
    ('0', '1', '2')
    """
    tokens = x_te.shape[-2]
    sentences = [words] if x_te.ndim == 2 else words
    if words is None:
        numbers = tuple(str(i) for i in range(tokens))
        return numbers if x_te.ndim == 2 else (numbers,) * x_te.shape[0]
    if len(sentences) != math.prod(x_te.shape[:-2]) or any(len(s) != tokens for s in sentences):
        raise ArgumentError(
            f"words needs one word for each of the {tokens} rows of x"
            + ("" if x_te.ndim == 2 else f", for each of its {x_te.shape[0]} sentences")
            + f", but it has {[len(s) for s in sentences]}."
        )
    tuples = tuple(tuple(str(word) for word in sentence) for sentence in sentences)
    return tuples[0] if x_te.ndim == 2 else tuples
