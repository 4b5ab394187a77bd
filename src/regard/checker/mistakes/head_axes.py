"""Mistakes with heads: split, joined or shared in the wrong order."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.checker.cases import Case, join_heads, split_heads
from regard.checker.mistakes.entry import Mistake, changed, ignore_visibility
from regard.textbook.stages import softmax
from regard.typing import Array


def _cut(array_bhtd: Array) -> Array:
    """The heads that reshape alone makes of (b, t, h * d)."""
    return join_heads(array_bhtd).reshape(array_bhtd.shape)


def _joined_by_reshape(output_bhqv: Array) -> Array:
    b, h, q, v = output_bhqv.shape
    return split_heads(output_bhqv.reshape(b, q, h * v), h)


def _joined_interleaved(output_bhqv: Array) -> Array:
    b, h, q, v = output_bhqv.shape
    return split_heads(output_bhqv.transpose(0, 2, 3, 1).reshape(b, q, h * v), h)


def _across_heads(case: Case) -> tuple[Any, ...]:
    return tuple(array.swapaxes(1, 2) for array in (case.query, case.key, case.value))


def _tiled(array_bgkd: Array, heads: int) -> Array:
    return np.tile(array_bgkd, (1, heads // array_bgkd.shape[1], 1, 1))


def _as_one_head(case: Case) -> tuple[Any, ...]:
    return tuple(join_heads(array)[:, None] for array in (case.query, case.key, case.value))


def _by_joined_width(scores: Array, case: Case) -> Array:
    return np.asarray(scores / np.sqrt(case.query.shape[1] * case.query.shape[-1]))


def _heads_unused(query: Array, key: Array, value: Array, heads: int) -> Array:
    scores_bqk = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    return np.asarray(softmax(scores_bqk) @ value)


def _averaged(output_bhqv: Array) -> Array:
    mean = output_bhqv.mean(axis=1, keepdims=True)
    return np.asarray(np.broadcast_to(mean, output_bhqv.shape))


HEADS = (
    Mistake(
        "heads split by reshape without transposing",
        "(b, t, h * d) is reshaped straight to (b, h, t, d): the numbers fit, but a head gets "
        "whole words, cut up, and not its share of every word.",
        "query = query.reshape(b, t, h, d)\nquery = query.swapaxes(1, 2)",
        (changed(arrange=lambda case: (_cut(case.query), _cut(case.key), _cut(case.value))),),
    ),
    Mistake(
        "heads joined in the wrong order",
        "(b, h, t, d) is reshaped straight to (b, t, h * d), or its last axes are turned: the row "
        "of a word is filled with pieces of other words, or the heads are shuffled together.",
        "output = output.swapaxes(1, 2)\noutput = output.reshape(b, t, h * d)",
        (changed(join_heads=_joined_by_reshape), changed(join_heads=_joined_interleaved)),
    ),
    Mistake(
        "attention across heads",
        "The arrays are (b, t, h, d) where (b, h, t, d) was meant: in every word the heads look "
        "at each other, and no word ever sees another.",
        "query = query.swapaxes(1, 2)  # (b, t, h, d) to (b, h, t, d)\n"
        "scores = query @ key.swapaxes(-1, -2)",
        (
            changed(
                arrange=_across_heads,
                hide=ignore_visibility,
                empty_rows=ignore_visibility,
                join_heads=lambda output: output.swapaxes(1, 2),
            ),
        ),
    ),
    Mistake(
        "grouped heads tiled instead of interleaved",
        "Key heads 0 1 are repeated as 0 1 0 1 where 0 0 1 1 is meant (np.tile, tensor.repeat): "
        "every query head but the first and last meets another's keys.",
        "key = np.repeat(key, group, axis=1)  # torch: repeat_interleave\n"
        "value = np.repeat(value, group, axis=1)",
        (changed(repeat_heads=_tiled),),
    ),
    Mistake(
        "one head for all",
        "A number of heads is an argument, and no line uses it: one head looks with all features "
        "at once, scaled by the width of the model.",
        "query = query.reshape(b, t, heads, d)\nquery = query.swapaxes(1, 2)",
        (changed(arrange=_as_one_head, scale=_by_joined_width),),
        conduct=_heads_unused,
    ),
    Mistake(
        "heads averaged instead of joined",
        "The outputs of the heads are averaged where they should be concatenated: what each "
        "head found is mixed with the others.",
        "output = output.swapaxes(1, 2)\noutput = output.reshape(b, t, h * d)",
        (changed(join_heads=_averaged),),
    ),
)
