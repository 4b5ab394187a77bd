"""Mistakes of causal masks: transposed, shifted, at the wrong corner or stage, or missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from regard.checker.cases import Case
from regard.checker.mistakes.entry import Mistake, changed, ignore_visibility
from regard.textbook.stages import causal_visibility
from regard.typing import Array

CausalStage = Callable[[Case], Array]


def _where_causal(stage: CausalStage) -> CausalStage:
    """A causal stage that is another where the case is causal, and the same where it is not."""
    return lambda case: stage(case) if case.causal else causal_visibility(case)


def _gap(case: Case) -> Array:
    """The position of each key less that of each query, (q, k)."""
    queries, keys = case.query.shape[2], case.key.shape[2]
    return np.asarray(np.arange(keys) - np.arange(queries)[:, None] - case.offset)


def _transposed(case: Case) -> Array:
    return np.asarray(_gap(case) >= 0)


def _only_ahead(case: Case) -> Array:
    return np.asarray(_gap(case) > 0)


def _one_ahead(case: Case) -> Array:
    return np.asarray(_gap(case) <= 1)


def _not_itself(case: Case) -> Array:
    return np.asarray(_gap(case) < 0)


def _all_visible(case: Case) -> Array:
    return np.ones((case.query.shape[2], case.key.shape[2]), bool)


def _at_offset(offset: Callable[[Case], int]) -> CausalStage:
    return _where_causal(lambda case: causal_visibility(replace(case, offset=offset(case))))


def _zeroed_after(weights: Array, visible: Array, case: Case) -> Array:
    return np.where(causal_visibility(case), weights, 0)


def _only_without_mask(case: Case) -> Array:
    return _all_visible(case) if case.mask is not None else causal_visibility(case)


CAUSAL = (
    Mistake(
        "causal mask ignored",
        "The causal mask is asked for and never used: every word sees what comes after it. "
        "Training looks wonderful, for the answer can be read off.",
        "visible = np.tri(queries, keys, dtype=bool)\nscores = np.where(visible, scores, -np.inf)",
        (changed(causal=_all_visible),),
    ),
    Mistake(
        "causal mask transposed",
        "np.triu instead of np.tril, or True and False the other way round with the diagonal "
        "kept: a word sees itself and its future, not its past.",
        "visible = np.tril(np.ones((queries, keys), bool))\n"
        "scores = np.where(visible, scores, -np.inf)",
        (
            changed(causal=_where_causal(_transposed)),
            changed(causal=_where_causal(_only_ahead)),
            changed(causal=_where_causal(_only_ahead), empty_rows=ignore_visibility),
        ),
    ),
    Mistake(
        "causal mask off by one: sees the next word",
        "The diagonal is shifted (k=1 of tril, or hiding from triu k=2 on): each word sees one "
        "word too many, and that is the one it should predict.",
        "visible = np.tril(np.ones((queries, keys), bool), k=0)\n"
        "scores = np.where(visible, scores, -np.inf)",
        (changed(causal=_where_causal(_one_ahead)),),
    ),
    Mistake(
        "causal mask off by one: does not see itself",
        "What is hidden starts at the diagonal (triu without k=1): no word sees itself, and the "
        "first sees nothing at all.",
        "hide = np.triu(np.ones((queries, keys), bool), k=1)\n"
        "scores = np.where(hide, -np.inf, scores)",
        (
            changed(causal=_where_causal(_not_itself)),
            changed(causal=_where_causal(_not_itself), empty_rows=ignore_visibility),
        ),
    ),
    Mistake(
        "causal mask at the wrong corner",
        "With more keys than queries (a cache) the mask must say where the queries stand. Laid "
        "at the top left, the last words see only the first keys; with equal lengths all is well.",
        "offset = keys - queries  # the queries are the last words\n"
        "visible = np.arange(keys) <= np.arange(queries)[:, None] + offset",
        (
            changed(causal=_at_offset(lambda case: 0)),
            changed(causal=_at_offset(lambda case: case.key.shape[2] - case.query.shape[2])),
            changed(causal=_at_offset(lambda case: -case.offset)),
        ),
    ),
    Mistake(
        "causal mask after the softmax",
        "The weights of later words are set to 0 after the softmax: they have already taken their "
        "share, and the rows no longer sum to 1.",
        "scores = np.where(visible, scores, -np.inf)\nweights = softmax(scores)",
        (changed(causal=_all_visible, adjust=_zeroed_after),),
    ),
    Mistake(
        "causal mask forgotten in one branch",
        "Where a mask is given the causal one is left out: an elif where both are meant. Every "
        "test with one of them alone passes.",
        "visible = mask & np.tri(queries, keys, dtype=bool)\n"
        "scores = np.where(visible, scores, -np.inf)",
        (changed(causal=_only_without_mask),),
    ),
)
