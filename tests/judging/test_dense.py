"""The share of dense attention that windows and sparse masks keep, beside plain sums."""

import pytest
import torch
from tests.judging.kernels import asked, causal, made, repeated

import regard
from regard.judging.dense import dense_shares


def shares(query, key, seen, there):
    """By hand, (heads, queries): kept by what is seen, and by the best as many keys."""
    key = repeated(query, key)[0].double()
    scores = (query.double() @ key.mT * 0.125).masked_fill(~there, -torch.inf)
    weights = scores.softmax(-1)[0]
    number = (seen & there).sum(-1)
    rows = range(weights.shape[1])
    best = [[weights[h, i].sort().values[-int(number[i]) :].sum() for i in rows] for h in range(6)]
    return (weights * seen).sum(-1), torch.tensor(best)


def call(query, key, value, seen, **options):
    key_h, value_h = repeated(query, key, value)
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key_h, value_h, attn_mask=seen, scale=0.125
    )
    return asked(query, key, value, output, **options)


@pytest.mark.parametrize("form", ["window", "mask", "numbers", "both sides"])
def test_shares_are_those_of_the_definition(form):
    query, key, value = made(torch.float32, "sink", queries=50)
    rows, keys = torch.arange(50)[:, None], torch.arange(50)
    seen = (keys <= rows) & (keys > rows - 12) | (keys == 0) * (form == "mask")
    there = causal(query, key)
    if form == "both sides":
        seen = (keys - rows).abs() < 9
        there = torch.ones_like(seen)
    options = {"position": 0, "ahead": None, "mask": seen}
    if form == "window":
        options = {"position": 0, "ahead": 0, "behind": 11}
    if form == "numbers":
        options["mask"] = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
    given = call(query, key, value, seen, **options)
    kept, best = dense_shares(given, torch.arange(50).expand(1, 2, 50))
    expected = [x.mean(-1) for x in shares(query, key, seen, there)]
    torch.testing.assert_close(kept[0], expected[0])
    torch.testing.assert_close(best[0], expected[1])
    assert bool((kept <= best + 1e-12).all())


def test_padding_and_full_attention_give_up_nothing():
    query, key, value = made(torch.float32, "plain", queries=30)
    seen = causal(query, key) & (torch.arange(30) >= 6)
    given = call(query, key, value, seen, position=0, ahead=None, mask=seen)
    kept, best = dense_shares(given, torch.arange(6, 30).expand(1, 2, 24))
    torch.testing.assert_close(kept, torch.ones_like(kept))
    torch.testing.assert_close(best, kept)


def test_the_verdict_tells_it_on_request():
    query, key, value = made(torch.float32, "plain", queries=60)
    rows, keys = torch.arange(60)[:, None], torch.arange(60)
    seen = (keys <= rows) & (keys > rows - 5)
    for dense in (False, True):
        with regard.judge(dense=dense) as verdict:
            call(query, key, value, seen)
        assert verdict.ok
        assert ("of the weight of dense attention" in str(verdict)) == dense
    heads = list(verdict.to_dicts())
    assert len(heads) == 6
    assert all(0 < head["dense_seen"] < head["dense_best"] < 1 for head in heads)
