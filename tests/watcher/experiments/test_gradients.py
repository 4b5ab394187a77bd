"""Gradient x attention and integrated gradients, against autograd on eager attention."""

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, batch

import regard
from regard.errors import ArgumentError, BackendError

FAMILY = {family.name: family for family in FAMILIES}
IDS = batch("not", 1)["input_ids"]
# Two layers in float32 against the same two layers with other kernels.
ROUNDING = 1e-4


def made(name):
    if name != "bert":
        return FAMILY[name].made()
    from transformers import BertForMaskedLM

    torch.manual_seed(0)
    return BertForMaskedLM(FAMILY["bert"].made().config).eval()


def seen_of(model):
    with torch.no_grad(), regard.watch(model) as seen:
        model(input_ids=IDS)
    return seen


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
def test_gradient_times_attention_is_that_of_eager_weights(name):
    model = made(name)
    found = seen_of(model).gradients(of=5, against=9, position=4, steps=1)
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        output = model(input_ids=IDS, output_attentions=True)
        difference = output.logits[0, 4, 5] - output.logits[0, 4, 9]
        slopes = torch.autograd.grad(difference, output.attentions)
    finally:
        model.set_attn_implementation(before)
    assert found.difference == pytest.approx(difference.item(), abs=ROUNDING)
    assert len(found.attention) == len(slopes)
    for (key, x_hqk), weights, slope in zip(
        found.attention.items(), output.attentions, slopes, strict=True
    ):
        expected = (weights * slope)[0].detach().double().numpy()
        size = np.abs(expected).max()
        assert size > 1e-6
        np.testing.assert_allclose(x_hqk, expected, atol=ROUNDING * size, rtol=1e-3)
        np.testing.assert_allclose(found.heads[key], x_hqk.sum((1, 2)))
    assert all(x.grad is None for x in model.parameters())


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_integrated_gradients_are_the_mean_slope_on_the_way_from_the_mean_embedding(name):
    model, seen = made(name), seen_of(made(name))
    few, many = (seen.gradients(of=5, against=9, steps=x) for x in (2, 24))
    table = model.get_input_embeddings()
    embedded, mean_e = table(IDS).detach(), table.weight.detach().mean(0)
    expected_t = torch.zeros(IDS.shape[1])
    for step in range(2):
        at = (mean_e + (embedded - mean_e) * ((step + 0.5) / 2)).requires_grad_()
        logits = model(inputs_embeds=at).logits[0, -1]
        (slope,) = torch.autograd.grad(logits[5] - logits[9], at)
        expected_t += (slope * (embedded - mean_e)).sum(-1)[0] / 2
    np.testing.assert_allclose(few.integrated_t, expected_t.numpy(), rtol=1e-3, atol=1e-5)
    # Completeness: the sum is what the text has beyond the mean embedding, but for the steps.
    logits = model(inputs_embeds=mean_e.expand_as(embedded)).logits[0, -1]
    assert many.baseline == pytest.approx((logits[5] - logits[9]).item(), abs=ROUNDING)
    assert abs(many.gap) < min(abs(few.gap), 0.05 * abs(many.integrated_t).sum())
    assert "right for small changes alone" in str(many)


def test_tokens_that_do_not_add_up_are_not_shown_and_more_steps_are_taken():
    seen = seen_of(made("llama"))
    few = seen.gradients(of=5, against=9, steps=1)
    assert abs(few.gap) > 0.05 * np.abs(few.integrated_t).sum()
    assert "integrated gradients: not shown. 1 steps leave" in str(few)
    assert "give more, as in steps=4" in str(few)
    asked = []
    found = seen.gradients(of=5, against=9, progress=lambda *step: asked.append(step))
    assert found.complete
    assert asked[:4] == [(8, 32), (16, 32), (24, 32), (32, 32)]
    assert f"({found.steps} steps, {found.gap:+.4f} left)" in str(found)


class Packed(torch.nn.Module):
    """A linear layer whose kernel has no gradients, as those for packed weights."""

    def __init__(self, base):
        super().__init__()
        self.base = base

    def forward(self, x):
        with torch.no_grad():
            return self.base(x)


def test_kernels_without_gradients_are_named_in_one_sentence():
    family = FAMILY["llama"]
    model = family.model(family.config(**family.sizes)).eval()
    model.lm_head = Packed(model.lm_head)
    with pytest.raises(BackendError) as error:
        seen_of(model).gradients(of=5, against=9)
    assert str(error.value).startswith("LlamaForCausalLM has no gradients: ")
    assert "load the model in bfloat16 or float32, or ask effects" in str(error.value)


def test_what_cannot_be_asked_is_said():
    with pytest.raises(ArgumentError, match="steps must be a number from 1 up, got 0"):
        seen_of(made("gpt2")).gradients(steps=0)
