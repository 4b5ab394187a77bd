"""Where the map's blocks begin and end: equal, of a power of two, as many as were asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.engine.observe import observe
from regard.engine.tiles.plan import blocks

POSITIONS, NUMBERS = st.integers(1, 5000), st.integers(1, 600)


@given(POSITIONS, NUMBERS)
def test_blocks_cover_all_positions_in_order(positions: int, number: int) -> None:
    edges = blocks(positions, number)
    assert (edges[0], edges[-1]) == (0, positions)
    assert (np.diff(edges) > 0).all()


@given(POSITIONS, NUMBERS)
def test_blocks_have_one_size_a_power_of_two_and_only_the_last_may_be_smaller(
    positions: int, number: int
) -> None:
    *whole, last = np.diff(blocks(positions, number)).tolist()
    size = whole[0] if whole else last
    assert whole == [size] * len(whole)
    assert last <= size
    assert not whole or size.bit_count() == 1


@given(POSITIONS, NUMBERS)
def test_there_are_at_most_so_many_and_more_than_half_as_many(positions: int, number: int) -> None:
    found = len(blocks(positions, number)) - 1
    if positions <= number:
        assert found == positions
    else:
        assert number / 2 < found <= number


@given(POSITIONS, NUMBERS)
def test_a_number_of_blocks_says_where_they_lie(positions: int, number: int) -> None:
    edges = blocks(positions, number)
    np.testing.assert_array_equal(blocks(positions, len(edges) - 1), edges)


@given(POSITIONS, NUMBERS, NUMBERS)
def test_coarser_blocks_are_whole_finer_ones(positions: int, number: int, other: int) -> None:
    few, many = sorted((number, other))
    assert set(blocks(positions, few)) <= set(blocks(positions, many))


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
