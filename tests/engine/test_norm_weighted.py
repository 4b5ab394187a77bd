"""Norm-weighted observations: every fact is that of p |v W_O|, normalised, by a bias on the key."""

import numpy as np
import pytest

from regard.engine.call import NORM_WEIGHTED_NOTE, carried_norms
from regard.engine.merge import merge
from regard.engine.observe import observe
from regard.errors import ArgumentError, ShapeError

RNG = np.random.default_rng(5)
HEADS, KEYS, WIDTH = 4, 50, 8


def arrays(key_heads=HEADS, queries=KEYS):
    query_hqd = RNG.normal(size=(HEADS, queries, WIDTH))
    key_gkd, value_gkd = RNG.normal(size=(2, key_heads, KEYS, WIDTH))
    return query_hqd, key_gkd, value_gkd, RNG.normal(size=(HEADS * WIDTH, 12))


def shares(query_hqd, key_gkd, value_gkd, w_output, visible=None):
    """p |v W_O| normalised, all of it in memory."""
    repeat = len(query_hqd) // len(key_gkd)
    key_hkd, value_hkd = (np.repeat(x, repeat, axis=0) for x in (key_gkd, value_gkd))
    scores_hqk = np.einsum("hqd,hkd->hqk", query_hqd, key_hkd) / np.sqrt(WIDTH)
    if visible is not None:
        scores_hqk = np.where(visible, scores_hqk, -np.inf)
    p_hqk = np.exp(scores_hqk - scores_hqk.max(axis=-1, keepdims=True))
    p_hqk /= p_hqk.sum(axis=-1, keepdims=True)
    matrix_hde = w_output.reshape(HEADS, WIDTH, -1)
    carried_hqk = p_hqk * np.linalg.norm(value_hkd @ matrix_hde, axis=-1)[:, None]
    return carried_hqk / carried_hqk.sum(axis=-1, keepdims=True)


@pytest.mark.smoke
@pytest.mark.parametrize("key_heads", [HEADS, 2], ids=["own keys", "shared keys"])
def test_every_fact_is_that_of_the_norm_weighted_weights(key_heads):
    query, key, value, w_output = arrays(key_heads)
    expected_hqk = shares(query, key, value, w_output)
    seen = observe(query, key, value, weighted="norm", w_output=w_output, map=64)
    np.testing.assert_allclose(seen.tile(slice(None), slice(None)), expected_hqk, atol=1e-12)
    np.testing.assert_allclose(seen.received, expected_hqk.sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(seen.map, expected_hqk, atol=1e-12)
    entropy_hq = -(expected_hqk * np.log(expected_hqk)).sum(axis=-1)
    np.testing.assert_allclose(seen.entropy, entropy_hq, atol=1e-10)
    best_hqn = np.sort(expected_hqk, axis=-1)[..., ::-1][..., :16]
    np.testing.assert_allclose(seen.top().weights, best_hqn, atol=1e-12)
    itself_h = expected_hqk[:, np.arange(KEYS), np.arange(KEYS)].mean(axis=1)
    np.testing.assert_allclose(seen.profile.itself, itself_h, atol=1e-10)
    assert seen.notes == (NORM_WEIGHTED_NOTE,)
    assert "These are not the attention weights." in str(seen)


def test_causal_window_and_masks_hold_as_they_do_without():
    query, key, value, w_output = arrays()
    causal_qk = np.tri(KEYS, dtype=bool)
    options = {"weighted": "norm", "w_output": w_output}
    expected_hqk = shares(query, key, value, w_output, causal_qk)
    for given in ({"causal": True}, {"mask": causal_qk},
                  {"mask": np.where(causal_qk, 0.0, -np.inf)}):  # fmt: skip
        seen = observe(query, key, value, **options, **given)
        tile_hqk = seen.tile(slice(None), slice(None))
        np.testing.assert_allclose(tile_hqk, expected_hqk, atol=1e-12)


def test_a_value_of_length_zero_gets_no_weight():
    query, key, value, w_output = arrays()
    value[:, 7] = 0
    seen = observe(query, key, value, weighted="norm", w_output=w_output)
    assert not seen.received[:, 7].any()
    np.testing.assert_allclose(seen.received.sum(axis=-1), KEYS)


def test_without_w_output_the_values_own_lengths_count():
    query, key, value, _ = arrays()
    identity = np.eye(HEADS * WIDTH)
    one = observe(query, key, value, weighted="norm").received
    other = observe(query, key, value, weighted="norm", w_output=identity).received
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_one_head_has_two_axes():
    query, key, value = (x[0] for x in arrays()[:3])
    assert carried_norms(value, None, 1).shape == (KEYS,)
    assert observe(query, key, value, weighted="norm").received.shape == (KEYS,)


def test_merged_parts_are_the_facts_of_all_keys():
    query, key, value, w_output = arrays()
    options = {"weighted": "norm", "w_output": w_output}
    both = merge(
        observe(query, key[:, :20], value[:, :20], **options),
        observe(query, key[:, 20:], value[:, 20:], **options),
    )
    expected = observe(query, key, value, **options)
    np.testing.assert_allclose(both.received, expected.received, atol=1e-10)
    assert NORM_WEIGHTED_NOTE in both.notes
    with pytest.raises(ArgumentError) as error:
        merge(observe(query, key[:, :20], value[:, :20]),
              observe(query, key[:, 20:], value[:, 20:], **options))  # fmt: skip
    assert str(error.value) == (
        "merge must get two observations weighted alike, got one that is norm-weighted: observe "
        "both with weighted='norm', or both without."
    )


def test_what_cannot_be_weighted_is_explained():
    query, key, value, w_output = arrays()
    with pytest.raises(ArgumentError) as error:
        observe(query, key, value, weighted="length")
    assert str(error.value) == "weighted must be None or 'norm', got 'length'."
    with pytest.raises(ArgumentError) as error:
        observe(query, key, value, weighted="norm", mask=lambda q, k: k <= q)
    assert str(error.value) == (
        "mask must be an array with weighted='norm', got a function: say causal, window or "
        "lengths instead, or give the mask as an array."
    )
    with pytest.raises(ShapeError) as error:
        observe(query, key, value, weighted="norm", w_output=w_output[:5])
    assert str(error.value) == ("w_output must have axes (hd=32, e), got shape (5, 12): hd is 5.")


def test_the_bias_has_one_number_for_each_key():
    """Memory grows with n: a row of the mask is every row of it."""
    query, key, value, w_output = arrays()
    seen = observe(query, key, value, weighted="norm", w_output=w_output, causal=True)
    mask = seen.parts[0].visibility.mask
    assert mask.shape == (HEADS, KEYS, KEYS)
    assert mask.strides[-2] == 0


def test_torch_tensors_are_weighted_alike():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'regard[models]'")
    given = arrays()
    expected = observe(*given[:3], weighted="norm", w_output=given[3])
    query, key, value, w_output = map(torch.tensor, given)
    seen = observe(query, key, value, weighted="norm", w_output=w_output)
    np.testing.assert_array_equal(seen.received, expected.received)


def test_a_saved_file_says_how_it_is_weighted(tmp_path):
    from regard.watcher.files.watched_file import load

    query, key, value, w_output = arrays()
    seen = observe(query, key, value, weighted="norm", w_output=w_output)
    seen.save(tmp_path / "run.regard", query_and_key=True)
    again = load(tmp_path / "run.regard")
    assert again.notes == (NORM_WEIGHTED_NOTE,)
    tile_hqk = seen.tile(slice(None), slice(None))
    np.testing.assert_allclose(again.tile(slice(None), slice(None)), tile_hqk, atol=1e-12)
    assert again.picture(0).title.endswith("norm-weighted")
