"""Forms and shapes of masks: how a mask (b, h, q, k) of visible keys is handed to a function.

Forms: bool (True may look), hides (True hides), added (0 and -inf), ones (1 and 0), ones hide.
Shapes: full, b1qk, bqk, qk, and for masks of keys alone b11k, b1k, bk, k; given: as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.typing import Array

FORMS = {
    "bool": "True may look",
    "added": "0 and -inf, added",
    "ones": "1 may look, 0 may not",
    "hides": "True hides",
    "ones hide": "1 hides, 0 does not",
}
OF_KEYS = ("b11k", "b1k", "bk", "k")


def in_form(visible: Array, form: str) -> Array:
    """A bool mask, True where a key is visible, in the form that a function takes."""
    if form == "added":
        return np.where(visible, 0.0, -np.inf)
    if form == "ones":
        return visible.astype(np.float64)
    if form == "ones hide":
        return 1.0 - visible
    return ~visible if form == "hides" else visible


def expand_mask(mask_qk: Array, shape: str, leading: tuple[int, int]) -> Array:
    """A mask (b or 1, h or 1, q or 1, k) that differs wherever the shape lets it.

    Another sentence and another head get the keys rolled along, so that a mask of the first one
    used for all is a mistake that shows.
    """
    batch, heads = leading
    if shape in OF_KEYS:
        rows = _rows_of_sentences(mask_qk, batch if "b" in shape else 1)
        return mask_qk[rows][:, None, None]
    if shape in ("qk", "given"):
        return mask_qk[None, None]
    heads = heads if shape == "full" else 1
    rolled = [[np.roll(mask_qk, 2 * b + h, axis=-1) for h in range(heads)] for b in range(batch)]
    return np.asarray(rolled)


def _rows_of_sentences(mask_qk: Array, batch: int) -> list[int]:
    """A row for each sentence; the last gets the empty row where there is one."""
    rows = [b % len(mask_qk) for b in range(batch)]
    empty = np.flatnonzero(~mask_qk.any(axis=-1))
    if mask_qk.dtype == bool and empty.size:
        rows[-1] = int(empty[0])
    return rows


def in_shape(
    mask_bhqk: Array, shape: str, sizes: tuple[int, int, int, int], axes: tuple[bool, bool]
) -> Array:
    """The mask with the axes that a function takes; ``axes``: whether it has batch and heads."""
    b, h, q, k = sizes
    batched, headed = axes
    if shape == "full":
        leading = ((b,) if batched else ()) + ((h,) if headed else ())
        broadcast = np.broadcast_to(mask_bhqk, (b, h, q, k))
        return broadcast.reshape(*leading, q, k) if len(leading) < 2 else broadcast
    picked: dict[str, Any] = {"qk": (0, 0), "bqk": (slice(None), 0), "b1k": (slice(None), 0),
              "bk": (slice(None), 0, 0), "k": (0, 0, 0)}  # fmt: skip
    return mask_bhqk[picked[shape]] if shape in picked else mask_bhqk


def shapes_for(batched: bool, headed: bool) -> tuple[str, ...]:
    """The shapes of masks to try, the one that can say most first."""
    if not batched:
        return ("full", "qk", "k") if headed else ("full", "k")
    if headed:
        return ("full", "b1qk", "bqk", "qk", "b11k", "b1k", "bk")
    return ("full", "qk", "b1k", "bk")
