"""Results that are no attention at all: zeros, an input unchanged, NaN, equal weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from regard.checker.cases import Case
from regard.checker.mistakes.entry import Mistake, changed
from regard.typing import Array

ATTENTION_FIX = (
    "scaled = query @ key.swapaxes(-1, -2) / np.sqrt(d)\noutput = softmax(scaled) @ value"
)


def _zeros(weights: Array, value: Array) -> Array:
    return np.zeros((*weights.shape[:-1], value.shape[-1]))


def _nans(weights: Array, value: Array) -> Array:
    return np.full((*weights.shape[:-1], value.shape[-1]), np.nan)


def _values(weights: Array, value: Array) -> Array:
    if weights.shape[-1] != weights.shape[-2]:
        raise ValueError("values fit as many queries as keys alone")
    return value


def _uniform(masked: Array) -> Array:
    return np.full(masked.shape, 1 / masked.shape[-1])


def _queries_as_values(case: Case) -> tuple[Any, ...]:
    """Query in all three places: with the weights of an identity it comes back unchanged."""
    return case.query, case.query, case.query


def _identity(masked: Array) -> Array:
    return np.broadcast_to(np.eye(*masked.shape[-2:]), masked.shape)


def _unchanged_query(query: Array, key: Array, value: Array) -> Array:
    return query


STAND_INS = (
    Mistake(
        "output is zero everywhere",
        "Every number that comes back is 0: an array was made and never filled, or a line is still "
        "to be written.",
        ATTENTION_FIX,
        (changed(sum_values=_zeros),),
    ),
    Mistake(
        "NaN everywhere",
        "Every number that comes back is NaN: all keys are hidden from all queries, or something "
        "is divided by zero.",
        "scores = np.where(visible, scores, -np.inf)  # in no row all\nweights = softmax(scores)",
        (changed(sum_values=_nans),),
    ),
    Mistake(
        "value returned unchanged",
        "What comes back is the value as it went in: no word has looked at another.",
        ATTENTION_FIX,
        (changed(sum_values=_values),),
    ),
    Mistake(
        "query returned unchanged",
        "What comes back is the query as it went in: no word has looked at another.",
        ATTENTION_FIX,
        (changed(arrange=_queries_as_values, normalise=_identity),),
        conduct=_unchanged_query,
    ),
    Mistake(
        "all weights alike",
        "The output is the mean, or the sum, of all values: the scores play no part in it.",
        ATTENTION_FIX,
        (changed(normalise=_uniform), changed(normalise=lambda masked: np.ones(masked.shape))),
    ),
    Mistake(
        "input added to the output",
        "The query, or what came in, is added to the result: the residual belongs into the block "
        "around attention, not into attention.",
        "output = weights @ value\nx = x + output  # outside, in the block",
        (changed(after=lambda case, trace: replace(trace, output=trace.output + trace.query)),),
    ),
)


def _unnamed(name: str, using: str, fix: str) -> Mistake:
    about = f"The numbers are wrong {using}, right without, and no known mistake gives them."
    return Mistake(f"{name} used wrongly", about, fix, unnamed=True)


# By feature: the mistake that is reported where only the feature that is wrong is known.
GENERIC_BY_FEATURE = {
    "mask": _unnamed(
        "mask",
        "with a mask",
        "scores = np.where(mask, scores, -np.inf)\nweights = softmax(scores)",
    ),
    "causal": _unnamed(
        "causal mask",
        "with the causal mask",
        "visible = np.tri(queries, keys, dtype=bool)\nscores = np.where(visible, scores, -np.inf)",
    ),
    "lengths": _unnamed(
        "padding",
        "with padding",
        "real = np.arange(keys) < lengths[:, None, None, None]\n"
        "scores = np.where(real, scores, -np.inf)",
    ),
    "softcap": _unnamed(
        "softcap",
        "with a softcap",
        "scores = softcap * np.tanh(scores / softcap)\nscores = np.where(visible, scores, -np.inf)",
    ),
    "scale": _unnamed(
        "scale",
        "with a scale",
        "scale = 1 / np.sqrt(query.shape[-1]) if scale is None else scale\n"
        "scores = query @ key.swapaxes(-1, -2) * scale",
    ),
    "window": _unnamed(
        "window",
        "with a window",
        "visible = (gap >= -left) & (gap <= right)\nscores = np.where(visible, scores, -np.inf)",
    ),
    "offset": _unnamed(
        "offset",
        "with an offset",
        "visible = np.arange(keys) <= np.arange(queries)[:, None] + offset\n"
        "scores = np.where(visible, scores, -np.inf)",
    ),
    "cache": _unnamed(
        "cached keys",
        "with keys of earlier calls (they come first, and the queries are the last words)",
        "key = np.concatenate([past_key, key], axis=-2)\n"
        "value = np.concatenate([past_value, value], axis=-2)",
    ),
    "grouped heads": _unnamed(
        "grouped heads",
        "with fewer key heads than query heads",
        "key = np.repeat(key, group, axis=1)  # torch: repeat_interleave\n"
        "value = np.repeat(value, group, axis=1)",
    ),
}
UNNAMED = tuple(GENERIC_BY_FEATURE.values())
