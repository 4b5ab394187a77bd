"""Dense attention equals the specification."""

import numpy as np
import pytest

from regard.engine import dense
from regard.engine.dense import dense_attention
from regard.engine.native.library import levels, using_level
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


@pytest.mark.parametrize("level", ["off", *levels()])
@pytest.mark.parametrize("masked", [False, True], ids=["all seen", "some hidden"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_float32_of_every_level_equals_the_specification(level, shape, masked, monkeypatch):
    monkeypatch.setattr(dense, "MIN_NATIVE_SCORES", 1)
    batch, heads, queries, keys = shape
    rng = np.random.default_rng(0)
    # Heads beside each other in a token's vector, as a layer makes them.
    query = rng.standard_normal((batch, queries, heads, 16), np.float32).swapaxes(1, 2)
    key, value = rng.standard_normal((2, batch, keys, heads, 16), np.float32).swapaxes(2, 3)
    visible = rng.random((batch, 1, 1, keys)) < 0.6 if masked else None
    expected = attend(query, key, value, mask=visible)
    with using_level(level):
        output, weights = dense_attention(query, key, value, visible)
    assert output.dtype == weights.dtype == np.float32
    # A score of 16 terms of size 1 to 4 is off by some roundings, and its exponential by as much.
    np.testing.assert_allclose(weights, expected.weights, atol=16 * np.finfo(np.float32).eps)
    np.testing.assert_allclose(output, expected.output, atol=64 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("level", ["off", *levels()])
def test_keys_of_one_sentence_serve_several_hypotheses(level, monkeypatch):
    monkeypatch.setattr(dense, "MIN_NATIVE_SCORES", 1)
    rng = np.random.default_rng(0)
    query = rng.standard_normal((4, 2, 1, 8), np.float32)
    key, value = rng.standard_normal((2, 1, 2, 5, 8), np.float32)
    with using_level(level):
        output, weights = dense_attention(query, key, value)
    repeated = [np.repeat(x, 4, axis=0) for x in (key, value)]
    expected = attend(query, *repeated)
    np.testing.assert_allclose(weights, expected.weights, atol=16 * np.finfo(np.float32).eps)
    np.testing.assert_allclose(output, expected.output, atol=64 * np.finfo(np.float32).eps)
