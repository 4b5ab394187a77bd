"""Words of a sentence and random vectors for them, as in the third document."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError

WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class RandomStart:
    """Vectors and parameters before any training: x (t, e), the three matrices (e, e)."""

    words: tuple[str, ...]
    x: NDArray[np.float64]
    w_query: NDArray[np.float64]
    w_key: NDArray[np.float64]
    w_value: NDArray[np.float64]


def split(sentence: str) -> tuple[str, ...]:
    """The words of a sentence; each punctuation mark is a word of its own.

    >>> split("Smart robots don't stop.")
    ('Smart', 'robots', "don't", 'stop', '.')
    """
    words = tuple(WORD.findall(sentence))
    if not words:
        raise ArgumentError(f"sentence must have at least one word, got {sentence!r}.")
    return words


def random_start(sentence: str, width: int, seed: int) -> RandomStart:
    """Random numbers from 0 to 1 for every vector and matrix, the same ones for the same seed.

    >>> random_start("The cat sat", width=8, seed=0).x.shape
    (3, 8)
    """
    if width < 1:
        raise ArgumentError(f"width must be a whole number from 1 up, got {width}.")
    if seed < 0:
        raise ArgumentError(f"seed must be a whole number from 0 up, got {seed}.")
    words = split(sentence)
    random = np.random.default_rng(seed)
    x_te = random.random((len(words), width))
    w_query, w_key, w_value = (random.random((width, width)) for _ in range(3))
    return RandomStart(words, x_te, w_query, w_key, w_value)
