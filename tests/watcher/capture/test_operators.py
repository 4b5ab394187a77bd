"""Any program under watch: its output to the bit, and every fact against weights made by hand."""

import copy
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import VOCABULARY, batch, check_facts, eager
from torch import nn
from torch.nn import functional as F

import regard
from regard.errors import ArgumentError, BackendError
from regard.watcher.seam.source import without_fast_path

WIDTH, HEADS, LAYERS, TOKENS = 16, 4, 3, 9


class Attention(torch.nn.Module):
    """Causal self-attention as small language models write it, fused or by hand."""

    def __init__(self, written: str):
        super().__init__()
        self.qkv, self.written = torch.nn.Linear(WIDTH, 3 * WIDTH), written
        self.register_buffer("mask", torch.ones(64, 64).tril().bool())

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.qkv(x).split(WIDTH, -1))
        if cache is not None:
            k, v = (torch.cat([*cache[i : i + 1], y], 2) for i, y in enumerate((k, v)))
            cache[:] = [k, v]
        return x + self.mixed(q, k, v).transpose(1, 2).reshape(b, t, WIDTH)

    def mixed(self, q, k, v):
        visible = self.mask[: q.shape[2], : k.shape[2]] if q.shape[2] > 1 else None
        if self.written == "fused":
            return F.scaled_dot_product_attention(q, k, v, is_causal=visible is not None)
        if self.written == "mask":
            return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores if visible is None else scores.masked_fill(~visible, -torch.inf)
        self.weights = scores.softmax(-1)
        if self.written == "einsum":
            return torch.einsum("bhqk,bhkd->bhqd", self.weights, v)
        if self.written == "transposed":
            return (v.transpose(-2, -1) @ self.weights.transpose(-2, -1)).transpose(-2, -1)
        if self.written == "dropout":
            return F.dropout(self.weights, 0.5) @ v
        return self.weights.to(torch.float64).to(v.dtype) @ v


class LanguageModel(torch.nn.Module):
    def __init__(self, written):
        super().__init__()
        torch.manual_seed(0)
        self.tokens, self.positions = torch.nn.Embedding(40, WIDTH), torch.nn.Embedding(64, WIDTH)
        self.blocks = torch.nn.ModuleList(
            torch.nn.ModuleDict({"attn": Attention(written)}) for _ in range(LAYERS)
        )
        for block in self.blocks:
            torch.nn.init.normal_(block["attn"].qkv.weight, std=0.25)

    def forward(self, ids, caches=None):
        start = ids.shape[1] if caches is None or not caches[0] else caches[0][0].shape[2] + 1
        x = self.tokens(ids) + self.positions(torch.arange(start - ids.shape[1], start))
        for i, block in enumerate(self.blocks):
            x = block["attn"](x, None if caches is None else caches[i])
        return x


WRITTEN = ("fused", "mask", "matmul", "einsum", "transposed", "dropout")


def ids(sentences=2, tokens=TOKENS):
    return torch.randint(0, 40, (sentences, tokens), generator=torch.Generator().manual_seed(1))


def weights_by_hand(ids_bt):
    """The weights of each layer, by the model that writes them out."""
    model = LanguageModel("matmul")
    with torch.no_grad():
        model(ids_bt)
    return [block["attn"].weights.double().numpy() for block in model.blocks]


@pytest.mark.parametrize("gradients", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("written", WRITTEN)
def test_a_small_language_model(written, gradients):
    model, ids_bt = LanguageModel(written), ids()
    with gradients():
        torch.manual_seed(2)
        expected = model(ids_bt)
        torch.manual_seed(2)
        with regard.watch(model, keep="all") as seen:
            output = model(ids_bt)
    torch.testing.assert_close(output, expected, rtol=0, atol=0)
    assert list(seen.paths) == [f"blocks.{layer}.attn" for layer in range(LAYERS)]
    assert seen.parts == ("decoder",)
    if written == "dropout":  # later layers get another input than without it
        check_facts(seen.sentence(1)[0], weights_by_hand(ids_bt)[0][1])
        return
    for layer, weights_bhqk in enumerate(weights_by_hand(ids_bt)):
        for sentence in range(2):
            one = seen.sentence(sentence)
            check_facts(one[layer], weights_bhqk[sentence])
            check_facts(one[f"blocks.{layer}.attn"], weights_bhqk[sentence])


def test_whatever_runs_in_the_block():
    query = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))
    weights = (query @ query.mT / 8**0.5).softmax(-1).double().numpy()[0]
    model = LanguageModel("fused")
    with regard.watch() as seen, torch.no_grad():
        F.scaled_dot_product_attention(query, query, query)
        model(ids(1))
        torch.softmax(query[0, 1] @ query[0, 1].T / 8**0.5, -1) @ query[0, 1]
    assert list(seen.paths) == [
        "program", "blocks.0.attn", "blocks.1.attn", "blocks.2.attn", "program#2"
    ]  # fmt: skip
    check_facts(seen["program"], weights)
    check_facts(seen["program#2"], weights[1:])
    check_facts(seen["decoder", 2], weights_by_hand(ids(1))[2][0])


@pytest.mark.parametrize("written", ["fused", "matmul"])
def test_a_cache_that_grows_is_one_text(written):
    model, ids_bt = LanguageModel(written), ids()
    caches = [[] for _ in range(LAYERS)]
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids_bt[:, :6], caches)
        for step in range(6, TOKENS):
            model(ids_bt[:, step : step + 1], caches)
    assert seen.runs == 1
    for layer, weights_bhqk in enumerate(weights_by_hand(ids_bt)):
        check_facts(seen.sentence(1)[layer], weights_bhqk[1])


class OverDepth(Attention):
    """Each token also looks at what it was before: heads that are its tokens, as in Inkling 2."""

    def forward(self, x, cache=None):
        mixed = super().forward(x, cache)
        both = torch.stack([x, mixed], dim=2)
        return F.scaled_dot_product_attention(mixed[:, :, None], both, both)[:, :, 0]


def test_heads_that_are_tokens_are_left_out_and_named():
    model, ids_bt = LanguageModel("fused"), ids(1)
    model.blocks[1]["attn"] = OverDepth("fused")
    caches = [[] for _ in range(LAYERS)]
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids_bt[:, :6], caches)
        for step in range(6, TOKENS):
            model(ids_bt[:, step : step + 1], caches)
    assert list(seen.paths) == ["blocks.0.attn", "blocks.1.attn", "blocks.2.attn"]
    assert [seen[path].queries for path in seen.paths] == [TOKENS] * LAYERS
    assert seen.unrecorded == ("blocks.1.attn#2",)
    assert "blocks.*.attn#*" in " ".join(str(seen).split())


@pytest.mark.parametrize("written", ["fused", "matmul"])
def test_a_cache_filled_before_the_block(written):
    model, ids_bt = LanguageModel(written), ids(1)
    caches = [[] for _ in range(LAYERS)]
    with torch.no_grad():
        model(ids_bt[:, :-1], caches)
        with regard.watch(model) as seen:
            model(ids_bt[:, -1:], caches)
    assert seen.parts == ("decoder",)
    for layer, (weights_hqk,) in enumerate(weights_by_hand(ids_bt)):
        last_hk = weights_hqk[:, -1]
        np.testing.assert_allclose(seen[layer].row(0), last_hk, rtol=0, atol=1e-6)
        # Distance 0 is the token itself, the last key, and not the first one.
        np.testing.assert_allclose(seen[layer].profile.itself, last_hk[:, -1], rtol=0, atol=1e-6)


class StaticCache(Attention):
    """Keys in a buffer of fixed length, of which a mask hides what is not filled yet."""

    def __init__(self, length=20):
        super().__init__("mask")
        self.length, self.used = length, 0

    def mixed(self, q, k, v):
        if not self.used:
            self.keys, self.values = (x.new_zeros(*x.shape[:2], self.length, 4) for x in (k, v))
        rows = slice(self.used, self.used + q.shape[2])
        self.keys[:, :, rows], self.values[:, :, rows] = k, v
        self.used = rows.stop
        visible = self.mask[rows, : self.length]
        return F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=visible)


def test_a_static_cache_is_one_text_without_what_is_not_filled():
    model, ids_bt = LanguageModel("mask"), ids()
    for block in model.blocks:
        static = StaticCache()
        static.load_state_dict(block["attn"].state_dict())
        block["attn"] = static
    x_bte = model.tokens(ids_bt) + model.positions(torch.arange(TOKENS))
    layers = torch.nn.Sequential(*(block["attn"] for block in model.blocks))
    with torch.no_grad(), regard.watch(layers) as seen:
        for start, stop in ((0, 5), (5, 6), (6, TOKENS)):
            layers(x_bte[:, start:stop])
    assert seen.runs == 1
    for layer, weights_bhqk in enumerate(weights_by_hand(ids_bt)):
        check_facts(seen.sentence(1)[layer], weights_bhqk[1])


def test_every_forward_is_a_text():
    model = LanguageModel("fused")
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids(1))
        model(ids(1).flip(1))
    check_facts(seen.run(0)[1], weights_by_hand(ids(1))[1][0])
    check_facts(seen[1], weights_by_hand(ids(1).flip(1))[1][0])


def test_tokens_come_from_the_embedding():
    repeated = torch.tensor([[5, 6, 7, 5, 6, 7, 5, 6]])
    with torch.no_grad(), regard.watch(LanguageModel("fused")) as seen:
        with pytest.raises(regard.errors.NotAskedError):
            seen.tokens  # noqa: B018
        LanguageModel("fused")(repeated)  # another model is not recorded
        assert seen.names == ()
    model = LanguageModel("fused")
    with torch.no_grad(), regard.watch(model) as seen:
        model.forward(repeated)  # without hooks of its own
    assert seen._recorder.runs[0].tokens["decoder"][0].tolist() == repeated[0].tolist()
    with torch.no_grad(), regard.watch(model) as seen:
        chances = torch.randn(1, 2, 40).softmax(-1)  # as of a draft, and still held
        model(repeated)
    assert seen._recorder.runs[0].tokens["decoder"][0].tolist() == repeated[0].tolist()
    assert chances.shape == (1, 2, 40)
    measures = seen[0].measures
    assert (measures.induction.queries_h == 5).all()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention(batch_first, need_weights):
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first)
    x = torch.randn(2, 7, WIDTH)
    x = x if batch_first else x.transpose(0, 1)
    _, weights = module(x, x, x, average_attn_weights=False)
    expected, _ = module(x, x, x, need_weights=need_weights)
    with regard.watch(module) as seen:
        output, _ = module(x, x, x, need_weights=need_weights)
    torch.testing.assert_close(output, expected, rtol=0, atol=0)
    for sentence in range(2):
        layer = seen.sentence(sentence)["MultiheadAttention"]
        check_facts(layer, weights[sentence].detach().double().numpy())


def test_transformer_with_its_fast_path():
    torch.manual_seed(0)
    model = torch.nn.Transformer(WIDTH, HEADS, 2, 2, 24, batch_first=True).eval()
    source, target = torch.randn(1, 7, WIDTH), torch.randn(1, 5, WIDTH)
    with torch.no_grad():
        expected = model(source, target)
        with regard.watch(model) as seen:
            output = model(source, target)
    assert torch.equal(output, expected)
    assert seen.parts == ("encoder", "decoder", "cross")
    assert [str(key) for key in seen.names] == [
        f"{part} layer {layer}" for part in seen.parts for layer in range(2)
    ]
    assert next(iter(seen.paths)) == "encoder.layers.0.self_attn"
    assert seen["cross", 1].map.shape == (HEADS, 5, 7)
    np.testing.assert_allclose(seen["cross", 1].map.sum(-1), 1, atol=1e-6)


def shown_by_the_slow_path(model, *arguments, **keywords):
    """Every weight (b, h, q, k) of a module, layer by layer, as its softmax makes them."""
    made, mha = [], torch.nn.MultiheadAttention.forward

    def with_weights(self, *a, **k):
        output, weights = mha(
            self, *a, **{**k, "need_weights": True, "average_attn_weights": False}
        )
        made.append(weights)
        return output, weights

    torch.backends.mha.set_fastpath_enabled(False)
    torch.nn.MultiheadAttention.forward = with_weights
    try:
        model(*arguments, **keywords)
    finally:
        torch.nn.MultiheadAttention.forward = mha
        torch.backends.mha.set_fastpath_enabled(True)
    return [weights.double().numpy() for weights in made]


PADDED = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
LATER = torch.ones(7, 7, dtype=torch.bool).triu(1)
FAST = {
    "plain": {},
    "padded": {"src_key_padding_mask": PADDED},
    "causal": {"mask": LATER},
    "both": {"mask": LATER, "src_key_padding_mask": PADDED},
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("masks", FAST)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:The PyTorch API of nested")
def test_the_fast_path_of_an_encoder_keeps_every_bit(masks, norm_first, nested):
    """Its one operator returns no weights: they follow from its input and its parameters."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, 24, batch_first=True, norm_first=norm_first
    )
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested).eval()
    for parameter in model.parameters():
        parameter.data *= 3  # sharper than at the start
    x_bte, options = torch.randn(2, 7, WIDTH), FAST[masks]
    with torch.no_grad():
        expected = model(x_bte, **options)
        with regard.watch(model) as seen:
            output = model(x_bte, **options)
        weights_lbhqk = shown_by_the_slow_path(model, x_bte, **options)
    assert torch.equal(output, expected)
    assert list(seen.paths) == [f"layers.{layer}.self_attn" for layer in range(2)]
    for sentence in range(2):
        real = slice(0, 4) if "padd" in masks or masks == "both" else slice(0, 7)
        real = real if sentence else slice(0, 7)
        for layer, weights_bhqk in enumerate(weights_lbhqk):
            shown = seen.sentence(sentence)[layer].weights[:, real]
            np.testing.assert_allclose(shown, weights_bhqk[sentence][:, real], atol=2e-5)


def test_a_changed_head_is_changed_in_the_fast_path_too():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 24, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    x_bte = torch.randn(1, 7, WIDTH)
    with torch.no_grad(), regard.watch(model).ablate(0, 1):
        changed = model(x_bte)
    assert torch.backends.mha.get_fastpath_enabled()
    columns = slice(WIDTH // HEADS, 2 * WIDTH // HEADS)
    model.layers[0].self_attn.out_proj.weight.data[:, columns] = 0
    with torch.no_grad():
        torch.testing.assert_close(changed, model(x_bte), rtol=0, atol=1e-5)


def test_a_module_that_runs_twice_is_two_layers():
    model = LanguageModel("fused")
    model.blocks[2] = model.blocks[0]
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids(1))
    assert list(seen.paths) == ["blocks.0.attn", "blocks.1.attn", "blocks.0.attn#2"]
    assert seen["blocks.0.attn#2"].name == "decoder layer 2"
    assert np.abs(seen[2].map - seen[0].map).max() > 0.01


def test_gradients_and_checkpointing_are_untouched():
    from torch.utils.checkpoint import checkpoint

    for written in ("fused", "matmul"):
        model, ids_bt = LanguageModel(written), ids()
        model(ids_bt).square().sum().backward()
        expected = {name: x.grad.clone() for name, x in model.named_parameters()}
        model.zero_grad()
        with regard.watch(model) as seen:
            output = checkpoint(model, ids_bt, use_reentrant=False)
            output.square().sum().backward()
        assert seen.runs == 1
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(parameter.grad, expected[name], rtol=0, atol=0)


def test_a_copy_inside_the_block():
    model = LanguageModel("fused")
    with torch.no_grad(), regard.watch(model) as seen:
        again = copy.deepcopy(model)
        model(ids(1))
        again(ids(1))
    assert seen.runs == 1
    again(ids(1))


def test_nothing_is_left_behind_after_an_error():
    from torch.nn.modules import module as hooks
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    before = [dict(hooks._global_forward_pre_hooks), dict(hooks._global_forward_hooks)]
    with pytest.raises(ZeroDivisionError), regard.watch(LanguageModel("fused")):
        raise ZeroDivisionError
    assert [dict(hooks._global_forward_pre_hooks), dict(hooks._global_forward_hooks)] == before
    assert _get_current_dispatch_mode_stack() == []


def test_a_file_has_the_paths_and_the_notes(tmp_path):
    with torch.no_grad(), regard.watch(LanguageModel("matmul")) as seen:
        seen._recorder.source.modules.root(ids(1))
    seen.save(tmp_path / "x.regard")
    again = regard.load(tmp_path / "x.regard")
    assert again.paths == seen.paths
    np.testing.assert_array_equal(again["blocks.1.attn"].map, seen["blocks.1.attn"].map)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_scripted_module_is_refused():
    scripted = torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2))
    with pytest.raises(BackendError) as error, regard.watch(scripted):
        pass
    assert str(error.value) == (
        "the forward of a watched module must be Python, got a ScriptModule: watch the module that "
        "it was scripted or traced from."
    )


def test_what_cannot_be_seen_says_what_to_do():
    linear = torch.nn.Linear(4, 4)
    with pytest.raises(BackendError) as error, regard.watch(linear):
        linear(torch.zeros(1, 4))
    assert str(error.value) == (
        "Linear ran, but no attention was seen: no fused kernel of torch, and no softmax over the "
        "keys (b, q, k) of some queries that a matrix product takes; linear attention has keys "
        "that are features. A compiled model hides it: run it inside `with "
        "torch.compiler.set_stance('force_eager')`. For attention of another kind pass its query, "
        "key and value to regard.observe."
    )
    model = LanguageModel("fused")
    with pytest.raises(ArgumentError) as error, regard.watch(model, layers=7):
        model(ids(1))
    assert str(error.value) == ("layers must be layers of LanguageModel, which are 0, 1, 2, got 7.")


_SMALL = {"vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
HANDWRITTEN = {
    "gpt-j": lambda: hf.GPTJForCausalLM(hf.GPTJConfig(
        **_SMALL, n_embd=16, n_layer=2, n_head=4, rotary_dim=4, n_positions=64)),
    "gpt-neo": lambda: hf.GPTNeoForCausalLM(hf.GPTNeoConfig(
        **_SMALL, hidden_size=16, num_layers=2, num_heads=4, max_position_embeddings=64,
        attention_types=[[["global", "local"], 1]], window_size=4)),
    "bloom": lambda: hf.BloomForCausalLM(hf.BloomConfig(
        **_SMALL, hidden_size=16, n_layer=2, n_head=4)),
    "falcon": lambda: hf.FalconForCausalLM(hf.FalconConfig(
        **_SMALL, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        attn_implementation="eager")),
    "mpt": lambda: hf.MptForCausalLM(hf.MptConfig(
        **_SMALL, d_model=16, n_layers=2, n_heads=4)),
    "deberta-v2": lambda: hf.DebertaV2Model(hf.DebertaV2Config(
        **_SMALL, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=24, relative_attention=True, pos_att_type=["p2c", "c2p"])),
    "xlnet": lambda: hf.XLNetModel(hf.XLNetConfig(
        **_SMALL, d_model=16, n_layer=2, n_head=4, d_inner=24)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", HANDWRITTEN)
def test_models_with_attention_of_their_own(name):
    torch.manual_seed(0)
    model = HANDWRITTEN[name]().eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    inputs = batch("not")
    with torch.no_grad():
        expected = model(**inputs)[0]
        with regard.watch(model) as seen:
            output = model(**inputs)[0]
    torch.testing.assert_close(output, expected, rtol=0, atol=0)
    attentions = eager(model, lambda: model(**inputs, output_attentions=True)).attentions
    assert len(seen.names) == len(attentions) == 2
    for layer, weights_bhqk in enumerate(attentions):
        for sentence in range(3):
            weights_hqk = weights_bhqk[sentence].double().numpy()
            check_facts(seen.sentence(sentence)[layer], weights_hqk)


def test_generate_with_attention_written_by_hand():
    torch.manual_seed(0)
    model = HANDWRITTEN["gpt-j"]().eval()
    prompt = batch("not", sentences=1)
    with torch.no_grad():
        expected = model.generate(**prompt, max_new_tokens=5, do_sample=False)
        with regard.watch(model) as seen:
            text = model.generate(**prompt, max_new_tokens=5, do_sample=False)
    assert text.tolist() == expected.tolist()
    full = eager(model, lambda: model(text[:, :-1], output_attentions=True)).attentions
    for layer, weights_bhqk in enumerate(full):
        check_facts(seen[layer], weights_bhqk[0].double().numpy())


def test_sinks_in_the_softmax_are_said():
    torch.manual_seed(0)
    model = hf.GptOssForCausalLM(hf.GptOssConfig(
        **_SMALL, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, head_dim=4,
        num_key_value_heads=2, intermediate_size=16, num_local_experts=2, num_experts_per_tok=1,
        sliding_window=4,
    )).eval()  # fmt: skip
    inputs = batch("not", sentences=1)
    with torch.no_grad():
        expected = model(**inputs).logits
        with regard.watch(model) as seen:
            output = model(**inputs).logits
    torch.testing.assert_close(output, expected, rtol=0, atol=0)
    attentions = eager(model, lambda: model(**inputs, output_attentions=True)).attentions
    for layer, weights_bhqk in enumerate(attentions):
        check_facts(seen[layer], weights_bhqk[0].double().numpy())
        least = float(weights_bhqk.sum(-1).min())
        assert seen[layer].notes == (
            f"rows of weights sum to {least:.3f} or more: the rest goes to sinks of the softmax, "
            "or is masked after it.",
        )


@pytest.mark.parametrize("shape", [(5, 5), (1, 1, 5, 5), (1, 2, 5, 5)])
@pytest.mark.parametrize("lowest", [torch.finfo(torch.float32).min, -1e30])
def test_a_row_of_the_lowest_number_is_spread_evenly_as_the_kernel_does(shape, lowest):
    torch.manual_seed(0)
    q, mask = torch.randn(1, 2, 5, 8), torch.zeros(shape)
    mask[..., 2, :] = lowest
    mask[..., 3, 1:] = lowest  # a row that sees one key
    with regard.watch(top=5) as seen:
        output = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    torch.testing.assert_close(output[0, :, 2], q[0].mean(1), rtol=0, atol=1e-6)
    layer = seen[0]
    np.testing.assert_allclose(layer.row(2), 0.2, rtol=1e-6)
    np.testing.assert_allclose(layer.entropy[:, 2], np.log(5), rtol=1e-6)
    np.testing.assert_allclose(layer.facts["top_weights"][:, 2], 0.2, rtol=1e-6)
    np.testing.assert_array_equal(layer.row(3), [[1, 0, 0, 0, 0]] * 2)
    assert layer.received.sum() == pytest.approx(10)


@pytest.mark.parametrize("hidden", [torch.tensor(-torch.inf), torch.tensor(False)])
def test_a_row_that_a_mask_hides_sees_nothing(hidden):
    q = torch.randn(1, 2, 5, 8)
    mask = torch.zeros(5, 5) if hidden.dtype != torch.bool else torch.ones(5, 5, dtype=torch.bool)
    mask[2] = hidden
    with regard.watch() as seen:
        F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    np.testing.assert_array_equal(seen[0].row(2), 0)


def test_rows_of_nan_let_the_program_run_and_are_said():
    torch.manual_seed(0)
    q, mask = torch.randn(1, 2, 5, 8), torch.zeros(5, 5)
    mask[2] = -torch.inf
    with regard.watch() as seen:
        first = (q @ q.mT + mask).softmax(-1)
        (first @ q).sum()
    expected = first.nan_to_num(0)[0].numpy()
    np.testing.assert_allclose(seen[0].map, expected, atol=1e-6)
    assert seen[0].notes == (
        "nan in the program, shown as seeing nothing: 2 rows of weights over all heads.",
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("broken", [0, 1])
@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_a_kernel_that_was_given_nan_lets_the_program_run(broken, causal, number):
    torch.manual_seed(0)
    given = [torch.randn(1, 2, 5, 8) for _ in range(3)]
    given[broken][0, 1, 3, 0] = number
    with regard.watch() as seen:
        F.scaled_dot_product_attention(*given, is_causal=causal)
    scores = given[0] @ given[1].mT * 8**-0.5
    if causal:
        scores = scores.masked_fill(~torch.ones(5, 5).tril().bool(), -torch.inf)
    weights = scores.softmax(-1)
    expected = weights.masked_fill(weights.isnan().any(-1, keepdim=True), 0)
    np.testing.assert_allclose(seen[0].map, expected[0].numpy(), atol=1e-6)
    nan = int(weights.isnan().any(-1).sum())
    rows = "1 row" if nan == 1 else f"{nan} rows"
    note = f"nan in the program, shown as seeing nothing: {rows} of weights over all heads."
    assert seen[0].notes == ((note,) if nan else ())


def test_blocks_of_threads_that_overlap_leave_torchs_fast_path_as_it_was():
    begun, ended, mha = threading.Event(), threading.Event(), torch.backends.mha

    def outlive():
        with without_fast_path():
            begun.set()
            assert ended.wait(60)
            assert not mha.get_fastpath_enabled()

    other = threading.Thread(target=outlive)
    with without_fast_path():
        other.start()
        assert begun.wait(60)
    ended.set()
    other.join()
    assert mha.get_fastpath_enabled()


def test_an_export_inside_the_block_is_not_recorded():
    model, ids_bt = LanguageModel("fused"), ids(1)
    plain = torch.export.export(model, (ids_bt,))
    with torch.no_grad(), regard.watch(model) as seen:
        exported = torch.export.export(model, (ids_bt,))
        model(ids_bt)
    assert len(exported.graph.nodes) == len(plain.graph.nodes)
    assert len(seen.names) == LAYERS


def test_best_keys_that_do_not_fit_into_memory_are_refused():
    q = torch.randn(1, 2, 5, 8)
    outputs = [F.scaled_dot_product_attention(q, q, q)]

    def program():  # it runs to its end, whatever regard cannot show
        outputs.extend(F.scaled_dot_product_attention(q, q, q) for _ in range(2))

    with pytest.raises(ArgumentError) as error, regard.watch(top=10**12):
        program()
    assert all(torch.equal(output, outputs[0]) for output in outputs)
    assert len(outputs) == 3
    assert re.fullmatch(
        r"top must be at most [\d,]+ for the best keys of 5 queries and 2 heads to fit into "
        r"memory, got 1,000,000,000,000\.",
        str(error.value),
    )


class LectureHead(nn.Module):
    """One head of a lecture's GPT."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(16, 4, bias=False) for _ in range(3))

    def forward(self, x_bte):
        tokens = x_bte.shape[1]
        scores = self.query(x_bte) @ self.key(x_bte).mT / 2
        hidden = torch.ones(tokens, tokens).triu(1).bool()
        self.weights_bqk = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        return self.weights_bqk @ self.value(x_bte)


class LectureBlock(nn.Module):
    """Several heads of a lecture's GPT side by side."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(LectureHead() for _ in range(4))

    def forward(self, x_bte):
        return x_bte + torch.cat([head(x_bte) for head in self.heads], dim=-1)


@torch.no_grad()
def test_heads_that_are_modules_are_heads_of_one_layer():
    model = nn.Sequential(LectureBlock(), LectureBlock())
    with regard.watch(model) as seen:
        for tokens in (5, 7):
            model(torch.randn(2, tokens, 16))
    assert seen.paths == {"0.heads": ("decoder", 0), "1.heads": ("decoder", 1)}
    assert [seen.run(0).sentence(0)[0].queries, seen.sentence(0)[0].queries] == [5, 7]
    for layer, block in enumerate(model):
        for number, head in enumerate(block.heads):
            shown = seen.sentence(1)[layer, number].weights
            np.testing.assert_allclose(shown, head.weights_bqk[1].numpy(), atol=1e-7)


@torch.no_grad()
def test_single_heads_in_line_are_layers():
    model = nn.Sequential(*(LectureHead() for _ in range(3)))
    for head in model:
        head.value = nn.Linear(16, 16)
    with regard.watch(model) as seen:
        model(torch.randn(1, 5, 16))
    assert seen.names == (("decoder", 0), ("decoder", 1), ("decoder", 2))


class ContextAttention(nn.Module):
    """Attention whose keys come from a context where one is given."""

    def __init__(self):
        super().__init__()
        self.attend = nn.Identity()

    def forward(self, x_bte, context=None):
        key = x_bte if context is None else context
        query, key = (x.unflatten(-1, (2, 8)).transpose(1, 2) for x in (x_bte, key))
        return F.scaled_dot_product_attention(query, key, key).transpose(1, 2).flatten(2)


class ContextDecoder(nn.Module):
    """Layers that look at their own text and at a context in turns."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(ContextAttention() for _ in range(4))

    def forward(self, x_bte, context):
        for number, layer in enumerate(self.layers):
            x_bte = x_bte + (layer(x_bte, context=context) if number % 2 else layer(x_bte))
        return x_bte


@torch.no_grad()
@pytest.mark.parametrize("keys", [5, 7])
def test_layers_that_look_at_a_context_are_cross(keys):
    model = ContextDecoder()
    with regard.watch(model) as seen:
        model(torch.randn(1, 5, 16), torch.randn(1, keys, 16))
    crossed = {path for path, key in seen.paths.items() if key.part == "cross"}
    assert crossed == {"layers.1", "layers.3"}


@torch.no_grad()
def test_multihead_attention_of_two_texts_of_one_length_is_cross():
    model, one, other = nn.MultiheadAttention(16, 4, batch_first=True), *torch.randn(2, 1, 5, 16)
    for key, part in ((one, "encoder"), (other, "cross")):
        with regard.watch(model) as seen:
            model(one, key=key, value=key)
        assert seen.parts == (part,)


class Remembering(nn.Module):
    """A causal attention with keys of its own before those of the text."""

    def forward(self, x_bte):
        keys = torch.cat([torch.ones(len(x_bte), 3, x_bte.shape[-1]), x_bte], dim=1)
        mask = torch.ones(x_bte.shape[1], keys.shape[1]).tril(3).bool()
        return F.scaled_dot_product_attention(x_bte[:, None], keys[:, None], keys[:, None], mask)


class Columns(nn.Module):
    """Attention whose heads come first, over tokens that were averaged over rows."""

    num_heads = 2

    def forward(self, x_rcbe):
        x_rcbhd = x_rcbe.unflatten(-1, (2, -1))
        scores_hbqk = torch.einsum("rqbhd,rkbhd->hbqk", x_rcbhd, x_rcbhd)
        self.weights_hbqk = scores_hbqk.softmax(-1)
        return torch.einsum("hbqk,rkbhd->rqbhd", self.weights_hbqk, x_rcbhd)


def test_keys_before_those_of_the_text_make_no_encoder():
    model = Remembering()
    with torch.no_grad(), regard.watch(model) as seen:
        model(torch.randn(1, 5, 8))
    assert seen.parts == ("decoder",)


def test_heads_that_come_before_the_sentences():
    model = Columns()
    with torch.no_grad(), regard.watch(model) as seen:
        model(torch.randn(4, 7, 3, 8))
    assert seen.sentences == 3
    for sentence in range(3):
        shown = seen.sentence(sentence)[0].weights
        np.testing.assert_allclose(shown, model.weights_hbqk[:, sentence].numpy(), atol=1e-6)


def test_the_first_watch_of_a_module_does_not_import_the_compiler():
    """torch._dynamo takes longer to import than torch itself."""
    code = (
        "import sys, torch, regard\n"
        "module = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()\n"
        "x = torch.randn(1, 5, 8)\n"
        "with torch.no_grad(), regard.watch(module) as seen: module(x, x, x)\n"
        "print(seen[0].map.shape, 'torch._dynamo' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "(2, 5, 5) False"
