"""The float64 product by the kernel, against NumPy's."""

import numpy as np
import pytest

from regard.engine.float64_product import float64_product, native_product
from regard.engine.native.library import levels, using_level

SIZES = [(1, 1, 1), (3, 5, 7), (4, 64, 6), (5, 33, 13), (9, 512, 64), (2, 0, 4), (0, 3, 2)]


@pytest.mark.parametrize("level", ["off", *levels()])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_product_is_that_of_numpy(level, sizes):
    rows, inner, outputs = sizes
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(rows, inner)), rng.normal(size=(outputs, inner)).T  # not contiguous
    # Two orders of a sum differ by at most inner roundings of the sum of magnitudes each.
    bound = 2 * (inner + 1) * np.finfo(float).eps * (np.abs(x) @ np.abs(w))
    with using_level(level):
        made = native_product(x, w)
    assert made.shape == (rows, outputs)
    assert (np.abs(made - x @ w) <= bound).all()


def test_where_numpy_has_a_blas_it_multiplies():
    x, w = np.ones((2, 3)), np.ones((3, 4))
    np.testing.assert_array_equal(float64_product(x, w), x @ w)
