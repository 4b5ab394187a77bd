"""Squared lengths of rows: the same at every level, and anything beyond float32 shows."""

import numpy as np
import pytest

from regard.engine.native import squares
from regard.engine.native.library import levels, using_level
from regard.engine.tiles.arguments import largest_norm
from regard.errors import ArgumentError


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("width", [1, 3, 16, 33, 64, 100])
def test_they_are_those_of_numpy(level, width):
    x = np.random.default_rng(width).standard_normal((2, 5000, width), np.float32)
    expected = (x.astype(np.float64) ** 2).sum(axis=-1)
    with using_level(level):
        largest, total = squares.native_squares(x)
    # Up to 100 squares of one sign are summed in float32, 10,000 rows in float64.
    np.testing.assert_allclose(largest, expected.max(), rtol=100 * np.finfo(np.float32).eps)
    np.testing.assert_allclose(total, expected.sum(), rtol=100 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e20])
def test_a_number_beyond_float32_shows_in_both(level, bad):
    x = np.ones((1, 3000, 7), np.float32)
    x[0, 1234, 5] = bad
    with using_level(level):
        results = squares.native_squares(x)
        assert not np.isfinite(results).any()
        if np.isfinite(bad):
            np.testing.assert_allclose(largest_norm("query", x), 1e20 * np.sqrt(7), rtol=1e-6)
        else:
            with pytest.raises(ArgumentError, match="query"):
                largest_norm("query", x)


def test_what_it_does_not_serve_is_left_to_numpy():
    x = np.ones((1, 3000, 7), np.float32)
    for other in (x.astype(np.float64), x[:, ::2], x[:, :5], x[..., ::2]):
        assert squares.native_squares(other) is None
    with using_level("off"):
        assert squares.native_squares(x) is None
