"""Norm-weighted attention of output projections that are more than a weight, against by hand."""

import math

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES, HEADS, STEPS, VOCABULARY, batch, eager

import regard
from regard.errors import BackendError

LLAMA = next(family for family in FAMILIES if family.name == "llama")
IDS = batch("not", 1)["input_ids"]
SPANS, SENTENCES = {"system": (0, 3), "document": (3, 7)}, [(7, 9), (9, 11)]


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


class Adapted(torch.nn.Module):
    """A linear layer and two small matrices beside it; ``weight`` is that of the linear layer."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.down = torch.nn.Linear(base.in_features, 3, bias=False)
        self.up = torch.nn.Linear(3, base.out_features, bias=False)
        for layer in (self.down, self.up):
            torch.nn.init.normal_(layer.weight, std=0.6)

    @property
    def weight(self):
        return self.base.weight

    def forward(self, x):
        return self.base(x) + 4 * self.up(self.down(x))


class EightBit(torch.nn.Module):
    """Weights are codes of 8 bits with one scale a row, and each input is rounded to 8 bits."""

    def __init__(self, base):
        super().__init__()
        scale = base.weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("weight", (base.weight / scale).round().to(torch.int8))
        self.register_buffer("scale", scale[:, 0])

    def forward(self, x):
        step = x.abs().amax(-1, keepdim=True).clamp_min(1e-9) / 127
        return ((x / step).round() @ self.weight.float().T) * self.scale * step


class Offloaded(torch.nn.Module):
    """The weight is on the device 'meta' between calls, as an offloading library leaves it."""

    def __init__(self, base):
        super().__init__()
        self.kept = [base.weight.detach().clone()]
        self.weight = torch.nn.Parameter(base.weight.to("meta"), requires_grad=False)

    def forward(self, x):
        return x @ self.kept[0].T


class Elsewhere(Offloaded):
    """Embeddings that are on 'meta' between calls."""

    def forward(self, ids):
        return torch.nn.functional.embedding(ids, self.kept[0])


class Squashed(torch.nn.Module):
    """No linear layer."""

    def __init__(self, base):
        super().__init__()
        self.base = base

    def forward(self, x):
        return self.base(x).tanh()


def llama(wrapper):
    """A small Llama of its own, all of whose output projections are wrapped."""
    torch.manual_seed(3)
    model = LLAMA.model(LLAMA.config(**LLAMA.sizes)).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    for layer in model.model.layers:
        layer.self_attn.o_proj = wrapper(layer.self_attn.o_proj)
    return model


def seen_of(model):
    with regard.watch(model) as seen:
        model(input_ids=IDS)
    return seen


def carried(model, matrix, gate=None, layer=1):
    """p_ij |g_i v_j W_O| as a share of its row, (h, q, k), from eager weights and hooks."""
    attention = model.model.layers[layer].self_attn
    values = []
    hook = attention.v_proj.register_forward_hook(lambda *given: values.append(given[2]))
    weights = eager(model, lambda: model(input_ids=IDS, output_attentions=True).attentions)
    hook.remove()
    tokens, width = IDS.shape[1], attention.head_dim
    value_hkd = values[0][0].reshape(tokens, -1, width).transpose(0, 1)
    value_hkd = value_hkd.repeat_interleave(HEADS // len(value_hkd), dim=0)
    matrix_hde = matrix.reshape(HEADS, width, -1)
    if gate is None:
        gate = torch.ones(tokens, HEADS, width)
    gated_hqkd = gate.transpose(0, 1)[:, :, None] * value_hkd[:, None]
    norms_hqk = (gated_hqkd @ matrix_hde[:, None]).norm(dim=-1)
    shares = weights[-1][0] * norms_hqk
    return (shares / shares.sum(-1, keepdim=True)).numpy()


def check(model, expected, allowed=10 * STEPS):
    seen = seen_of(model)
    np.testing.assert_allclose(seen.norm_weighted(1).map, expected, rtol=0, atol=allowed)
    rows = [row for row in seen.report(weighted="norm").rows if row.layer == 1]
    first = expected[:, :, 0].mean(axis=1)
    np.testing.assert_allclose([x.measured["first"] for x in rows], first, rtol=0, atol=allowed)
    looked = seen.looks_at(9, weighted="norm")
    np.testing.assert_allclose(looked.weights_lhk[1], expected[:, 9], rtol=0, atol=allowed)


@pytest.mark.parametrize("wrapper", [Adapted, EightBit, Offloaded])
def test_what_the_projection_does_counts_not_its_weight(wrapper):
    model = llama(wrapper)
    own = model.model.layers[1].self_attn.o_proj
    if wrapper is Adapted:
        matrix = (own.base.weight + 4 * own.up.weight @ own.down.weight).T
        read = carried(model, own.weight.T)
        assert np.abs(read - carried(model, matrix)).max() > 0.05  # the weight alone is wrong
    elif wrapper is EightBit:
        matrix = (own.weight.float() * own.scale[:, None]).T
    else:
        matrix = own.kept[0].T
    check(model, carried(model, matrix))


def test_because_adds_up_through_adapters_on_every_projection():
    model = llama(Adapted)
    for layer in model.model.layers:
        layer.self_attn.q_proj = Adapted(layer.self_attn.q_proj)
        layer.self_attn.k_proj = Adapted(layer.self_attn.k_proj)
    found = seen_of(model).because(9, 3, layer=1, head=2)
    assert found.total == pytest.approx(found.score, abs=1e-3 * max(1, abs(found.score)))


def test_every_second_run_of_offloaded_weights():
    model, plain = llama(Offloaded), llama(lambda base: base)
    model.model.embed_tokens = Elsewhere(model.model.embed_tokens)
    seen, kept = seen_of(model), seen_of(plain)
    assert next(model.parameters()).device.type == "meta"
    for one, other in zip(seen.effects(7, 9).heads, kept.effects(7, 9).heads, strict=True):
        assert one.effect == pytest.approx(other.effect, abs=1e-6)
    assert str(seen.ablate(1, 2)) == str(kept.ablate(1, 2))


def qwen3_next():
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2,
             "num_attention_heads": HEADS, "num_key_value_heads": 2, "intermediate_size": 24,
             "head_dim": 8, "num_experts": 2, "num_experts_per_tok": 1, "pad_token_id": 0,
             "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8,
             "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 4,
             "linear_value_head_dim": 4, "max_position_embeddings": 64,
             "layer_types": ["linear_attention", "full_attention"]}  # fmt: skip
    model = hf.Qwen3NextForCausalLM(hf.Qwen3NextConfig(**sizes)).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return model


def test_a_gate_of_each_query_is_part_of_the_way():
    model = qwen3_next()
    attention = model.model.layers[1].self_attn
    projected = []
    hook = attention.q_proj.register_forward_hook(lambda *given: projected.append(given[2]))
    model(input_ids=IDS)
    hook.remove()
    gate = projected[0][0].reshape(IDS.shape[1], HEADS, 2, 8)[:, :, 1].sigmoid()
    expected = carried(model, attention.o_proj.weight.T, gate)
    ungated = carried(model, attention.o_proj.weight.T)
    assert np.abs(expected - ungated).max() > 0.01
    seen = seen_of(model)
    np.testing.assert_allclose(seen.norm_weighted(1).map, expected, rtol=0, atol=10 * STEPS)
    looked = seen.looks_at(9, weighted="norm")
    np.testing.assert_allclose(looked.weights_lhk[0], expected[:, 9], rtol=0, atol=10 * STEPS)
    sources = seen.sources(SPANS, SENTENCES)
    shares = expected[:, 8:10].mean((0, 1))
    np.testing.assert_allclose(sources.attention_sn[1, 0], shares[:3].sum(), rtol=0, atol=1e-4)
    np.testing.assert_allclose(sources.attention_sn[1, 3], shares[9:11].sum(), rtol=0, atol=1e-4)


def test_a_norm_before_the_projection_is_refused_and_effects_are_still_shown():
    model = hf.BitNetForCausalLM(hf.BitNetConfig(**LLAMA.sizes)).eval()
    seen = seen_of(model)
    with pytest.raises(BackendError) as error:
        seen.norm_weighted(1)
    assert "a value has no length of its own there" in str(error.value)
    assert not torch.is_grad_enabled()
    sources = seen.sources(SPANS, SENTENCES)
    assert np.isnan(sources.attention_sn).all()
    assert not np.isnan(sources.effect_sn[:, :2]).any()
    assert "No attention is shown." in str(sources)
    assert math.isnan(sources.correlation)
    assert "it needs 3 pairs of attention and effect, and there are 0" in sources.no_correlation


def test_a_projection_that_is_not_linear_is_refused():
    with pytest.raises(BackendError, match="is not the sum of what it returns for each head"):
        seen_of(llama(Squashed)).norm_weighted(1)


def test_gradients_are_as_they_were_after_a_run():
    model = llama(Adapted)
    seen = seen_of(model)
    before = model(input_ids=IDS).logits
    seen.norm_weighted(0)
    assert not torch.is_grad_enabled()
    after = model(input_ids=IDS).logits
    assert torch.equal(before, after)
    assert not after.requires_grad
    assert not any(module._forward_hooks for module in model.modules())
