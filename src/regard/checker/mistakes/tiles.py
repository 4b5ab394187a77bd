"""Mistakes of tiles: a running sum that is not rescaled, a last tile that is left out."""

from __future__ import annotations

from functools import partial

import numpy as np

from regard.checker.mistakes.entry import Mistake, changed
from regard.textbook.stages import softmax
from regard.typing import Array

TILES = (1, 2, 4, 8, 16, 32, 64, 128)  # keys of a tile


def _unrescaled(keys: int, rescaled_sum: bool, masked: Array) -> Array:
    """Weights by running maxima, each tile shifted by the one that it met alone."""
    starts = range(0, masked.shape[-1], keys)
    tops = [masked[..., at : at + keys].max(axis=-1, keepdims=True) for at in starts]
    running = np.maximum.accumulate(np.concatenate(tops, axis=-1), axis=-1)
    shift = np.repeat(running, keys, axis=-1)[..., : masked.shape[-1]]
    e = np.exp(masked - shift)
    total = np.exp(masked - shift[..., -1:]) if rescaled_sum else e
    return np.asarray(e / total.sum(axis=-1, keepdims=True))


def _without_last(keys: int, masked: Array) -> Array:
    """Weights of whole tiles of keys alone; nothing, divided by nothing, where there is none."""
    whole = masked.shape[-1] // keys * keys
    return softmax(np.where(np.arange(masked.shape[-1]) < whole, masked, -np.inf))


def _without_last_of_many(keys: int, masked: Array) -> Array:
    return _without_last(keys, masked) if masked.shape[-1] >= keys else softmax(masked)


TILED = (
    Mistake(
        "running sum not rescaled",
        "The keys are taken tile by tile, and where a tile raises the running maximum, what was "
        "summed before keeps its old shift. With one tile, or falling maxima, nothing shows.",
        "rescale = np.exp(old_maximum - new_maximum)\n"
        "total, output = total * rescale, output * rescale  # then add the tile",
        tuple(
            changed(normalise=partial(_unrescaled, keys, rescaled))
            for keys in TILES
            for rescaled in (True, False)
        ),
    ),
    Mistake(
        "last tile of keys left out",
        "The loop runs over keys // tile tiles: what is left over at the end is never seen. Where "
        "the number of keys is a multiple of the tile all is well.",
        "tiles = -(-keys // tile)  # rounded up\n"
        "for start in range(0, keys, tile): ...  # the last tile is shorter",
        tuple(
            changed(normalise=partial(make, keys))
            for keys in TILES[1:]
            for make in (_without_last_of_many, _without_last)
        ),
    ),
)
