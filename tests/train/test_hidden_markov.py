"""Posteriors of the alignment model against the sum over every sequence of states."""

import itertools

import numpy as np
import pytest

from regard.train.aligner import lexical_posteriors, markov_posteriors

STATES, NONE = 3, None


def model(words, seed=0):
    rng = np.random.default_rng(seed)
    emission_bqk = rng.uniform(0.1, 1, (2, words, STATES)).astype(np.float32)
    null_bq = rng.uniform(0.01, 0.1, (2, words)).astype(np.float32)
    first_k = rng.dirichlet(np.ones(STATES)).astype(np.float32)
    next_kk = rng.dirichlet(np.ones(STATES), STATES).astype(np.float32)
    return emission_bqk, null_bq, first_k, next_kk


def by_enumeration(emission_qk, null_q, first_k, next_kk):
    """Sums over all paths; before the first state a word from none leaves each state as likely."""
    words = len(emission_qk)
    state_qk, null, moves = np.zeros((words, STATES)), np.zeros(words), np.zeros((STATES, STATES))
    total = 0.0
    for start in range(STATES):
        for path in itertools.product([*range(STATES), NONE], repeat=words):
            share, last, steps = 1 / STATES, start, []
            for j, state in enumerate(path):
                if state is NONE:
                    share *= null_q[j]
                    continue
                share *= (first_k[state] if j == 0 else next_kk[last, state]) * emission_qk[
                    j, state
                ]
                steps += [(last, state)] if j else []
                last = state
            total += share
            for j, state in enumerate(path):
                if state is NONE:
                    null[j] += share
                else:
                    state_qk[j, state] += share
            for step in steps:
                moves[step] += share
    return state_qk / total, null / total, moves / total


@pytest.mark.parametrize("words", [1, 2, 4])
def test_forward_backward_equals_the_sum_over_all_paths(words):
    emission_bqk, null_bq, first_k, next_kk = model(words)
    posteriors = markov_posteriors(emission_bqk, null_bq, first_k, next_kk)
    sums = [by_enumeration(*x, first_k, next_kk) for x in zip(emission_bqk, null_bq, strict=True)]
    # float32 with some ten operations a word: relative errors of 1e-6 each.
    near = {"rtol": 2e-5, "atol": 1e-7}
    np.testing.assert_allclose(posteriors.state_bqk, [x[0] for x in sums], **near)
    np.testing.assert_allclose(posteriors.null_bq, [x[1] for x in sums], **near)
    np.testing.assert_allclose(posteriors.moves_kk, sum(x[2] for x in sums), **near)
    np.testing.assert_allclose(posteriors.first_k, sum(x[0][0] for x in sums), **near)


def test_without_jumps_each_word_is_on_its_own():
    emission_bqk, null_bq, *_ = model(4)
    posteriors = lexical_posteriors(emission_bqk, null_bq)
    total_bq = emission_bqk.sum(axis=-1) + null_bq
    np.testing.assert_allclose(posteriors.state_bqk, emission_bqk / total_bq[..., None], rtol=1e-6)
    np.testing.assert_allclose(posteriors.state_bqk.sum(-1) + posteriors.null_bq, 1, rtol=1e-6)


def test_long_sentences_neither_underflow_nor_overflow():
    rng = np.random.default_rng(0)
    emission_bqk = np.exp(rng.uniform(-20, 0, (1, 60, 60))).astype(np.float32)
    null_bq = np.full((1, 60), 1e-9, np.float32)
    even = np.full((60, 60), 1 / 60, np.float32)
    posteriors = markov_posteriors(emission_bqk, null_bq, even[0], even)
    np.testing.assert_allclose(posteriors.state_bqk.sum(-1) + posteriors.null_bq, 1, rtol=1e-4)
