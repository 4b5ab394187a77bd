"""Scores of watched models as sums of terms, against the model's own products in torch."""

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, batch

import regard
from regard.errors import ArgumentError, BackendError

FAMILY = {family.name: family for family in FAMILIES}
GPT2, LLAMA = FAMILY["gpt2"], FAMILY["llama"]
FOLLOWED = [FAMILY[x] for x in ("bert", "roberta", "gpt2", "llama", "qwen2", "mistral")]
IDS = batch("not", 1)["input_ids"]
# Terms of a few units in float64 against a product of float32 vectors behind two layers, whose
# relative rounding is some 1e-6.
ROUNDING = 1e-5


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def seen_of(family, **options):
    with regard.watch(family.made(), **options) as seen:
        family.made()(input_ids=IDS)
    return seen


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("family", FOLLOWED, ids=str)
def test_the_terms_sum_to_the_score_of_query_and_key(family, layer):
    """query and key as the watched block recorded them."""
    seen = seen_of(family, keep="all", map=16)
    for head in range(4):
        because = seen.because(6, 3, layer, head)
        part = seen[layer].parts[0]
        query_d = np.asarray(part.query_hqd, np.float64)[head, 6]
        keys = np.asarray(part.key_gkd, np.float64)
        key_d = keys[head // (4 // len(keys)), 3]
        expected = float(query_d @ key_d) / 2
        largest = max(abs(term.value) for term in because.terms)
        assert because.score == pytest.approx(expected, abs=ROUNDING * max(1, largest))
        assert because.total == pytest.approx(because.score, abs=ROUNDING * max(1, largest))
        assert because.total == pytest.approx(sum(x.value for x in because.terms), abs=1e-12)
        assert because.weight == pytest.approx(float(seen[layer].map[head, 6, 3]), abs=1e-5)


def test_the_terms_of_a_head_are_what_the_score_loses_without_its_writing():
    """The head's part of the projection removed from the vector, the norm's scale as it was."""
    model, inputs, captured = GPT2.made(), {"input_ids": IDS}, {}
    block, projection = model.transformer.h[1], model.transformer.h[0].attn.c_proj
    hooks = [
        block.ln_1.register_forward_pre_hook(lambda _, x: captured.update(x=x[0][0].double())),
        projection.register_forward_pre_hook(lambda _, x: captured.update(z=x[0][0].double())),
    ]
    model(**inputs)
    for hook in hooks:
        hook.remove()
    x, z = captured["x"], captured["z"]
    written = z[6, 8:12] @ projection.weight.double()[8:12]  # head 2 of layer 0, at token 6
    scale = block.ln_1.weight.double() / torch.sqrt(x[6].var(correction=0) + block.ln_1.eps)
    w_query = block.attn.c_attn.weight.double()[:, 4:8]  # head 1 of layer 1
    lost = ((written - written.mean()) * scale) @ w_query
    normed = torch.nn.functional.layer_norm(
        x[3], (16,), block.ln_1.weight.double(), block.ln_1.bias.double(), block.ln_1.eps
    )
    key = (
        normed @ block.attn.c_attn.weight.double()[:, 20:24]
        + block.attn.c_attn.bias.double()[20:24]
    )
    because = seen_of(GPT2).because(6, 3, 1, 1)
    terms = [x.value for x in because.terms if str(x.query) == "6: head 0.2"]
    assert sum(terms) == pytest.approx(float(lost @ key) / 2, abs=ROUNDING)
    assert len(terms) > 5


def test_the_page_counts_the_rest():
    because = seen_of(LLAMA).because(6, 3, 1, 2)
    text = str(because)
    assert f"is the sum of {len(because.terms)} terms:" in text
    assert f"the other {len(because.terms) - 12} terms together" in text
    assert because.to_dict()["positions"] == [6, 3]


def test_a_model_that_does_more_than_its_layers_show_is_refused():
    model = GPT2.made()

    def more(module, arguments, output):
        return output + arguments[0].flip(-1)

    hook = model.transformer.h[0].register_forward_hook(more)
    try:
        seen = seen_of(GPT2)
        with pytest.raises(BackendError, match="does something in its layers that regard does no"):
            seen.because(6, 3, 1, 0)
    finally:
        hook.remove()


def test_what_is_wrong_is_explained():
    seen = seen_of(LLAMA)
    wrong = {
        "layer must be a number from 0 to 1 (layers count from 0), got 2.": (6, 3, 2, 0),
        "head must be a number from 0 to 3 (heads count from 0), got 4.": (6, 3, 1, 4),
        "3 can only look at words before it, but 6 comes later: it is hidden.": (3, 6, 1, 0),
        "the word must be a number from 0 to 10, got 11.": (11, 6, 1, 0),
    }
    for message, arguments in wrong.items():
        with pytest.raises(ArgumentError) as error:
            seen.because(*arguments)
        assert str(error.value) == message


@pytest.mark.parametrize("name", ["gemma2", "qwen3", "albert", "modernbert"])
def test_a_stream_that_is_not_known(name):
    family = FAMILY[name]
    with pytest.raises(BackendError) as error:
        seen_of(family).because(6, 3, 1, 0)
    assert str(error.value) == (
        f"the residual stream of {family.model.__name__} cannot be followed: regard knows how the "
        "layers of Llama, GPT-2 and BERT and of models built like them add up, and these differ."
    )
