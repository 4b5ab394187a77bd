"""Posteriors of a hidden Markov model of word alignment, for many sentences of one size.

Axes: b sentence, q emitted word, k state (a word of the other sentence).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float32Array = NDArray[np.float32]


@dataclass(frozen=True)
class Posteriors:
    """Probabilities of each state at each word, of no state, and the expected transitions."""

    state_bqk: Float32Array
    null_bq: Float32Array
    moves_kk: Float32Array
    first_k: Float32Array


def lexical_posteriors(emission_bqk: Float32Array, null_bq: Float32Array) -> Posteriors:
    """Posteriors where every state is as likely as any other, whatever came before.

    ``null_bq`` is the probability of coming from no state and emitting word q; the emissions are
    taken with the rest of the prior, spread evenly, by the caller.
    """
    states = emission_bqk.shape[-1]
    total_bq = emission_bqk.sum(axis=-1) + null_bq
    state_bqk = emission_bqk / total_bq[..., None]
    nowhere = np.zeros((states, states), np.float32)
    return Posteriors(state_bqk, null_bq / total_bq, nowhere, nowhere[0])


def markov_posteriors(
    emission_bqk: Float32Array,
    null_bq: Float32Array,
    first_k: Float32Array,
    next_kk: Float32Array,
) -> Posteriors:
    """Posteriors by the forward-backward algorithm.

    A word from no state leaves the next jump to start from the state before it. ``first_k`` and
    ``next_kk`` are the probabilities of the first state and of the next one, those of no state
    taken off; ``null_bq`` includes them.
    """
    sentences, words, states = emission_bqk.shape
    state_bqk = np.empty_like(emission_bqk)
    null_bqk = np.empty_like(emission_bqk)
    scale_bq = np.empty((sentences, words), np.float32)
    before_bk = np.full((sentences, states), 1 / states, np.float32)
    for q in range(words):
        prior_bk = first_k if q == 0 else before_bk @ next_kk
        real_bk = state_bqk[:, q] = prior_bk * emission_bqk[:, q]
        null_bk = null_bqk[:, q] = before_bk * null_bq[:, q, None]
        total_b = scale_bq[:, q] = (real_bk + null_bk).sum(axis=1)
        before_bk = (real_bk + null_bk) / total_b[:, None]
    return _backward(emission_bqk, null_bq, next_kk, state_bqk, null_bqk, scale_bq)


def _backward(
    emission_bqk: Float32Array,
    null_bq: Float32Array,
    next_kk: Float32Array,
    state_bqk: Float32Array,
    null_bqk: Float32Array,
    scale_bq: Float32Array,
) -> Posteriors:
    """The forward probabilities times those of the words after, in place."""
    words, states = emission_bqk.shape[1:]
    moves_kk = np.zeros((states, states), np.float32)
    after_bk = (1 / scale_bq[:, -1, None]) * np.ones(states, np.float32)
    for q in reversed(range(words)):
        if q > 0:
            emitted_bk = emission_bqk[:, q] * after_bk
            before_bk = state_bqk[:, q - 1] + null_bqk[:, q - 1]
            before_bk /= scale_bq[:, q - 1, None]
            moves_kk += before_bk.T @ emitted_bk
        state_bqk[:, q] *= after_bk
        null_bqk[:, q] *= after_bk
        if q > 0:
            after_bk = emitted_bk @ next_kk.T + null_bq[:, q, None] * after_bk
            after_bk /= scale_bq[:, q - 1, None]
    first_k = state_bqk[:, 0].sum(axis=0)
    return Posteriors(state_bqk, null_bqk.sum(axis=-1), moves_kk * next_kk, first_k)
