"""Sums by distance and by band of doubling distance, against the definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.engine.profile import BANDS, bands_between, bands_within, sum_by_band, sum_by_distance


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_distances_by_definition(length, seed):
    weights_bhqk = np.random.default_rng(seed).random((2, 3, length, length))
    sums = sum_by_distance(weights_bhqk)
    bands = sum_by_band(1 - length, sums)
    back_qk = np.arange(length)[:, None] - np.arange(length)
    for index in range(2 * length - 1):
        diagonal = weights_bhqk[..., back_qk == index - (length - 1)].sum(axis=-1)
        np.testing.assert_allclose(sums[..., index], diagonal, rtol=1e-12)
    for number, (near, far) in enumerate(BANDS):
        low, high = sorted((near, far))
        inside = weights_bhqk[..., (back_qk >= low) & (back_qk <= high)].sum(axis=-1)
        np.testing.assert_allclose(bands[..., number], inside, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(-40, 40), st.integers(0, 60))
def test_bands_of_any_range_of_distances(lowest, size):
    weight_n = np.random.default_rng(size).random(size)
    back_n = lowest + np.arange(size)
    sums_b = sum_by_band(lowest, weight_n)
    for number, (near, far) in enumerate(BANDS):
        low, high = sorted((near, far))
        inside = (back_n >= low) & (back_n <= high)
        np.testing.assert_allclose(sums_b[number], weight_n[inside].sum(), rtol=1e-12)
    if size:
        touched = bands_between(lowest, lowest + size - 1)
        assert touched == [band for band, x in zip(BANDS, sums_b, strict=True) if x > 0]


@given(st.integers(1, 3000))
def test_bands_within_a_text(tokens):
    assert list(BANDS[bands_within(tokens)]) == bands_between(1 - tokens, tokens - 1)
