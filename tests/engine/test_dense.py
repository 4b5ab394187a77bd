"""Dense attention equals the specification."""

import numpy as np
import pytest

from regard.engine.dense import dense_attention
from regard.textbook.steps import attend

SHAPES = {"one query": (2, 3, 1, 5), "a sentence": (1, 8, 12, 12), "cross": (2, 2, 4, 7)}


@pytest.mark.parametrize("masked", [False, True], ids=["all seen", "some hidden"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_dense_attention_equals_the_specification(shape, masked):
    batch, heads, queries, keys = shape
    rng = np.random.default_rng(0)
    query = rng.standard_normal((batch, heads, queries, 16))
    key, value = rng.standard_normal((2, batch, heads, keys, 16))
    visible = rng.random((batch, 1, queries, keys)) < 0.6 if masked else None
    expected = attend(query, key, value, mask=visible)
    output, weights = dense_attention(query, key, value, visible)
    np.testing.assert_allclose(weights, expected.weights, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(output, expected.output, rtol=1e-12, atol=1e-14)


def test_a_query_that_sees_nothing_gets_zero():
    x = np.ones((1, 1, 2, 4), np.float32)
    output, weights = dense_attention(x, x, x, np.array([[True, True], [False, False]]))
    np.testing.assert_array_equal(weights[0, 0, 1], [0, 0])
    np.testing.assert_array_equal(output[0, 0, 1], 0)
    assert output.dtype == np.float32


def test_large_scores_do_not_overflow():
    x = np.full((1, 1, 2, 4), 1e4, np.float32)
    _, weights = dense_attention(x, x, x)
    np.testing.assert_allclose(weights, 0.5)
