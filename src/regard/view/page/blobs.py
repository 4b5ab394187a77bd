"""Compressed arrays as base64 text inside a page, decoded on first use.

A table has one of three forms:

    float32   every weight
    float16   every weight to three digits
    largest   the largest weights of each row to three digits with their keys, and the rest's sum

Numbers of two bytes are laid out as all low bytes, then all high bytes: the high ones are much
alike and compress well.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field

import numpy as np

from regard.typing import Array

MOST_EXACT = 150_000  # weights in all: up to here every weight in float32
MOST_DENSE = 700_000  # up to here every weight in float16
MOST_ENTRIES = 3_200_000  # beyond, so many of the largest ones, about 10 MB of page
MOST_IN_ROW, LEAST_IN_ROW = 40, 4


@dataclass
class Blobs:
    """Deflated blocks of bytes, concatenated as base64; each is addressed by its span."""

    blocks: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, content: bytes) -> list[int]:
        """Append a block and return its span: where it begins and its length, in characters."""
        compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
        text = base64.b64encode(compressor.compress(content) + compressor.flush()).decode()
        span = [self.length, len(text)]
        self.blocks.append(text)
        self.length += len(text)
        return span

    @property
    def text(self) -> str:
        """All blocks."""
        return "".join(self.blocks)


@dataclass(frozen=True)
class Form:
    """Encoding of a page's tables: its ``name``, and how many weights it stores per row."""

    name: str
    per_row: int = 0


def choose_form(rows: int, columns: int) -> Form:
    """The most precise form that stays small, for so many rows of all tables together.

    >>> choose_form(144 * 64, 64).name, choose_form(144 * 512, 512)
    ('float16', Form(name='largest', per_row=40))
    """
    if rows * columns <= MOST_EXACT:
        return Form("float32")
    if rows * columns <= MOST_DENSE:
        return Form("float16")
    per_row = max(LEAST_IN_ROW, min(MOST_IN_ROW, MOST_ENTRIES // max(1, rows)))
    return Form("largest", min(per_row, columns))


def pack_table(weights_qk: Array, form: Form) -> tuple[bytes, float]:
    """A table in a form, and the share of its weights that the form leaves out."""
    if form.name == "float32":
        return weights_qk.astype("<f4").tobytes(), 0.0
    if form.name == "float16":
        return planes(weights_qk.astype("<f2")), 0.0
    return _largest(weights_qk, form.per_row)


def planes(array: Array) -> bytes:
    """All low bytes, then all high bytes, of numbers of two bytes.

    >>> planes(np.array([0x0102, 0x0304], "<u2"))
    b'\\x02\\x04\\x01\\x03'
    """
    by_byte: Array = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, 2)
    return bytes(by_byte.T.tobytes())


def small_picture(weights_lhqk: Array) -> bytes:
    """The shades of thumbnails: the root of each weight in 256 steps, as the page draws it."""
    steps: Array = np.rint(255 * np.sqrt(np.clip(weights_lhqk, 0, 1)))
    return bytes(steps.astype(np.uint8).tobytes())


def _largest(weights_qk: Array, per_row: int) -> tuple[bytes, float]:
    """Counts, keys as differences, weights, and the sum of the other weights, of each row."""
    rows, columns = weights_qk.shape
    keys_qn = np.sort(
        np.argpartition(weights_qk, columns - per_row, axis=1)[:, columns - per_row :]
    )
    weights_qn = np.take_along_axis(weights_qk, keys_qn, axis=1).astype(np.float64)
    positive_qn = weights_qn > 0
    rest_q = np.maximum(weights_qk.sum(axis=1, dtype=np.float64) - weights_qn.sum(axis=1), 0)
    counts_q = positive_qn.sum(axis=1)
    keys, weights = keys_qn[positive_qn], weights_qn[positive_qn]
    steps = np.diff(keys, prepend=0)
    starts = np.cumsum(counts_q)[:-1]
    starts = starts[starts < len(keys)]
    steps[starts] = keys[starts]
    parts = (counts_q.astype("<u2"), steps.astype("<u2"), weights.astype("<f2"),
             rest_q.astype("<f2"))  # fmt: skip
    return b"".join(map(planes, parts)), float(rest_q.mean()) if rows else 0.0
