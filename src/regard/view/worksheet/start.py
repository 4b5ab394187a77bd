"""A sentence in small whole numbers, so that its attention can be worked out by hand."""

from itertools import product

import numpy as np

from regard.errors import ArgumentError
from regard.inputs.words import split
from regard.self_attention.steps import Array, Steps, self_attention

TRIES = 500
LARGEST = 4.0  # e^4 is 55: no larger number turns up
CLEAR = (0.4, 0.85)  # a row worth reading: somebody stands out, nobody takes all


def by_hand(sentence: str, width: int = 2, seed: int = 0) -> Steps:
    """Whole numbers drawn at random until they make scores that are neither flat nor huge.

    A word that occurs twice has the same vector twice.

    >>> by_hand("I am good").x
    array([[1., 1.],
           [2., 1.],
           [1., 0.]])
    """
    words = split(sentence)
    if not 1 <= width <= 4:
        raise ArgumentError(
            f"width needs a whole number from 1 to 4, to be done by hand, but it is {width}."
        )
    if seed < 0:
        raise ArgumentError(f"seed needs a whole number from 0 up, but it is {seed}.")
    random = np.random.default_rng(seed)
    tries = (_draw(words, width, random) for _ in range(TRIES))
    best, fewest = next(tries), len(words) * 100
    for steps in tries:
        faults = _faults(steps)
        if faults < fewest:
            best, fewest = steps, faults
        if fewest == 0:
            break
    return best


def _draw(words: tuple[str, ...], width: int, random: np.random.Generator) -> Steps:
    """Different words get different vectors, none of them 0, as long as there are enough."""
    kinds = list(dict.fromkeys(words))
    top = 2 + int(len(kinds) > 3) + int(len(kinds) > 7)
    vectors = np.array(list(product(range(top + 1), repeat=width))[1:])
    chosen = random.permutation(len(vectors))
    of = {word: vectors[chosen[i % len(chosen)]] for i, word in enumerate(kinds)}
    matrices = [_matrix(width, random) for _ in range(3)]
    return self_attention([of[word] for word in words], *matrices, words=words)


def _matrix(width: int, random: np.random.Generator) -> Array:
    """Entries -1, 0 and 1, and nothing lost by it: its determinant is not 0."""
    while True:
        matrix = random.integers(-1, 2, (width, width)).astype(np.float64)
        if abs(np.linalg.det(matrix)) > 0.5:
            return matrix


def _faults(steps: Steps) -> int:
    """How many scores are huge, and how many rows tell nothing."""
    largest_q = steps.weights.max(axis=1)
    dull = (largest_q < CLEAR[0]) | (largest_q > CLEAR[1])
    return int((np.abs(steps.scaled) > LARGEST).sum() + dull.sum())
