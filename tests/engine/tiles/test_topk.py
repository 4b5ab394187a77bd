"""The k largest of each row, against sorting the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.engine.tiles.topk import COLUMNS_PER_GROUP, MAX_SORTED_WIDTH, largest


@pytest.mark.smoke
@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    width=st.integers(1, 3 * MAX_SORTED_WIDTH * COLUMNS_PER_GROUP),
    number=st.integers(1, 40),
    values=st.integers(1, 1000),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**32 - 1),
)
def test_largest_equals_sorting(width, number, values, dtype, seed):
    """On both sides of 0, some without end; with few different values most are ties, or all."""
    random = np.random.default_rng(seed)
    tile_rk = random.integers(-values, values, (3, width)).astype(dtype) / 7
    tile_rk[random.random(tile_rk.shape) < 0.1] = -np.inf
    number = min(number, width)
    values_rn, columns_rn = largest(tile_rk, number)
    np.testing.assert_array_equal(values_rn, -np.sort(-tile_rk, axis=1)[:, :number])
    np.testing.assert_array_equal(values_rn, np.take_along_axis(tile_rk, columns_rn, axis=1))
    assert all(len(set(row)) == number for row in columns_rn.tolist())
    if dtype == np.float32:
        tied = values_rn[:, 1:] == values_rn[:, :-1]
        assert (np.diff(columns_rn, axis=1) > 0)[tied].all()
