"""Mistakes of scores: the wrong arrays, a key that is not transposed, a wrong scale."""

from __future__ import annotations

import numpy as np

from regard.checker.cases import Case
from regard.checker.mistakes.entry import Mistake, changed, ignore_visibility
from regard.textbook.stages import softmax
from regard.typing import Array


def _by_model_width(scores: Array, case: Case) -> Array:
    return np.asarray(scores / np.sqrt(case.query.shape[1] * case.query.shape[-1]))


def _by_input_width(scores: Array, case: Case) -> Array:
    if not case.sources:
        return _by_model_width(scores, case)
    return np.asarray(scores / np.sqrt(case.sources[0].shape[-1]))


def _by_keys(scores: Array, case: Case) -> Array:
    return np.asarray(scores / np.sqrt(case.key.shape[2]))


def _by_queries(scores: Array, case: Case) -> Array:
    return np.asarray(scores / np.sqrt(case.query.shape[2]))


def _dotted(query: Array, key: Array) -> Array:
    if query.shape[:2] == (1, 1):
        raise ValueError("one matrix alone is multiplied rightly")
    return np.asarray(np.dot(query, key.swapaxes(-1, -2)))


DOTTED = changed(
    score=_dotted,
    hide=ignore_visibility,
    empty_rows=ignore_visibility,
    sum_values=lambda weights, value: np.dot(weights, value),
)


def _reshaped(query: Array, key: Array) -> Array:
    b, h, k, d = key.shape
    return np.asarray(query @ key.reshape(b, h, d, k))


def _against_distance(scores: Array, case: Case) -> Array:
    if case.bias is None:
        raise ValueError("there is no bias by distance")
    return np.asarray(scores - 2 * case.bias)  # the right one is added to it afterwards


def _growing_with_distance(query: Array, key: Array, value: Array, slopes: Array) -> Array:
    places = (np.arange(n) for n in (query.shape[-2], key.shape[-2]))
    distance = np.abs(np.subtract.outer(*places))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    return np.asarray(softmax(scores + slopes[:, None, None] * distance) @ value)


def _unit(array: Array) -> Array:
    return np.asarray(array / np.sqrt((array**2).sum(axis=-1, keepdims=True)))


SCORES = (
    Mistake(
        "no scaling",
        "The scores go into the softmax as they are. With few features the result looks right; "
        "with 64 the scores have a spread of 8 and most rows look at a single word.",
        "scores = query @ key.swapaxes(-1, -2)\nscores = scores / np.sqrt(query.shape[-1])",
        (changed(scale=lambda scores, case: scores),),
    ),
    Mistake(
        "scaling by d",
        "The scores are divided by the head width d, not by its square root. It looks right "
        "because the formula has d in it; the weights come out too even.",
        "d = query.shape[-1]\nscores = query @ key.swapaxes(-1, -2) / np.sqrt(d)",
        (changed(scale=lambda scores, case: scores / case.query.shape[-1]),),
    ),
    Mistake(
        "scaling by the model width",
        "The scores are divided by the square root of the width of all heads together. Inside a "
        "class the model width is the number that is there; each head has only its share of it.",
        "d = model_width // heads\nscores = query @ key.swapaxes(-1, -2) / np.sqrt(d)",
        (changed(scale=_by_model_width), changed(scale=_by_input_width)),
    ),
    Mistake(
        "scaling by the number of keys",
        "The scores are divided by the square root of the number of keys: key.shape[-2] or "
        "scores.shape[-1] was read where the head width was meant.",
        "d = key.shape[-1]\nscores = query @ key.swapaxes(-1, -2) / np.sqrt(d)",
        (changed(scale=_by_keys), changed(scale=_by_queries)),
    ),
    Mistake(
        "scaling by a power without brackets",
        "d ** -1 / 2 is 1 / (2 d): the power binds first, and the weights come out far too even.",
        "scale = query.shape[-1] ** -0.5\nscores = query @ key.swapaxes(-1, -2) * scale",
        (
            changed(scale=lambda scores, case: scores / (2 * case.query.shape[-1])),
            changed(scale=lambda scores, case: scores * case.query.shape[-1] / 2),
        ),
    ),
    Mistake(
        "scaling upwards",
        "The scores are multiplied by the square root of d where they should be divided: a scale "
        "of sqrt(d) was handed to something that multiplies by it.",
        "scale = 1 / np.sqrt(query.shape[-1])\nscores = query @ key.swapaxes(-1, -2) * scale",
        (changed(scale=lambda scores, case: scores * np.sqrt(case.query.shape[-1])),),
    ),
    Mistake(
        "np.dot across the batch",
        "np.dot sums over the last axis of the first array and the last but one of the second, "
        "and keeps every other axis of both: each sentence meets each other sentence, and scores "
        "(b, q, k) become (b, q, b, k). With one sentence only the shape is odd.",
        "scores = query @ key.swapaxes(-1, -2)\noutput = weights @ value",
        (DOTTED,),
    ),
    Mistake(
        "key not transposed",
        "query @ key runs only where there are as many keys as features, and then pairs a query "
        "with a column of the keys, one feature of all words, not with a word.",
        "key_t = key.swapaxes(-1, -2)\nscores = query @ key_t",
        (changed(score=lambda query, key: query @ key),),
    ),
    Mistake(
        "key reshaped instead of transposed",
        "reshape(d, k) makes the shapes fit, but it keeps the numbers in their order, row by row; "
        "a transpose moves each number to its mirrored place.",
        "key_t = key.swapaxes(-1, -2)\nscores = query @ key_t",
        (changed(score=_reshaped),),
    ),
    Mistake(
        "query and key swapped",
        "The scores are key times query: rows and columns change places, and each row says how "
        "much a word is asked for, not what it looks at. Shapes agree in self-attention.",
        "# rows are queries, columns are keys\nscores = query @ key.swapaxes(-1, -2)",
        (changed(score=lambda query, key: key @ query.swapaxes(-1, -2)),),
    ),
    Mistake(
        "value used as key",
        "The queries meet the values. Copying a line and changing one name is enough, and where "
        "values are as wide as keys no shape complains.",
        "key, value = x @ w_key, x @ w_value\nscores = query @ key.swapaxes(-1, -2)",
        (changed(arrange=lambda case: (case.query, case.value, case.value)),),
    ),
    Mistake(
        "key used as value",
        "The weights mix the keys. The weights are right, so a picture of them shows nothing.",
        "key, value = x @ w_key, x @ w_value\noutput = weights @ value",
        (changed(arrange=lambda case: (case.query, case.key, case.key)),),
    ),
    Mistake(
        "scale argument ignored",
        "A scale can be handed in, and no line uses it: the scores are divided by the root of the "
        "head width whatever was asked for.",
        "scale = 1 / np.sqrt(query.shape[-1]) if scale is None else scale\n"
        "scores = query @ key.swapaxes(-1, -2) * scale",
        (changed(scale=lambda scores, case: scores / np.sqrt(case.query.shape[-1])),),
    ),
    Mistake(
        "query used as key",
        "The queries meet the queries: one name was not changed. Every word looks at words "
        "with a similar query.",
        "query, key = x @ w_query, x @ w_key\nscores = query @ key.swapaxes(-1, -2)",
        (changed(arrange=lambda case: (case.query, case.query, case.value)),),
    ),
    Mistake(
        "query used as value",
        "The weights mix the queries. The weights are right, so a picture of them shows nothing.",
        "query, value = x @ w_query, x @ w_value\noutput = weights @ value",
        (changed(arrange=lambda case: (case.query, case.key, case.query)),),
    ),
    Mistake(
        "sign of the scores flipped",
        "The scores are negated: a word looks at what fits it least. A distance instead of a "
        "product, or a minus too many.",
        "scores = query @ key.swapaxes(-1, -2)\nscaled = scores / np.sqrt(query.shape[-1])",
        (changed(score=lambda query, key: -(query @ key.swapaxes(-1, -2))),),
    ),
    Mistake(
        "query and key normalised",
        "The scores are cosines: the lengths of query and key, which say how sharply a word "
        "looks, are divided away.",
        "scores = query @ key.swapaxes(-1, -2)  # not of unit vectors\n"
        "scaled = scores / np.sqrt(query.shape[-1])",
        (changed(arrange=lambda case: (_unit(case.query), _unit(case.key), case.value)),),
    ),
    Mistake(
        "bias by distance with the wrong sign",
        "What should fall with the distance of two words grows with it: far words get the weight "
        "of near ones.",
        "distance = np.arange(queries)[:, None] - np.arange(keys)\n"
        "scores = scores - slope * np.abs(distance)",
        (changed(bias=_against_distance),),
        conduct=_growing_with_distance,
    ),
    Mistake(
        "weights transposed",
        "weights.T meets the values: each word gets the values of the words that look at it.",
        "weights = softmax(scaled)  # (queries, keys)\noutput = weights @ value",
        (changed(sum_values=lambda weights, value: weights.swapaxes(-1, -2) @ value),),
    ),
)
