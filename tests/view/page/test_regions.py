"""Any rectangle at any resolution: what is called exact is exact, and a sample is what it says."""

import itertools

import numpy as np
import numpy.testing as npt
import pytest

import regard
from regard.engine.observation import ArrayFacts
from regard.errors import ArgumentError
from regard.textbook.steps import attend
from regard.view.page import regions
from regard.view.page.regions import Region, can_subsample, edges, region_cells, subsampled
from regard.watcher.layer import LayerObservation

RANDOM = np.random.default_rng(7)
QUERY, KEY = RANDOM.normal(size=(4, 90, 8)), RANDOM.normal(size=(2, 90, 8))
CASES = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": (9, 3)},
    "mask": {"mask": RANDOM.random((90, 90)) < 0.8},
    "rule": {"mask": lambda q, k: (q + k) % 3 > 0},
    "lengths": {"lengths": 50},
    "softcap": {"softcap": 2.0, "causal": True},
}


def nothing() -> None:
    """Nobody leaves."""


def dense(arguments) -> np.ndarray:
    return attend(QUERY, KEY, KEY, **arguments).weights[3]


def means(weights_qk, rows, columns) -> np.ndarray:
    summed = np.add.reduceat(weights_qk, columns[:-1], axis=1)[:, : len(columns) - 1]
    blocks = [summed[a:b].mean(axis=0) for a, b in itertools.pairwise(rows)]
    return np.stack(blocks)


@pytest.mark.parametrize("arguments", CASES.values(), ids=CASES)
@pytest.mark.parametrize("cells", [(1, 1), (7, 5), (40, 60), (500, 500)])
def test_exact_cells_are_means_of_the_weights(arguments, cells):
    seen = regard.observe(QUERY, KEY, KEY, map=0, **arguments)
    region = Region((13, 61), (2, 80), cells)
    shown = region_cells(seen, (3,), region, thorough=False, check=nothing)
    padded = dense(arguments)[:, :80]
    # Sums of at most 78 float64 weights: rounding far below 1e-12.
    npt.assert_allclose(
        shown.values_rc, means(padded, region.row_edges, region.column_edges), atol=1e-12
    )
    assert shown.description.startswith("exact: ")
    assert not shown.better


def test_single_weights_are_called_so():
    seen = regard.observe(QUERY, KEY, KEY, map=0)
    shown = region_cells(
        seen, (0,), Region((3, 9), (4, 12), (99, 99)), thorough=False, check=nothing
    )
    assert shown.description == "exact: every cell is one weight"
    npt.assert_array_equal(shown.values_rc, seen.tile(slice(3, 9), slice(4, 12), 0))


@pytest.mark.parametrize("arguments", CASES.values(), ids=CASES)
def test_a_sample_is_of_the_queries_it_names(arguments, monkeypatch):
    monkeypatch.setattr(
        regions, "QUICK_WEIGHTS", 90
    )  # weights at 64 features: 8 features are counted as 16
    seen = regard.observe(QUERY, KEY, KEY, map=0, **arguments)
    region = Region((0, 90), (0, 90), (9, 6))
    shown = region_cells(seen, (3,), region, thorough=False, check=nothing)
    assert shown.description == (
        "a sample: each cell is the mean over 1 of its 10 queries, of each all its keys"
    )
    assert shown.better
    picked = dense(arguments)[5::10]
    expected = np.add.reduceat(picked, region.column_edges[:-1], axis=1)
    npt.assert_allclose(shown.values_rc, expected, atol=1e-12)
    better = region_cells(seen, (3,), region, thorough=True, check=nothing)
    assert better.description.startswith("exact: ")


@pytest.mark.parametrize("arguments", CASES.values(), ids=CASES)
def test_picked_queries_look_as_before(arguments):
    seen = regard.observe(QUERY, KEY, KEY, **arguments)
    rows = np.array([2, 3, 50, 89])
    few = subsampled(seen, (3,), rows)
    npt.assert_allclose(few.tile(slice(0, 4), slice(0, 90), 0), dense(arguments)[rows], atol=1e-12)


def test_a_float_added_to_each_score_cannot_be_sampled():
    seen = regard.observe(QUERY, KEY, KEY, mask=np.zeros((90, 90)))
    assert not can_subsample(seen)


def test_the_map_is_shown_where_it_is_as_fine():
    seen = regard.observe(QUERY, KEY, KEY, map=9)
    shown = region_cells(
        seen, (1,), Region((0, 90), (0, 90), (5, 6)), thorough=False, check=nothing
    )
    pairs = seen.map[1][:4].reshape(2, 2, 6).mean(axis=1)
    npt.assert_allclose(shown.values_rc[:2], pairs, atol=1e-12)
    last = (16 * seen.map[1][4] + 10 * seen.map[1][5]) / 26
    npt.assert_allclose(shown.values_rc[2], last, atol=1e-12)
    assert shown.description == (
        "exact: each cell is the mean over up to 32 queries of the weight given to up to 16 keys"
    )
    coarse = region_cells(
        seen, (1,), Region((0, 90), (0, 90), (3, 3)), thorough=False, check=nothing
    )
    npt.assert_allclose(coarse.values_rc, shown.values_rc.reshape(3, 3, 2).sum(2), atol=1e-12)
    npt.assert_allclose(coarse.values_rc.sum(axis=1), 1, atol=1e-12)


def test_a_map_nearly_as_fine_is_shown_where_computing_would_take_long(monkeypatch):
    monkeypatch.setattr(regions, "QUICK_WEIGHTS", 90)
    seen = regard.observe(QUERY, KEY, KEY, map=9)
    whole = Region((0, 90), (0, 90), (9, 9))
    shown = region_cells(seen, (1,), whole, thorough=False, check=nothing)
    npt.assert_allclose(shown.values_rc, seen.map[1], atol=1e-12)
    assert not shown.better


def test_the_page_is_told_where_cells_lie():
    seen = regard.observe(QUERY, KEY, KEY, map=9)
    by_map = region_cells(
        seen, (1,), Region((0, 90), (0, 90), (5, 5)), thorough=False, check=nothing
    )
    assert by_map.row_edges.tolist() == [0, 32, 64, 90]
    assert by_map.geometry() == {"rows": [0, 90], "columns": [0, 90], "cells": [3, 3],
                               "spans": [96, 96]}  # fmt: skip
    computed = region_cells(
        seen, (1,), Region((3, 13), (0, 9), (4, 9)), thorough=False, check=nothing
    )
    assert computed.geometry() == {"rows": [3, 13], "columns": [0, 9], "cells": [4, 9],
                                 "spans": [10, 9]}  # fmt: skip


def test_a_map_that_grew_is_shown_in_cells_of_one_size():
    seen = regard.observe(QUERY, KEY, KEY, map=90)
    rows = np.append(np.arange(0, 64, 8), np.arange(64, 91))  # as while a text is written
    blocks = np.stack([part.mean(axis=0) for part in np.split(seen.map[1], rows[1:-1])])
    facts = ArrayFacts(map=blocks[None], logsumexp=seen.logsumexp[1:2])
    edges = {"row_edges": rows, "column_edges": np.arange(91)}
    grown = LayerObservation(facts, None, (), 90, seen.cost, **edges)
    shown = region_cells(
        grown, (0,), Region((0, 90), (0, 90), (90, 90)), thorough=True, check=nothing
    )
    assert shown.row_edges.tolist() == [*range(0, 90, 8), 90]
    expected = means(seen.map[1], shown.row_edges, np.arange(91))
    npt.assert_allclose(shown.values_rc, expected, atol=1e-12)


def test_without_query_and_key_the_map_says_that_it_is_all(tmp_path):
    regard.observe(QUERY, KEY, KEY, map=9).save(tmp_path / "it.regard")
    seen = regard.load(tmp_path / "it.regard")
    shown = region_cells(seen, (1,), Region((33, 41), (0, 5), (8, 5)), thorough=True, check=nothing)
    # Whole blocks, at their places.
    assert (shown.row_edges.tolist(), shown.column_edges.tolist()) == ([32, 48], [0, 16])
    npt.assert_array_equal(shown.values_rc, seen.map[1][2:3, :1])
    assert shown.description.endswith(
        "; this file holds no query and key, so it can be shown no finer"
    )


def test_nothing_to_draw_is_explained(tmp_path):
    regard.observe(QUERY, KEY, KEY, map=0).save(tmp_path / "it.regard")
    with pytest.raises(ArgumentError) as caught:
        region_cells(regard.load(tmp_path / "it.regard"), (0,), Region((0, 9), (0, 9), (3, 3)),
                  thorough=False, check=nothing)  # fmt: skip
    assert str(caught.value) == (
        "this file holds neither a map nor query and key, so there is nothing to draw: "
        "observe with map=256, or save with query_and_key=True."
    )


def test_work_that_nobody_waits_for_ends():
    class LeftError(Exception):
        pass

    def left() -> None:
        raise LeftError

    seen = regard.observe(QUERY, KEY, KEY, map=0)
    with pytest.raises(LeftError):
        region_cells(seen, (0,), Region((0, 90), (0, 90), (9, 9)), thorough=False, check=left)


def test_queries_that_see_nothing_do_not_count():
    mask = np.ones((90, 90), bool)
    mask[16:35] = False
    seen = regard.observe(QUERY, KEY, KEY, mask=mask, map=9)
    whole = Region((0, 80), (0, 80), (5, 5))
    by_map = region_cells(seen, (1,), whole, thorough=False, check=nothing)
    finer = regard.observe(QUERY, KEY, KEY, mask=mask, map=0)
    computed = region_cells(finer, (1,), whole, thorough=False, check=nothing)
    npt.assert_allclose(computed.values_rc, by_map.values_rc, atol=1e-12)
    assert (by_map.values_rc.sum(axis=1) > 0).tolist() == [True, False, True, True, True]


def test_edges_are_even():
    assert edges(3, 13, 4).tolist() == [3, 5, 8, 10, 13]
