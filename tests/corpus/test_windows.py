"""Windows of documents, and sums over their queries against direct computation."""

import numpy as np
import pytest

from regard.corpus.models import observe_windows
from regard.corpus.windows import MEASURE_NAMES, Window, beyond_sink, cosines, cut, most_received
from regard.engine.observe import observe
from regard.engine.profile import bands_within
from regard.heads.measures import head_measures
from regard.transformer.checkpoint import load_model


@pytest.mark.parametrize("tokens", [0, 1, 6, 7, 8, 14, 15])
def test_windows_hold_every_token_once(tokens):
    windows = cut(range(100, 100 + tokens), window=9, first=[1], last=[2])
    inside = [token for window in windows for token in window.tokens[1:-1]]
    assert inside == list(range(100, 100 + tokens))
    assert all(window.tokens[0] == 1 and window.tokens[-1] == 2 for window in windows)
    assert all(len(window.tokens) <= 9 for window in windows)
    assert [window.start for window in windows] == [9 * i for i in range(len(windows))]


BAND = bands_within(64)


@pytest.fixture(scope="module")
def model(folder):
    return load_model(folder)


def windows_of(lengths, seed=0):
    """Random tokens, few enough different ones that they repeat."""
    rng = np.random.default_rng(seed)
    return [Window(0, tuple(rng.integers(4, 20, length).tolist())) for length in lengths]


IN_SUMS = {"sum": "sums_mwh", "uniform": "uniform_mwh", "queries": "queries_mwh"}
LENGTHS = [2, 5, 9, 9, 9, 17, 17, 30, 1, 64]


def test_sums_equal_the_head_measures(model):
    windows = windows_of(LENGTHS)
    sums = observe_windows(model, windows, BAND)
    for number, window in enumerate(windows):
        encoded = model.encode(np.array([window.tokens]))
        for layer, call in enumerate(encoded.calls):
            seen = observe(call.query_bhqd[0], call.key_bhkd[0], call.value_bhkd[0])
            measures, heads = head_measures(seen, window.tokens), slice(4 * layer, 4 * layer + 4)
            for row, name in enumerate(MEASURE_NAMES):
                measure = getattr(measures, name)
                # float32 sums over at most 64 queries of weights that are right to a few ulp, and
                # of logarithms of up to 4.2: 64 * 4.2 * 2^-22 = 6e-5.
                for mine in ("sum", "uniform", "queries"):
                    np.testing.assert_allclose(
                        getattr(sums, IN_SUMS[mine])[row, number, heads],
                        getattr(measure, f"{mine}_h"), atol=6e-5, rtol=0,
                    )  # fmt: skip
            np.testing.assert_allclose(
                sums.distance_whb[number, heads], measures.distance.sum_h[:, BAND], atol=6e-5
            )
            most = most_received(np.asarray(seen.received))[1]
            mine = sums.most_whn[number, heads, : most.shape[-1]]
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
    assert (off_mwh <= MOVED * np.log(64) * queries_w1).all()
    for number in (0, 4, 9):
        alone = observe_windows(model, [windows[number]], BAND)
        off_mh = np.abs(alone.sums_mwh[:, 0] - together.sums_mwh[:, number])
        assert (off_mh <= MOVED * np.log(64) * LENGTHS[number]).all()


def test_sums_over_all_windows(model):
    windows = windows_of(LENGTHS)
    sums = observe_windows(model, windows, BAND)
    queries = sum(LENGTHS)
    assert sums.positions_p.sum() == queries
    np.testing.assert_allclose(
        sums.by_position_2hp[0].sum(axis=-1),
        sums.sums_mwh[MEASURE_NAMES.index("entropy")].sum(axis=0),
        rtol=1e-6,
    )
    # What all keys receive is one for each query; a sum of 163 float32 numbers.
    np.testing.assert_allclose(sums.by_position_2hp[1].sum(axis=-1), queries, rtol=1e-6)
    np.testing.assert_allclose(sums.distance_whb.sum(axis=(0, 2)), queries, rtol=1e-6)
    # One token has no other to look at, of two only one is no sink.
    compared = sum(length > 2 for length in LENGTHS)
    np.testing.assert_allclose(np.diagonal(sums.cosine_hh), compared, rtol=1e-12)
    assert (np.abs(sums.cosine_hh) <= compared * (1 + 1e-6)).all()


def test_no_window_at_all(model):
    sums = observe_windows(model, [], BAND)
    assert sums.sums_mwh.shape == (len(MEASURE_NAMES), 0, 8)


def test_heads_are_alike_as_far_as_their_weights_are():
    one, other = np.eye(3).reshape(1, -1), np.eye(3)[::-1].reshape(1, -1)
    weights_bhx = np.concatenate([one, 2 * one, other], axis=0)[None]
    np.testing.assert_allclose(
        cosines(weights_bhx), [[1, 1, 1 / 3], [1, 1, 1 / 3], [1 / 3, 1 / 3, 1]], rtol=1e-12
    )


def test_heads_that_rest_on_the_first_token_are_not_alike_by_that():
    """Three causal heads with 90 % on the first token: two look one back, one at itself."""
    tokens = 12
    sink, causal_qk = np.zeros((tokens, tokens)), np.tri(tokens, dtype=bool)
    sink[:, 0] = 1
    back = np.eye(tokens, k=-1)
    back[0, 0] = 1
    even = causal_qk / causal_qk.sum(axis=1, keepdims=True)
    heads = [0.9 * sink + 0.1 * rest for rest in (back, back, np.eye(tokens), even)]
    weights_hqk = np.array([*heads, even])
    plain = cosines(weights_hqk.reshape(1, 5, -1))
    assert (plain[:4, :4] > 0.97).all()  # all of them duplicates, by the sink alone
    beyond = cosines(beyond_sink(weights_hqk, causal_qk)[None])
    assert beyond[0, 1] == pytest.approx(1)
    assert np.abs(beyond[[0, 0, 2], [2, 3, 4]]).max() < 0.4
    # Even attention prefers nothing: what is left of it is rounding.
    assert np.abs(beyond_sink(weights_hqk, causal_qk)[3:]).max() < 1e-15


def test_most_received_breaks_ties_by_position():
    keys, most = most_received(np.array([0.5, 2.0, 0.5, 1.0, 2.0]))
    assert keys.tolist() == [1, 4, 3]
    assert most.tolist() == [2.0, 2.0, 1.0]
