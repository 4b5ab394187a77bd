"""Observations over disjoint keys, merged, are the observation over all of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.engine.merge import merge
from regard.engine.observe import observe
from regard.errors import ArgumentError, NotAskedError

FACTS = ("output", "logsumexp", "entropy", "received", "received_mean", "map")
# Both sides are float64 sums of at most 40 terms of size 1 in different orders: 40 eps is 9e-15.
TOLERANCE = 1e-13


def arrays(keys: int, queries: int = 17, seed: int = 0) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(seed)
    shapes = (2, 4, queries, 8), (2, 2, keys, 8), (2, 2, keys, 5)
    return tuple(random.standard_normal(shape) for shape in shapes)


def cut(array: np.ndarray, start: int, stop: int) -> np.ndarray:
    return array[..., start:stop, :]


def in_pieces(edges: list[int], queries: int = 17, **arguments):
    """Observe each range of keys by itself and merge from left to right."""
    query, key, value = arrays(edges[-1], queries)
    seen = None
    for start, stop in pairwise(edges):
        offset = {"offset": -start} if arguments.get("causal") else {}
        part = observe(
            query, cut(key, start, stop), cut(value, start, stop), map=7, **offset, **arguments
        )
        seen = part if seen is None else merge(seen, part)
    return seen, observe(
        query, key, value, map=7, **({"offset": 0} if arguments.get("causal") else {}), **arguments
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.booleans())
def test_splitting_the_keys_anywhere_changes_nothing(cuts: list[int], causal: bool) -> None:
    merged, at_once = in_pieces([0, *sorted(cuts), 40], causal=causal)
    for name in FACTS:
        np.testing.assert_allclose(getattr(merged, name), getattr(at_once, name), atol=TOLERANCE)
    np.testing.assert_allclose(merged.top().weights, at_once.top().weights, atol=TOLERANCE)
    np.testing.assert_array_equal(merged.top(3).keys, at_once.top(3).keys)
    tile = (slice(2, 9), slice(5, 33))
    np.testing.assert_allclose(merged.tile(*tile), at_once.tile(*tile), atol=TOLERANCE)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(0, 40), st.integers(1, 45))
def test_a_merged_map_has_the_blocks_of_all_keys(tokens: int, cut_at: int, side: int) -> None:
    """Of a sequence that looks at itself, at any number of blocks."""
    query, key, value = arrays(tokens, tokens)
    first, second = (slice(0, cut_at), slice(cut_at, None))
    parts = [observe(query, key[..., x, :], value[..., x, :], map=side) for x in (first, second)]
    at_once = observe(query, key, value, map=side)
    np.testing.assert_allclose(merge(*parts).map, at_once.map, atol=TOLERANCE)


def test_the_order_of_merging_does_not_matter_to_rows() -> None:
    query, key, value = arrays(30)
    parts = [observe(query, cut(key, a, a + 10), cut(value, a, a + 10)) for a in (0, 10, 20)]
    left = merge(merge(parts[0], parts[1]), parts[2])
    right = merge(parts[0], merge(parts[1], parts[2]))
    for name in ("output", "logsumexp", "entropy", "received", "map"):
        np.testing.assert_allclose(getattr(left, name), getattr(right, name), atol=TOLERANCE)


def test_a_part_that_sees_nothing_adds_nothing() -> None:
    query, key, value = arrays(20)
    blind = observe(query, key, value, mask=np.zeros((17, 20), bool), map=7)
    merged = merge(blind, observe(query, key, value, map=7))
    np.testing.assert_array_equal(merged.received[..., :20], 0)
    np.testing.assert_allclose(merged.output, observe(query, key, value).output, atol=TOLERANCE)


def test_two_blind_parts_stay_blind() -> None:
    query, key, value = arrays(20)
    blind = observe(query, key, value, mask=np.zeros((17, 20), bool))
    merged = merge(blind, blind)
    assert np.isneginf(merged.logsumexp).all()
    assert not merged.output.any()
    assert not merged.entropy.any()


def test_without_query_and_key_the_columns_are_left_out_and_said_so(tmp_path) -> None:
    query, key, value = arrays(20)
    observe(query, key, value).save(tmp_path / "part.regard")
    from regard.engine.files import load

    merged = merge(load(tmp_path / "part.regard"), observe(query, key, value))
    np.testing.assert_allclose(merged.output, observe(query, key, value).output, atol=TOLERANCE)
    with pytest.raises(NotAskedError) as error:
        _ = merged.received
    assert str(error.value) == (
        "received is left out after a merge: it needs query and key, and they were not kept."
    )


@pytest.mark.parametrize(
    ("other", "options", "words"),
    [
        (arrays(20, queries=16), {}, "of the same queries, got axes (2, 4, 17) and (2, 4, 16)."),
        (arrays(20, seed=1), {}, "of the same queries, got different queries."),
        (arrays(20), {"scale": 2.0},
         "with the same scale and softcap, got 0.353553 and None, then 2 and None."),
    ],
    ids=["axes", "queries", "scale"],
)  # fmt: skip
def test_other_queries_and_scales_are_refused(other, options, words) -> None:
    with pytest.raises(ArgumentError) as error:
        merge(observe(*arrays(20)), observe(*other, **options))
    assert str(error.value) == f"merge must get two observations {words}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lowest", [-1e9, -1e15, -1e30, float(np.finfo(np.float32).min)])
def test_rows_of_one_huge_number_divide_as_all_keys_at_once(lowest: float, dtype: type) -> None:
    query, key, value = (x.astype(dtype) for x in arrays(30))
    mask = np.zeros((17, 30), np.float32)
    mask[[3, 4, 11]] = lowest
    mask[5, 2:] = lowest
    edges = [0, 7, 19, 30]
    parts = [
        observe(query, cut(key, a, b), cut(value, a, b), mask=mask[:, a:b], map=7)
        for a, b in pairwise(edges)
    ]
    merged, at_once = (
        merge(merge(*parts[:2]), parts[2]),
        observe(query, key, value, mask=mask, map=7),
    )
    tolerance = 64 * np.finfo(dtype).eps + 4e-16 * min(abs(lowest), 1e9)  # of a log-sum-exp
    for name in FACTS:
        actual, expected = getattr(merged, name), getattr(at_once, name)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_allclose(merged.top().weights, at_once.top().weights, atol=tolerance)


def test_huge_rows_without_their_scores_are_refused(tmp_path) -> None:
    query, key, value = arrays(20)
    mask = np.full((17, 20), np.finfo(np.float32).min)
    part = observe(query, key, value, mask=mask)
    part.save(tmp_path / "part.regard")
    from regard.engine.files import load

    with pytest.raises(ArgumentError) as error:
        merge(load(tmp_path / "part.regard"), part)
    assert str(error.value) == (
        "merge must get query and key where all scores of a row are huge, got observations "
        "without: their log-sum-exp cannot say how the row divides."
    )
