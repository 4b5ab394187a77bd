"""Rollout and flow against products of matrices and augmenting paths."""

import numpy as np
import pytest

from regard.heads.rollout import flow_row, rolled_out


def means(layers, tokens, causal, seed=0):
    weights_lqk = np.random.default_rng(seed).exponential(size=(layers, tokens, tokens)) ** 3
    if causal:
        weights_lqk = np.tril(weights_lqk)
    return weights_lqk / weights_lqk.sum(axis=-1, keepdims=True)


def augmented_flow(capacities_lqk, query, key):
    """Maximal flow by shortest augmenting paths (Edmonds and Karp), on a dense matrix."""
    layers, tokens, _ = capacities_lqk.shape
    room = np.zeros(((layers + 1) * tokens,) * 2)
    for level in range(layers):
        below, above = (slice(x * tokens, (x + 1) * tokens) for x in (level, level + 1))
        room[above, below] = capacities_lqk[level]
    source, total = layers * tokens + query, 0.0
    while True:
        before, queue = {source: source}, [source]
        while queue and key not in before:
            node = queue.pop(0)
            for other in np.flatnonzero(room[node] > 1e-9).tolist():
                if other not in before:
                    before[other] = node
                    queue.append(other)
        if key not in before:
            return total
        path, node = [], key
        while node != source:
            path.append((before[node], node))
            node = before[node]
        least = min(room[edge] for edge in path)
        for one, other in path:
            room[one, other] -= least
            room[other, one] += least
        total += least


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_flow_is_that_of_augmenting_paths(layers, causal):
    means_lqk = means(layers, 5, causal)
    half_lqk = 0.5 * means_lqk + 0.5 * np.eye(5)
    for query in range(5):
        expected = [augmented_flow(half_lqk, query, key) for key in range(5)]
        np.testing.assert_allclose(flow_row(means_lqk, query), expected, atol=1e-7)


def test_flow_bounds_rollout():
    """Rollout is one flow to each token, so that the maximal one is as large or larger."""
    means_lqk = means(3, 6, causal=True)
    rollout_qk = rolled_out(means_lqk)
    for query in range(6):
        assert (flow_row(means_lqk, query) >= rollout_qk[query] - 1e-9).all()


def test_rollout_is_the_product_of_the_layers():
    one, two = means(2, 4, causal=False)
    half = [0.5 * x + 0.5 * np.eye(4) for x in (one, two)]
    np.testing.assert_allclose(rolled_out([one, two]), half[1] @ half[0])
