"""Masks of every kind with random padding: what is read from a mask gives back the mask."""

import numpy as np
import pytest
import torch

from regard.watcher.seam.call import AttentionCall, Place
from regard.watcher.seam.visible import mask_bands, visible


def drawn(rng):
    """A mask (q, k) of a text, as a model makes it: causal, a window, or both sides, and padding.

    Keys may come from earlier calls, and behind them lie places of a cache that are not filled.
    """
    queries, past = int(rng.integers(1, 14)), int(rng.integers(0, 8)) * int(rng.integers(0, 2))
    unused = int(rng.integers(0, 5)) if past else 0
    keys, width = queries + past + unused, int(rng.integers(1, 8))
    back_qk = np.arange(queries)[:, None] + past - np.arange(keys)
    rules = {"causal": back_qk >= 0, "window": (back_qk >= 0) & (back_qk < width),
             "both": abs(back_qk) <= width, "full": np.ones_like(back_qk, bool)}  # fmt: skip
    seen_qk = rules[rng.choice(list(rules))] & (np.arange(keys) < queries + past)
    real_k, padding = np.ones(keys, bool), int(rng.integers(0, queries))
    side = rng.choice(["none", "left", "right"])
    if side == "left":
        real_k[:padding] = False
    elif side == "right" and not past:
        real_k[keys - padding :] = False
    own_q = real_k[np.minimum(np.arange(queries) + past, keys - 1)]
    return seen_qk & real_k, own_q


def given_back(one):
    """The mask (rows, columns) that ``observe`` would apply."""
    rows, columns = one.rows.stop - one.rows.start, one.columns.stop - one.columns.start
    if "mask" in one.options:
        mask_qk = np.asarray(one.options["mask"])[0, 0]
        return mask_qk if mask_qk.dtype == bool else np.isfinite(mask_qk)
    left, right = one.options.get("window", (None, None))
    back_qk = (np.arange(rows) + one.options["offset"])[:, None] - np.arange(columns)
    seen_qk = np.ones(back_qk.shape, bool)
    seen_qk &= back_qk <= left if left is not None else True
    return seen_qk & (back_qk >= -right) if right is not None else seen_qk


@pytest.mark.parametrize("seed", range(4))
def test_a_mask_is_given_back(seed):
    rng, read = np.random.default_rng(seed), 0
    for _ in range(250):
        seen_qk, own_q = drawn(rng)
        mask = torch.from_numpy(seen_qk)[None, None].clone()
        if rng.random() < 0.5:
            mask = torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)
        query, key = (torch.zeros(1, 1, n, 2) for n in seen_qk.shape)
        live_q = np.flatnonzero(seen_qk.any(1) & own_q)
        if not live_q.size:
            continue
        (one,) = visible(AttentionCall(Place(), query, key, mask=mask))
        rest_qk = seen_qk[one.rows].copy()
        rest_qk[:, one.columns] = False
        assert not rest_qk.any()  # all that is seen lies in the columns
        assert (given_back(one) == seen_qk[one.rows, one.columns]).all()
        assert set(live_q) <= set(range(one.rows.start, one.rows.stop))
        read += 1
    assert read > 200


def test_sentences_of_one_length_are_together():
    mask = torch.ones(3, 1, 5, 5).tril().bool()
    mask[1, ..., :2] = False
    query = torch.zeros(3, 2, 5, 4)
    found = visible(AttentionCall(Place(), query, query, mask=mask))
    assert [(x.sentences, x.rows, x.options) for x in found] == [
        ((0, 2), slice(0, 5), {"offset": 0, "window": (None, 0)}),
        ((1,), slice(2, 5), {"offset": 0, "window": (None, 0)}),
    ]


def test_numbers_besides_the_hidden_ones_are_a_bias():
    mask = torch.full((1, 2, 3, 3), -torch.inf).triu(1) + torch.arange(3.0)
    query = torch.zeros(1, 2, 3, 4)
    (one,) = visible(AttentionCall(Place(), query, query, mask=mask))
    np.testing.assert_array_equal(one.options["mask"], mask.numpy())


def test_a_mask_of_several_layers_is_read_once(monkeypatch):
    from regard.watcher.seam import visible as module

    calls, read = [], module._band
    monkeypatch.setattr(module, "_band", lambda *given: calls.append(1) or read(*given))
    mask = torch.ones(1, 1, 4, 4).tril().bool()
    assert mask_bands(mask, 4, 4) == mask_bands(mask, 4, 4)
    assert len(calls) == 1
