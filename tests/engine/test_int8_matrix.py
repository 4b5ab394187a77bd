"""Int8 matrices: products within the bound of float32, with every kernel and any threads."""

import copy
import pickle

import numpy as np
import pytest

from regard.engine.int8_matrix import Int8Matrix, quantise, restore
from regard.engine.native.library import levels, using_level
from regard.engine.threads import using_threads
from regard.errors import ShapeError

ROUNDING = 2.0**-24
LEVELS = ("off", *levels())
SIZES = [(1, 1), (3, 2), (16, 48), (50, 71), (512, 64), (700, 130)]  # inner, outputs


def some_floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def stored(inner, outputs, axis):
    """A matrix to multiply by from the right, stored by inner position (1) or by output (0)."""
    shape = (inner, outputs) if axis else (outputs, inner)
    matrix = Int8Matrix.quantised(some_floats(*shape, seed=inner), axis)
    return matrix if axis else matrix.T


def assert_within_bound(product, x, matrix):
    """float32's bound: each of the inner sums, the restored parameter and the scale round once."""
    exact = np.asarray(matrix, np.float64)
    terms = len(matrix) + 2
    bound = terms * ROUNDING / (1 - terms * ROUNDING) * (np.abs(x.astype(np.float64)) @ abs(exact))
    assert product.dtype == np.float32
    assert (np.abs(product - x.astype(np.float64) @ exact) <= bound).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_rounding_moves_a_number_by_at_most_half_a_step(axis):
    matrix = np.random.default_rng(1).standard_normal((7, 5)).astype(np.float32)
    rounded, scale = quantise(matrix, axis)
    assert rounded.dtype == np.int8
    assert scale.shape == (matrix.shape[axis],)
    step = np.expand_dims(scale, 1 - axis)
    assert (np.abs(restore(rounded, scale, axis) - matrix) <= step * 0.5001).all()


def test_a_row_of_zeros_stays_zero():
    rounded, scale = quantise(np.zeros((3, 4), np.float32), axis=0)
    np.testing.assert_array_equal(restore(rounded, scale, 0), np.zeros((3, 4)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 13])
def test_a_product_is_within_the_bound_of_float32(level, axis, rows):
    for inner, outputs in SIZES:
        matrix, x = stored(inner, outputs, axis), some_floats(rows, inner, seed=rows)
        with using_level(level):
            assert_within_bound(x @ matrix, x, matrix)


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_has_the_same_bits_alone_and_on_any_threads(level, axis):
    matrix, x = stored(600, 200, axis), some_floats(14, 600)
    with using_level(level):
        products = []
        for number in (1, 2, 5):
            with using_threads(number):
                products.append(x @ matrix)
        alone = np.concatenate([x[i : i + 1] @ matrix for i in range(len(x))])
    for product in products:
        np.testing.assert_array_equal(product, alone)


@pytest.mark.parametrize("level", LEVELS)
def test_matrices_side_by_side_are_multiplied_as_one(level):
    parts = [stored(40, outputs, 1) for outputs in (70, 5, 64)]
    joined, x = Int8Matrix.side_by_side(*parts), some_floats(5, 40)
    with using_level(level):
        np.testing.assert_array_equal(x @ joined, np.hstack([x @ part for part in parts]))
        np.testing.assert_array_equal(x @ joined[:, 70:], np.hstack([x @ y for y in parts[1:]]))
        assert_within_bound(x @ joined[:, 3:72], x, joined[:, 3:72])
    assert joined[:, 70:].blocks[0] is parts[1].blocks[0]
    assert joined[:, :70].shape == (40, 70)


@pytest.mark.parametrize("level", LEVELS)
def test_vectors_that_are_not_side_by_side_in_memory(level):
    matrix, x = stored(16, 20, 1), some_floats(16, 9).T
    wide = some_floats(4, 40)[:, 3:19]
    with using_level(level):
        assert_within_bound(x @ matrix, x, matrix)
        assert_within_bound(wide @ matrix, wide, matrix)
        assert (x[:0] @ matrix).shape == (0, 20)


@pytest.mark.parametrize("level", LEVELS)
def test_a_value_that_is_not_finite_stays_in_its_row(level):
    matrix, x = stored(32, 70, 1), some_floats(7, 32)
    x[2, 5], x[4, 1] = np.nan, np.inf
    with using_level(level):
        finite = np.isfinite(x @ matrix).all(axis=1)
    np.testing.assert_array_equal(finite, [True, True, False, True, False, True, True])


def test_rows_of_the_vocabulary_are_restored_when_they_are_looked_up():
    embedding = Int8Matrix.quantised(some_floats(30, 8), axis=0)
    tokens = np.array([[3, 3, 29], [0, 1, 2]])
    np.testing.assert_array_equal(embedding[tokens], np.asarray(embedding)[tokens])
    assert embedding[tokens].dtype == np.float32
    assert (embedding.shape, embedding.T.shape, len(embedding)) == ((30, 8), (8, 30), 30)


def test_as_an_array_it_is_restored():
    values, scale = quantise(some_floats(6, 4), axis=1)
    matrix = Int8Matrix.from_values(values, scale)
    np.testing.assert_array_equal(np.asarray(matrix), restore(values, scale, 1))
    np.testing.assert_array_equal(matrix[2:4], restore(values, scale, 1)[2:4])
    assert np.asarray(matrix, np.float64).dtype == matrix.astype(np.float64).dtype == np.float64
    assert matrix.astype(np.float32) is matrix
    with pytest.raises(ValueError, match="becomes an array by a copy alone"):
        np.asarray(matrix, copy=False)


def test_float64_is_multiplied_in_float64():
    matrix, x = stored(12, 5, 1), some_floats(2, 3, 12).astype(np.float64)
    np.testing.assert_array_equal(x @ matrix, x @ np.asarray(matrix, np.float64))
    assert (x @ matrix).dtype == np.float64


def test_vectors_of_another_width_are_refused():
    with pytest.raises(ShapeError) as error:
        some_floats(2, 9) @ stored(8, 3, 1)
    assert str(error.value) == "x in x @ matrix must have axes (n, 8), got shape (2, 9)."


@pytest.mark.parametrize("multiplied", [False, True])
def test_a_matrix_can_be_copied_and_pickled(multiplied):
    matrix = Int8Matrix.quantised(some_floats(8, 5))
    x = some_floats(2, 8, seed=1)
    expected = x @ matrix.T.T
    if multiplied:  # then it holds the addresses that the native kernel takes
        np.testing.assert_array_equal(x @ matrix, expected)
    pickled = pickle.loads(pickle.dumps(matrix))  # noqa: S301
    for again in (copy.copy(matrix), copy.deepcopy(matrix), pickled):
        np.testing.assert_array_equal(x @ again, expected)
        assert again.shape == matrix.shape
