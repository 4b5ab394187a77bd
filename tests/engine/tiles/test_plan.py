"""The map's blocks, equal and of a power of two; memory that grows with n, whatever the plan."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.attention_plans import Engine

from regard.engine.attention import attention
from regard.engine.call import blocks
from regard.engine.observe import observe

POSITIONS, NUMBERS = st.integers(1, 5000), st.integers(1, 600)
TOKENS, MEGABYTE = 16_384, 2**20  # all the weights would be 1,024 MB
X = np.random.default_rng(0).standard_normal((TOKENS, 16)).astype(np.float32)
LARGE_PLANS = (Engine("panel", {}), Engine("two passes", {"PANEL_BYTES": 0}))


@given(POSITIONS, NUMBERS, NUMBERS)
def test_blocks_have_one_size_a_power_of_two(positions: int, number: int, other: int) -> None:
    """They cover all positions in order, at most so many, and only the last may be smaller."""
    edges = blocks(positions, number)
    assert (edges[0], edges[-1]) == (0, positions)
    *others, last = np.diff(edges).tolist()
    size = others[0] if others else last
    assert others == [size] * len(others)
    assert 0 < last <= size
    assert not others or size.bit_count() == 1
    count = len(edges) - 1
    assert count == positions if positions <= number else number / 2 < count <= number
    np.testing.assert_array_equal(blocks(positions, count), edges)  # the number says where they lie
    few, many = sorted((number, other))
    assert set(blocks(positions, few)) <= set(
        blocks(positions, many)
    )  # coarser of whole finer ones


@pytest.mark.parametrize(
    ("positions", "number", "edges"),
    [
        (10, 4, [0, 4, 8, 10]),
        (10, 10, list(range(11))),
        (10, 99, list(range(11))),
        (9, 8, [0, 2, 4, 6, 8, 9]),
        (10, 1, [0, 10]),
        (10, 0, [0, 10]),
        (1, 3, [0, 1]),
        (0, 3, [0, 0]),
        (0, 0, [0, 0]),
        (8192, 512, list(range(0, 8193, 16))),
    ],
)
def test_blocks_by_hand(positions: int, number: int, edges: list[int]) -> None:
    assert blocks(positions, number).tolist() == edges


def test_a_map_of_600_tokens_has_no_stripes() -> None:
    """Alike tokens look alike; were blocks of one and of two tokens mixed, they would not."""
    alike = np.ones((600, 2))
    seen = observe(alike, alike, alike, map=512)
    # A block of two keys gets 2 / 600; sums of 600 terms in float64 are off by 600 eps at most.
    np.testing.assert_allclose(seen.map, np.full((300, 300), 1 / 300), rtol=1e-13)


def peak_megabytes(call) -> float:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("engine", LARGE_PLANS, ids=str)
def test_observe_holds_nothing_near_n_times_n(engine):
    with engine.in_use():
        peak = peak_megabytes(lambda: observe(X, X, X, causal=True))
    assert peak < 100


def test_attention_holds_a_few_tiles():
    assert peak_megabytes(lambda: attention(X, X, X)) < 20


def test_a_tile_costs_its_own_size():
    seen = observe(X, X, X, top=0, map=0, received=False, profile=False)
    assert peak_megabytes(lambda: seen.tile(slice(9000, 9100), slice(0, 100))) < 1
    assert peak_megabytes(lambda: seen.row(TOKENS - 1)) < 1


def test_a_function_as_mask_is_never_written_out():
    peak = peak_megabytes(lambda: attention(X, X, X, mask=lambda query, key: key <= query))
    assert peak < 20
