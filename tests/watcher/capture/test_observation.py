"""The map of a short text is computed when a fact is first read, from copies of query and key."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, batch

import regard
from regard.engine.call import Requested
from regard.engine.observe import observe_problem
from regard.engine.profile import Profile
from regard.watcher.capture import observation, records

FAMILY = {family.name: family for family in FAMILIES}


@pytest.fixture
def maps(monkeypatch):
    """The number of maps that were computed late."""
    computed = []

    def counted(problem, requested):
        if requested == Requested(False, map=requested.map):  # nothing but the map
            computed.append(problem.leading)
        return observe_problem(problem, requested)

    monkeypatch.setattr(observation, "observe_problem", counted)
    return computed


def watched(model, inputs, **options):
    with torch.no_grad(), regard.watch(model, **options) as seen:
        output = model(**inputs)
    return seen, output


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["bert", "llama"])
def test_a_late_map_is_the_map(name, dtype, maps):
    """The same bits as where query and key are kept, whose map is computed at once."""
    model, inputs = deepcopy(FAMILY[name].made()).to(dtype), batch("not", 2, 9)
    seen, _ = watched(model, inputs)
    assert maps == []
    kept, _ = watched(model, inputs, keep="all")
    for sentence in range(2):
        for layer in seen.names:
            one, two = (x.sentence(sentence)[layer] for x in (seen, kept))
            np.testing.assert_array_equal(one.map, two.map)
            np.testing.assert_array_equal(one.entropy, two.entropy)
            np.testing.assert_array_equal(
                one.measures.induction.sum_h, two.measures.induction.sum_h
            )
    assert len(maps) == len(seen.names)  # of both sentences together


def test_a_cache_that_is_overwritten_changes_no_map(maps):
    model, inputs = FAMILY["llama"].made(), batch("not", 1, 9)
    expected, _ = watched(model, inputs)
    before = [expected[layer].map.copy() for layer in expected.names]
    seen, output = watched(model, inputs | {"use_cache": True})
    for layer in output.past_key_values.layers:
        layer.keys.zero_()
    for layer, array in zip(seen.names, before, strict=True):
        np.testing.assert_array_equal(seen[layer].map, array)


def test_memory_that_is_told_grows_when_the_map_is_read():
    seen, _ = watched(FAMILY["llama"].made(), batch("not", 1, 9))
    (record,) = seen._recorder.runs[0].records[seen.names[0]]
    waiting = record.nbytes, record.query_key_bytes
    assert all(waiting)
    heads = seen[seen.names[0]].map.shape[0]
    assert record.nbytes >= waiting[0] + heads * 9 * 9 * 4
    assert record.query_key_bytes == 0


@pytest.mark.parametrize("options", [{"map": 8}, {"keep": "all"}, {"map": 0}], ids=str)
def test_maps_that_do_not_wait(options, maps):
    seen, _ = watched(FAMILY["llama"].made(), batch("not", 1, 9), **options)
    records = [x for each in seen._recorder.runs[0].records.values() for x in each]
    assert not any(record.pending for record in records)
    assert maps == []


def test_tokens_after_a_prompt_complete_its_map_first(maps):
    model = FAMILY["llama"].made()
    options = {"max_new_tokens": 3, "min_new_tokens": 3, "do_sample": False}
    with torch.no_grad(), regard.watch(model) as seen:
        model.generate(**batch("not", 1, 9), **options)
    assert seen[0].map.shape[1:] == (11, 11)
    np.testing.assert_allclose(seen[0].map.sum(axis=-1), 1, rtol=1e-5)
    assert maps


def test_a_long_text_has_a_map_of_half_as_many_blocks(maps):
    """So that a long text's map takes no more memory than the model's own vectors."""
    model, inputs = FAMILY["llama"].made(), batch("not", 1, 9)
    seen, _ = watched(model, inputs, map=8)
    assert maps == []
    every, _ = watched(model, inputs, map=9)
    for layer in seen.names:
        weights_hqk = every[layer].map
        assert weights_hqk.shape[1:] == (9, 9)
        columns_hqc = np.add.reduceat(weights_hqk, [0, 4, 8], axis=2)
        means_hrc = np.add.reduceat(columns_hqc, [0, 4, 8], axis=1) / [[4], [4], [1]]
        np.testing.assert_allclose(seen[layer].map, means_hrc, rtol=1e-5)


def test_facts_that_stay_lie_in_memory_of_their_own(monkeypatch):
    """Every fact is the same, and best keys, stored in 16 bits, are given out in 64."""
    model, inputs = FAMILY["llama"].made(), batch("not", 1, 9)
    expected, _ = watched(model, inputs, keep="all", spans={"begin": (0, 3)})
    monkeypatch.setattr(records, "OWN_MEMORY_BYTES", 0)
    moved, _ = watched(model, inputs, keep="all", spans={"begin": (0, 3)})
    for layer in moved.names:
        (record,) = moved._recorder.runs[0].records[layer]
        assert record.settled
        assert record.rows["top_keys"][0].dtype == np.int16
        one, two = moved[layer], expected[layer]
        for name, fact in two.facts.items():
            np.testing.assert_array_equal(one.facts[name], fact)
            assert one.facts[name].dtype == fact.dtype
        np.testing.assert_array_equal(one.profile.weight, two.profile.weight)
        np.testing.assert_array_equal(one.measures.distance.sum_h, two.measures.distance.sum_h)
        np.testing.assert_array_equal(one.span_weights, two.span_weights)


def test_arrays_are_copied_wherever_they_stand():
    profile = Profile(np.ones(2), np.arange(3), np.ones((2, 3), np.float32))
    tree = {"rows": [np.arange(4), None], "pair": (profile, 7), "empty": np.zeros((0, 2))}
    copied = records.in_own_memory(tree)
    np.testing.assert_array_equal(copied["rows"][0], np.arange(4))
    assert copied["rows"][1] is None
    assert copied["pair"][1] == 7
    assert copied["empty"].shape == (0, 2)
    one, two = copied["pair"][0], profile
    assert one.weight.dtype == np.float32
    np.testing.assert_array_equal(one.weight, two.weight)
    assert not np.shares_memory(one.weight, two.weight)
