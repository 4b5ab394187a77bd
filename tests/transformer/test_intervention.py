"""Interventions in a run: nothing computed differently where nothing is changed, steps as whole."""

from dataclasses import replace

import numpy as np
import pytest

from regard.transformer import Search, beam_search
from regard.transformer.config import END, START
from regard.transformer.decoding import StepDecoder

SOURCES = ([10, 20, 30, 40, 50, 60, 3], [7, 8, 3], [100, 101, 102, 103, 3], [9, 3])
SOURCE_BT = np.array([SOURCES[0], [*SOURCES[1], 0, 0, 0, 0]])
LENGTHS_B = np.array([7, 3])


@pytest.fixture(scope="module")
def talker(model):
    """A model that likes END, so that translations end at different lengths."""
    embedding_ve = model.embedding_ve.copy()
    embedding_ve[END] = embedding_ve[4:40].mean(axis=0) * 5
    return replace(model, embedding_ve=embedding_ve)


def same_weights(result):
    """An intervention that writes the weights it was given."""
    return result.with_weights(result.weights_bhqk.copy())


def without_head(part, layer, head, sentence=None):
    """The output of one head set to 0, in one sentence of the batch or in all."""

    def change(result):
        if (result.part, result.layer) != (part, layer):
            return result
        output_bhqd = result.output_bhqd.copy()
        rows = slice(None) if sentence is None else result.sentence_b == sentence
        output_bhqd[rows, head] = 0
        return result.with_output(output_bhqd)

    return change


@pytest.mark.smoke
@pytest.mark.parametrize("intervention", [same_weights, lambda result: result])
def test_an_intervention_that_changes_nothing_changes_no_bit(model, intervention):
    given_bt = np.array([[START, 11, 12, 13]] * 2)
    plain = model.encode(SOURCE_BT, LENGTHS_B)
    changed = model.encode(SOURCE_BT, LENGTHS_B, intervention=intervention)
    np.testing.assert_array_equal(changed.memory_bke, plain.memory_bke)
    decoded = model.decode(changed, given_bt, intervention=intervention)
    np.testing.assert_array_equal(decoded.x_bte, model.decode(plain, given_bt).x_bte)


@pytest.mark.parametrize("beams", [1, 4])
def test_a_search_in_which_nothing_is_changed_scores_the_same_to_the_bit(talker, beams):
    plain = beam_search(talker, SOURCES, Search(beams))
    assert beam_search(talker, SOURCES, Search(beams), intervention=same_weights) == plain


@pytest.mark.parametrize("part", ["decoder", "cross"])
def test_a_change_acts_at_every_decoding_step_as_on_the_whole(model, part):
    intervention = without_head(part, 1, 2)
    given_bt = np.array([[START, 11, 12, 13, *range(20, 40)]] * 2)
    encoded = model.encode(SOURCE_BT, LENGTHS_B)
    whole = model.decode(encoded, given_bt, intervention=intervention)
    decoder = StepDecoder(model, encoded, 1, intervention)
    steps = [decoder.next_logits(given_bt[:, t]) for t in range(given_bt.shape[1])]
    logits_btv = whole.x_bte @ model.embedding_ve.T
    np.testing.assert_allclose(np.stack(steps, axis=1), logits_btv, rtol=2e-5, atol=2e-5)
    plain = model.decode(encoded, given_bt).x_bte
    assert np.abs(whole.x_bte - plain).max() > 1e-3


def test_a_sentence_is_named_by_its_number_in_the_batch_at_every_step(talker):
    """Sentences end at different steps: a change of one of them leaves the others as they are."""
    plain = beam_search(talker, SOURCES)
    everywhere = beam_search(talker, SOURCES, intervention=without_head("cross", 0, 1))
    for sentence in range(len(SOURCES)):
        intervention = without_head("cross", 0, 1, sentence)
        changed = beam_search(talker, SOURCES, intervention=intervention)
        expected = [*plain[:sentence], everywhere[sentence], *plain[sentence + 1 :]]
        assert [x.tokens for x in changed] == [x.tokens for x in expected]
        scores = [x.score for x in changed]
        assert scores == pytest.approx([x.score for x in expected], abs=1e-5)


def test_an_intervention_is_given_every_attention_once_a_step(talker):
    calls = []

    def record(result):
        rows, heads, queries, _ = result.weights_bhqk.shape
        assert result.output_bhqd.shape == (rows, heads, queries, result.value_bhkd.shape[-1])
        assert len(result.sentence_b) == rows == len(result.value_bhkd) == len(result.query_bhqd)
        calls.append((result.part, result.layer, *result.positions_q.tolist()))
        return result

    best = beam_search(talker, SOURCES[:1], Search(4), intervention=record)[0]
    layers, positions = range(talker.config.layers), range(len(SOURCES[0]))
    assert calls[:3] == [("encoder", layer, *positions) for layer in layers]
    steps = len(calls[3:]) // (2 * len(layers))
    assert steps >= len(best.tokens)
    pairs = [(part, layer) for layer in layers for part in ("decoder", "cross")]
    assert calls[3:] == [(*pair, step) for step in range(steps) for pair in pairs]


def test_weights_without_a_key_follow_the_closed_form(model):
    """z without j = (z - p_j v_j) / (1 - p_j): the real softmax over the other keys agrees."""
    results = []

    def record(result):
        results.append(result)
        return result

    model.encode(SOURCE_BT, LENGTHS_B, intervention=record)
    result = results[1]
    hidden_k = np.arange(7) == 1
    without = result.with_weights(result.weights_without(hidden_k))
    p_bhq = result.weights_bhqk[..., 1, None].astype(np.float64)
    formula = (result.output_bhqd - p_bhq * result.value_bhkd[:, :, 1, None]) / (1 - p_bhq)
    np.testing.assert_allclose(without.output_bhqd, formula, rtol=1e-5, atol=1e-6)
    assert not without.weights_bhqk[..., 1].any()
    assert not without.weights_bhqk[1, :, :, 3:].any(), "padding stays hidden"
