"""What is measured from weights equals the definitions, in any company to float32's rounding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.corpus.unpadded import observe_windows
from regard.corpus.weight_measures import banded, by_distance, entropy, find_repeats
from regard.corpus.windows import NAMES, Window, bands_within, cosines, cut, most_received
from regard.engine.observe import observe
from regard.heads.measures import BANDS, head_measures
from regard.transformer.checkpoint import load_model

ROOM = 64
BAND = bands_within(ROOM)


@pytest.fixture(scope="module")
def model(folder):
    return load_model(folder)


def windows_of(lengths, seed=0):
    """Random tokens, few enough different ones that they repeat."""
    rng = np.random.default_rng(seed)
    return [Window(0, tuple(rng.integers(4, 20, length).tolist())) for length in lengths]


IN_FACTS = {"sum": "sums_mwh", "even": "even_mwh", "queries": "queries_mwh"}
LENGTHS = [2, 5, 9, 9, 9, 17, 17, 30, 1, 64]


def test_facts_equal_the_head_measures(model):
    windows = windows_of(LENGTHS)
    facts = observe_windows(model, windows, BAND)
    for number, window in enumerate(windows):
        encoded = model.encode(np.array([window.tokens]))
        for layer, call in enumerate(encoded.calls):
            seen = observe(call.query_bhqd[0], call.key_bhkd[0], call.value_bhkd[0])
            measures, heads = head_measures(seen, window.tokens), slice(4 * layer, 4 * layer + 4)
            for row, name in enumerate(NAMES):
                measure = getattr(measures, name)
                # float32 sums over at most 64 queries of weights that are right to a few ulp, and
                # of logarithms of up to 4.2: 64 * 4.2 * 2^-22 = 6e-5.
                for mine in ("sum", "even", "queries"):
                    np.testing.assert_allclose(
                        getattr(facts, IN_FACTS[mine])[row, number, heads],
                        getattr(measure, f"{mine}_h"), atol=6e-5, rtol=0,
                    )  # fmt: skip
            np.testing.assert_allclose(
                facts.distance_whb[number, heads], measures.distance.sum_h[:, BAND], atol=6e-5
            )
            most = most_received(np.asarray(seen.received))[1]
            mine = facts.most_whn[number, heads, : most.shape[-1]]
            np.testing.assert_allclose(mine, most, atol=6e-5)


def test_the_same_windows_give_the_same_bits(model):
    windows = windows_of(LENGTHS)
    once, again = (vars(observe_windows(model, windows, BAND)) for _ in range(2))
    for name, array in once.items():
        np.testing.assert_array_equal(again[name], array)


# A row of a product is added up in another order when it moves: every sum of the model has at most
# 48 terms, so a score of a few units moves by 48 roundings, and a weight by twice as many.
MOVED = 2 * 48 * 2.0**-24


def test_a_document_has_the_same_numbers_in_any_company(model):
    windows = windows_of(LENGTHS)
    together = observe_windows(model, windows, BAND)
    order = np.random.default_rng(1).permutation(len(windows))
    shuffled = observe_windows(model, [windows[i] for i in order], BAND)
    queries_w1 = np.array(LENGTHS)[order, None]
    for name in ("distance_whb", "most_whn"):
        off = np.abs(getattr(shuffled, name) - getattr(together, name)[order])
        assert (off <= MOVED * queries_w1[..., None]).all(), name
    # An entropy is a sum of weights times their logarithms, of up to log 64.
    off_mwh = np.abs(shuffled.sums_mwh - together.sums_mwh[:, order])
    assert (off_mwh <= MOVED * np.log(ROOM) * queries_w1).all()
    for number in (0, 4, 9):
        alone = observe_windows(model, [windows[number]], BAND)
        off_mh = np.abs(alone.sums_mwh[:, 0] - together.sums_mwh[:, number])
        assert (off_mh <= MOVED * np.log(ROOM) * LENGTHS[number]).all()


def test_sums_over_all_windows(model):
    windows = windows_of(LENGTHS)
    facts = observe_windows(model, windows, BAND)
    queries = sum(LENGTHS)
    assert facts.places_p.sum() == queries
    np.testing.assert_allclose(
        facts.by_place_2hp[0].sum(axis=-1), facts.sums_mwh[NAMES.index("entropy")].sum(axis=0),
        rtol=1e-6,
    )  # fmt: skip
    # What all keys receive is one for each query; a sum of 163 float32 numbers.
    np.testing.assert_allclose(facts.by_place_2hp[1].sum(axis=-1), queries, rtol=1e-6)
    np.testing.assert_allclose(facts.distance_whb.sum(axis=(0, 2)), queries, rtol=1e-6)
    np.testing.assert_allclose(np.diagonal(facts.alike_hh), len(windows), rtol=1e-12)
    assert (facts.alike_hh <= len(windows) * (1 + 1e-6)).all()


def test_no_window_at_all(model):
    facts = observe_windows(model, [], BAND)
    assert facts.sums_mwh.shape == (len(NAMES), 0, 8)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_distances_by_definition(length, seed):
    weights_bhqk = np.random.default_rng(seed).random((2, 3, length, length))
    found = by_distance(weights_bhqk)
    bands = banded(found, BAND)
    back_qk = np.arange(length)[:, None] - np.arange(length)
    for index in range(2 * length - 1):
        diagonal = weights_bhqk[..., back_qk == length - 1 - index].sum(axis=-1)
        np.testing.assert_allclose(found[..., index], diagonal, rtol=1e-12)
    for number, (near, far) in enumerate(BANDS[BAND]):
        low, high = sorted((near, far))
        inside = weights_bhqk[..., (back_qk >= low) & (back_qk <= high)].sum(axis=-1)
        np.testing.assert_allclose(bands[..., number], inside, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_repeats_by_definition(tokens):
    found = find_repeats(np.array([tokens]))
    length = len(tokens)
    marks = found.marks_bqk2 if found.texts.size else None
    for q in range(length):
        for k in range(length):
            same = k != q and tokens[k] == tokens[q]
            after = k not in (0, q) and k - 1 != q and tokens[k - 1] == tokens[q]
            if marks is None:
                assert not same
                assert not after
            else:
                assert marks[0, q, k].tolist() == [same, after]


def test_entropy_of_certain_and_even_weights():
    weights = np.array([[[[1.0, 0.0], [0.5, 0.5]]]], np.float32)
    np.testing.assert_allclose(entropy(weights)[0, 0], [0, np.log(2)], atol=1e-7)


def test_heads_are_alike_as_far_as_their_weights_are():
    one, other = np.eye(3).reshape(1, -1), np.eye(3)[::-1].reshape(1, -1)
    weights_bhx = np.concatenate([one, 2 * one, other], axis=0)[None]
    np.testing.assert_allclose(
        cosines(weights_bhx), [[1, 1, 1 / 3], [1, 1, 1 / 3], [1 / 3, 1 / 3, 1]], rtol=1e-12
    )


def test_most_received_breaks_ties_by_place():
    keys, most = most_received(np.array([0.5, 2.0, 0.5, 1.0, 2.0]))
    assert keys.tolist() == [1, 4, 3]
    assert most.tolist() == [2.0, 2.0, 1.0]


@pytest.mark.parametrize("tokens", [0, 1, 6, 7, 8, 14, 15])
def test_windows_hold_every_token_once(tokens):
    windows = cut(range(100, 100 + tokens), room=9, first=[1], last=[2])
    inside = [token for window in windows for token in window.tokens[1:-1]]
    assert inside == list(range(100, 100 + tokens))
    assert all(window.tokens[0] == 1 and window.tokens[-1] == 2 for window in windows)
    assert all(len(window.tokens) <= 9 for window in windows)
    assert [window.start for window in windows] == [9 * i for i in range(len(windows))]
