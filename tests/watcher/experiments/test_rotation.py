"""Rotary embeddings number by number, against cosines and sines of their definition."""

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, batch

import regard
from regard.errors import BackendError

FAMILY = {family.name: family for family in FAMILIES}
IDS = batch("not", 1)["input_ids"]
QUERY, KEY = 6, 3
ROUNDING = 1e-5  # products of float32 vectors of a few units, against float64


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def seen_of(family, **options):
    with regard.watch(family.made(), **options) as seen:
        family.made()(input_ids=IDS)
    return seen


@pytest.mark.parametrize("name", ["llama", "qwen2", "mistral"])
def test_every_number_of_a_rotation_is_that_of_its_definition(name):
    """Before: the projection itself; turned by position / theta^(2i/d); after: what attended."""
    model, projected = FAMILY[name].made(), {}
    attention = model.model.layers[1].self_attn
    hooks = [
        module.register_forward_hook(lambda _, x, y, side=side: projected.update({side: y}))
        for side, module in (("query", attention.q_proj), ("key", attention.k_proj))
    ]
    seen = seen_of(FAMILY[name], keep="all")
    for hook in hooks:
        hook.remove()
    part, width = seen[1].parts[0], attention.head_dim
    theta = attention.config.rope_parameters["rope_theta"]
    for head in range(4):
        score = seen.rotation(QUERY, KEY, 1, head)
        group = head // (4 // len(part.key_gkd))
        vectors = {"query": (head, QUERY, part.query_hqd[head, QUERY]),
                   "key": (group, KEY, part.key_gkd[group, KEY])}  # fmt: skip
        assert [x.numbers for x in score.pairs] == [(i, i + width // 2) for i in range(width // 2)]
        for i, pair in enumerate(score.pairs):
            for side, (number, position, attended) in vectors.items():
                before = projected[side][0, position].view(-1, width)[number].double().numpy()
                angle = position * theta ** (-2 * i / width)
                x, y = before[[i, i + width // 2]]
                turned = (x * np.cos(angle) - y * np.sin(angle),
                          x * np.sin(angle) + y * np.cos(angle))  # fmt: skip
                shown = pair.turned_query if side == "query" else pair.turned_key
                assert getattr(pair, side) == pytest.approx((x, y), abs=ROUNDING)
                assert shown == pytest.approx(turned, abs=ROUNDING)
                assert shown == pytest.approx(np.asarray(attended)[[i, i + width // 2]], abs=1e-6)
            turns = np.exp(1j * (np.array(pair.angles) - np.array([QUERY, KEY]) * theta ** (
                -2 * i / width)))  # fmt: skip
            np.testing.assert_allclose(turns, 1, atol=ROUNDING)
        assert score.total == pytest.approx(score.score, abs=ROUNDING)
        assert score.rest == 0
        expected = sum(np.dot(x.query, x.key) for x in score.pairs) * score.scale
        assert score.unturned == pytest.approx(expected)
    assert f"the largest of {width // 2} pairs:" in str(score)


def test_a_model_that_turns_nothing_is_named():
    with pytest.raises(BackendError, match="hands no rotary embedding to layer 1"):
        seen_of(FAMILY["gpt2"]).rotation(QUERY, KEY, 1, 0)
