"""Positions inside attention: rotary embeddings of both orders, biases by distance."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from regard.typing import Array

BASE = 10000.0


@lru_cache(maxsize=64)
def _angles(tokens: int, width: int) -> Array:
    """The angle of every token and pair of features, (t, d / 2)."""
    frequency = BASE ** (-np.arange(0, width, 2) / width)
    angles = np.outer(np.arange(tokens), frequency)
    angles.flags.writeable = False  # one array serves many calls
    return angles


def rotation(tokens: int, width: int, position: str) -> tuple[Array, Array]:
    """cos and sin as a function takes them: (t, d) for halves, (t, d / 2) for pairs."""
    angles = _angles(tokens, width)
    if position == "rotary, halves":
        angles = np.concatenate([angles, angles], axis=-1)
    if position == "no rotation":
        return np.ones((tokens, width)), np.zeros((tokens, width))
    return np.cos(angles), np.sin(angles)


def rotated(array_bhtd: Array, position: str, back: bool = False) -> Array:
    """Every token turned by its position; ``back`` turns it back."""
    tokens, width = array_bhtd.shape[-2:]
    if width % 2:
        return array_bhtd
    angles = _angles(tokens, width) * (-1 if back else 1)
    cos, sin = np.cos(angles), np.sin(angles)
    half = width // 2
    pairs = "pairs" in position
    first = array_bhtd[..., 0::2] if pairs else array_bhtd[..., :half]
    second = array_bhtd[..., 1::2] if pairs else array_bhtd[..., half:]
    one, other = first * cos - second * sin, second * cos + first * sin
    if pairs:
        return np.stack([one, other], axis=-1).reshape(array_bhtd.shape)
    return np.concatenate([one, other], axis=-1)


def slope_bias(slopes_h: Array, queries: int, keys: int, position: str) -> Array:
    """Bias (h, q, k) by distance: slope * (j - i), or minus slope times its size."""
    gap_qk = (np.arange(keys) - np.arange(queries)[:, None]).astype(np.float64)
    if position == "distance":
        gap_qk = -np.abs(gap_qk)
    return slopes_h[None, :, None, None] * gap_qk
