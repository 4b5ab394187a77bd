"""The model's own kernels compute its output under watch: the same to the bit, whatever it does."""

import copy

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import (
    FAMILIES,
    VOCABULARY,
    batch,
    check_facts,
    eager,
    recompute_layers,
)

import regard
from regard.errors import BackendError

FAMILY = {family.name: family for family in FAMILIES}
_SMALL = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def inputs_of(family, padded):
    inputs = batch(padded)
    if family.kind == "both":
        inputs["decoder_input_ids"] = inputs["input_ids"][:, :5]
    return inputs


def same(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("padded", ["not", "left", "right"])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_every_bit_of_a_forward(family, padded, dtype):
    model, inputs = family.made(dtype), inputs_of(family, padded)
    with torch.no_grad():
        expected = model(**inputs)[0]
        with regard.watch(model):
            output = model(**inputs)[0]
    same(output, expected)


@pytest.mark.parametrize("family", [x for x in FAMILIES if x.kind != "encoder"], ids=str)
def test_every_bit_of_a_generation(family):
    model = family.made()
    options = {"max_new_tokens": 6, "do_sample": False, "output_logits": True,
               "return_dict_in_generate": True}  # fmt: skip
    expected = model.generate(**batch("left"), **options)
    with regard.watch(model):
        output = model.generate(**batch("left"), **options)
    for logits, own in zip(output.logits, expected.logits, strict=True):
        same(logits, own)


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("broken", ["q_proj", "k_proj"])
def test_nan_of_a_model_lets_it_run_and_is_said(broken, implementation):
    model = copy.deepcopy(FAMILY["llama"].made())
    model.set_attn_implementation(implementation)
    getattr(model.model.layers[1].self_attn, broken).weight.data[3] = torch.nan
    options = {"max_new_tokens": 40, "min_new_tokens": 40, "do_sample": False}
    options |= {"return_dict_in_generate": True, "output_logits": True}
    inputs = batch("left")
    expected = model(**inputs).logits
    written = model.generate(**inputs, **options)
    with regard.watch(model) as seen:
        same(model(**inputs).logits, expected)
        again = model.generate(**inputs, **options)
    for logits, own in zip(again.logits, written.logits, strict=True):
        same(logits, own)
    # Head 0, or both heads that share key 0, of 11 tokens, of which 40 - 1 are generated and read.
    heads = 1 if broken == "q_proj" else 2
    for run, rows in ((seen.run(0), 11), (seen.run(1), 11 + 39)):
        first = run.sentence(0)
        assert first[0].notes == ()
        note = f"nan in the program, shown as seeing nothing: {heads * rows} rows of weights"
        assert first[1].notes[0].startswith(note)
        assert not first[1].map[:heads].any()
        np.testing.assert_allclose(first[1].map[heads:].sum(-1), 1, rtol=1e-5)


def test_every_later_call_is_compared_by_its_logsumexp(monkeypatch):
    """The first call of a layer proves nothing of the second."""
    model = FAMILY["llama"].made()
    with (  # noqa: PT012
        torch.no_grad(),
        pytest.raises(BackendError) as error,
        regard.watch(model) as seen,
    ):
        model(**batch("not"))
        source = seen._recorder.source
        original = source._record

        def wrong(run, layer_key, call, segment, output):
            call.options["scaling"] *= 2
            original(run, layer_key, call, segment, output)

        monkeypatch.setattr(source, "_record", wrong)
        model(**batch("not"))
    text = str(error.value)
    assert text.startswith("LlamaAttention: the log-sum-exp of the model's own attention is ")
    assert text.endswith("leave this layer out with layers=...")


def test_weights_that_were_asked_for_are_given_out():
    model = copy.deepcopy(FAMILY["llama"].made())
    model.set_attn_implementation("eager")
    with torch.no_grad(), regard.watch(model) as seen:
        output = model(**batch("not"), output_attentions=True)
    assert len(output.attentions) == 2
    for layer, weights in enumerate(output.attentions):
        check_facts(seen.sentence(1)[layer], weights[1].double().numpy())


def test_weights_that_a_model_does_not_give_out_are_said():
    model = FAMILY["llama"].made()
    with torch.no_grad():
        expected = model(**batch("not"), output_attentions=True).attentions
        with pytest.warns(UserWarning, match="gives out no weights") as warned, regard.watch(model):
            assert model(**batch("not"), output_attentions=True).attentions == expected
    assert str(warned[0].message) == (
        "output_attentions=True gives out no weights with 'sdpa', inside watch as outside: read "
        "them from watch, as in seen[0].map, or load the model with attn_implementation='eager'."
    )


def moonshine():
    """It asks whether its mask is None, and passes on whether it is causal by the answer."""
    return hf.MoonshineModel(hf.MoonshineConfig(
        **_SMALL, hidden_size=16, intermediate_size=24, encoder_num_hidden_layers=1,
        decoder_num_hidden_layers=2, encoder_num_attention_heads=4, decoder_num_attention_heads=4,
        decoder_start_token_id=1))  # fmt: skip


def test_a_model_that_asks_whether_its_mask_is_none():
    torch.manual_seed(0)
    model = moonshine().eval()
    inputs = {"input_values": torch.randn(2, 2000), "decoder_input_ids": batch("not")["input_ids"]}
    inputs["decoder_input_ids"] = inputs["decoder_input_ids"][:2, :5]
    with torch.no_grad():
        expected = model(**inputs)[0]
        with regard.watch(model) as seen:
            same(model(**inputs)[0], expected)
    for layer in range(2):
        assert not np.triu(seen.sentence(1)["decoder", layer].map, 1).any()
        assert (seen.sentence(1)["cross", layer].map > 0).all()


def test_a_short_text_of_a_model_with_a_window_goes_on_token_by_token():
    """While the window reaches every key its mask is left to the kernel, and later it is not."""
    model, ids = FAMILY["mistral"].made(), batch("not", 1, 3)["input_ids"]
    options = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}
    with regard.watch(model) as seen:
        tokens = model.generate(ids, **options)
    own = eager(model, lambda: model(tokens[:, :-1], output_attentions=True)).attentions
    for layer, weights in enumerate(own):
        check_facts(seen[layer], weights[0].double().numpy())


def test_a_causal_mask_that_a_module_does_not_ask_for():
    """A kernel gets no mask, and the module says that it looks both ways, as PaliGemma does."""
    model, inputs = copy.deepcopy(FAMILY["llama"].made()), batch("not")
    for module in model.modules():
        if hasattr(module, "is_causal"):
            module.is_causal = False
    with torch.no_grad():
        expected = model(**inputs).logits
        with regard.watch(model) as seen:
            same(model(**inputs).logits, expected)
    for layer in range(2):
        assert (seen.sentence(1)[layer].map > 0).all()


def test_a_copy_of_a_model_inside_the_block():
    model = FAMILY["llama"].made()
    with torch.no_grad(), regard.watch(model) as seen:
        again = copy.deepcopy(model)
        expected = model(**batch("not")).logits
        same(again(**batch("not")).logits, expected)
    assert type(again.config._attn_implementation) is str
    assert again.config._attn_implementation == "sdpa"
    same(again(**batch("not")).logits, expected)
    assert seen.runs == 1


def test_autocast():
    model = FAMILY["llama"].made()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        expected = model(**batch("left")).logits
        with regard.watch(model) as seen:
            same(model(**batch("left")).logits, expected)
    assert seen.sentence(1)[0].queries == 9


@pytest.mark.parametrize("reentrant", [True, False])
def test_layers_computed_again_after_the_block(reentrant):
    model = copy.deepcopy(FAMILY["llama"].made()).train()
    model(**batch("not"), use_cache=False).logits.square().sum().backward()
    expected = {name: x.grad.clone() for name, x in model.named_parameters()}
    model.zero_grad()
    recompute_layers(model, use_reentrant=reentrant)
    with regard.watch(model):
        output = model(**batch("not"), use_cache=False).logits
    output.square().sum().backward()
    for name, parameter in model.named_parameters():
        same(parameter.grad, expected[name])


def test_a_compiled_model_runs_as_it_was_written():
    model = copy.deepcopy(FAMILY["llama"].made())
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        expected = model(**batch("not")).logits
        with regard.watch(model) as seen:
            same(compiled(**batch("not")).logits, expected)
    assert [key.layer for key in seen.names] == [0, 1]


class TwoModels(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.reads = copy.deepcopy(FAMILY["bert"].made())
        self.writes = copy.deepcopy(FAMILY["llama"].made())

    def forward(self, **inputs):
        return self.reads(**inputs)[0], self.writes(**inputs)[0]


def test_two_models_in_one_module_are_both_seen():
    model, inputs = TwoModels(), batch("not")
    with torch.no_grad(), regard.watch(model) as seen:
        model(**inputs)
    assert [path.split(".")[0] for path in seen.paths] == ["reads", "reads", "writes", "writes"]
    for part, own in (("encoder", model.reads), ("decoder", model.writes)):
        weights = eager(own, lambda own=own: own(**inputs, output_attentions=True)).attentions
        for layer in range(2):
            check_facts(seen.sentence(2)[part, layer], weights[layer][2].double().numpy())


def test_forward_called_directly_has_its_tokens():
    model = FAMILY["bert"].made()
    inputs = batch("not", sentences=1)
    with torch.no_grad(), regard.watch(model) as seen:
        model.forward(**inputs)
    tokens = seen._recorder.runs[0].tokens["encoder"][0]
    assert tokens.tolist() == inputs["input_ids"][0].tolist()


def longt5():
    return hf.LongT5Model(hf.LongT5Config(
        **_SMALL, d_model=16, d_kv=4, d_ff=24, num_layers=2, num_heads=4, local_radius=3,
        decoder_start_token_id=0))  # fmt: skip


def git():
    vision = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
              "intermediate_size": 24, "image_size": 16, "patch_size": 8}  # fmt: skip
    return hf.GitModel(hf.GitConfig(
        **_SMALL, vision_config=vision, hidden_size=16, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=24))  # fmt: skip


def doge():
    return hf.DogeForCausalLM(hf.DogeConfig(
        **_SMALL, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=24, head_dim=4))  # fmt: skip


def t5gemma2():
    """Its decoder attends to its own tokens and to those of the encoder in one softmax."""
    text = _SMALL | {
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 4,
        "num_key_value_heads": 2, "intermediate_size": 24, "sliding_window": 4,
        "query_pre_attn_scalar": 4, "layer_types": ["sliding_attention", "full_attention"],
    }  # fmt: skip
    vision = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
              "intermediate_size": 24, "image_size": 28, "patch_size": 14}  # fmt: skip
    encoder = {"text_config": text, "vision_config": vision, "mm_tokens_per_image": 1,
               "image_token_index": 39, "boi_token_index": 38, "eoi_token_index": 37}  # fmt: skip
    config = hf.T5Gemma2Config(encoder=encoder, decoder=text, image_token_index=39)
    return hf.T5Gemma2ForConditionalGeneration(config)


@pytest.mark.parametrize("padded", ["not", "left"])
@pytest.mark.parametrize("make", [longt5, git, doge, t5gemma2])
def test_models_that_compute_with_their_masks(make, padded):
    torch.manual_seed(0)
    model = make().eval()
    inputs = batch(padded)
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"][:, :5]
    with torch.no_grad():
        expected = model(**inputs)[0]
        with regard.watch(model) as seen:
            same(model(**inputs)[0], expected)
    assert len(seen.names) == {longt5: 6, t5gemma2: 4}.get(make, 2)
    if make is t5gemma2:  # its own five tokens come first, then those of the encoder
        merged = seen.sentence(0)["decoder", 1]
        assert (merged.queries, merged.keys) == (5, 16)
        assert not np.triu(merged.map[:, :, :5], 1).any()
        assert (merged.map[:, :, 5:] > 0).all()
