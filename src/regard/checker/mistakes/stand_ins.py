"""Results that are no attention at all: zeros, an input unchanged, NaN, equal weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from regard.checker.cases import Case
from regard.checker.mistakes.entry import Mistake, changed
from regard.textbook.stages import Trace
from regard.typing import Array

ATTENTION_FIX = (
    "weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(d))\noutput = weights @ value"
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


def _ones(masked: Array) -> Array:
    return np.ones(masked.shape)


def _queries_as_values(case: Case) -> tuple[Any, ...]:
    """Query in all three places: with the weights of an identity it comes back unchanged."""
    return case.query, case.query, case.query


def _identity(masked: Array) -> Array:
    return np.broadcast_to(np.eye(*masked.shape[-2:]), masked.shape)


def _unchanged_query(query: Array, key: Array, value: Array) -> Array:
    return query


def _with_query(case: Case, trace: Trace) -> Trace:
    return replace(trace, output=trace.output + trace.query)


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
        "scores = np.where(visible, scores, -np.inf)  # some key is visible in every row\n"
        "weights = softmax(scores)",
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
        (changed(normalise=_uniform), changed(normalise=_ones)),
    ),
    Mistake(
        "input added to the output",
        "The query, or what came in, is added to the result: the residual belongs into the block "
        "around attention, not into attention.",
        "output = weights @ value\nx = x + output  # outside, in the block",
        (changed(after=_with_query),),
    ),
)


def _unnamed(name: str, about: str, fix: str) -> Mistake:
    return Mistake(name, about, fix, unnamed=True)


UNNAMED = (
    _unnamed(
        "mask used wrongly",
        "Without a mask every number is right, with one they are not, and in no way that has a "
        "name here.",
        "scores = np.where(mask, scores, -np.inf)\nweights = softmax(scores)",
    ),
    _unnamed(
        "causal mask used wrongly",
        "Without the causal mask every number is right, with it they are not, and in no way that "
        "has a name here.",
        "visible = np.tri(queries, keys, dtype=bool)\nscores = np.where(visible, scores, -np.inf)",
    ),
    _unnamed(
        "padding used wrongly",
        "Without padding every number is right, with it they are not, and in no way that has a "
        "name here.",
        "real = np.arange(keys) < lengths[:, None, None, None]\n"
        "scores = np.where(real, scores, -np.inf)",
    ),
    _unnamed(
        "softcap used wrongly",
        "Without softcap every number is right, with it they are not, and in no way that has a "
        "name here.",
        "scores = softcap * np.tanh(scores / softcap)\nscores = np.where(visible, scores, -np.inf)",
    ),
    _unnamed(
        "scale used wrongly",
        "Without a scale every number is right, with one they are not, and in no way that has a "
        "name here.",
        "scale = 1 / np.sqrt(query.shape[-1]) if scale is None else scale\n"
        "scores = query @ key.swapaxes(-1, -2) * scale",
    ),
    _unnamed(
        "window used wrongly",
        "Without a window every number is right, with one they are not, and in no way that has a "
        "name here.",
        "visible = (gap >= -left) & (gap <= right)\nscores = np.where(visible, scores, -np.inf)",
    ),
    _unnamed(
        "offset used wrongly",
        "Without an offset every number is right, with one they are not, and in no way that has "
        "a name here.",
        "visible = np.arange(keys) <= np.arange(queries)[:, None] + offset\n"
        "scores = np.where(visible, scores, -np.inf)",
    ),
    _unnamed(
        "cached keys used wrongly",
        "Without keys of earlier calls every number is right, with them they are not: the cached "
        "ones come first, for keys and for values, and the queries are the last words.",
        "key = np.concatenate([past_key, key], axis=-2)\n"
        "value = np.concatenate([past_value, value], axis=-2)",
    ),
    _unnamed(
        "grouped heads used wrongly",
        "With as many key heads as query heads every number is right, with fewer they are not, "
        "and in no way that has a name here.",
        "key = np.repeat(key, group, axis=1)  # torch: repeat_interleave\n"
        "value = np.repeat(value, group, axis=1)",
    ),
)
GENERIC_BY_FEATURE = {
    "mask": "mask used wrongly",
    "causal": "causal mask used wrongly",
    "lengths": "padding used wrongly",
    "softcap": "softcap used wrongly",
    "scale": "scale used wrongly",
    "window": "window used wrongly",
    "offset": "offset used wrongly",
    "cache": "cached keys used wrongly",
    "grouped heads": "grouped heads used wrongly",
}
