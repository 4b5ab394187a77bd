"""Layers without a softmax are named: hybrids, models without any, and what is no such layer."""

import pytest
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES, HEADS, VOCABULARY, batch

import regard
from regard.errors import ArgumentError, NotAskedError
from regard.view.page.runs import watched_run

IDS = batch("not", 1)["input_ids"]
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 16, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2, "intermediate_size": 24, "max_position_embeddings": 64}  # fmt: skip


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def qwen3_next():
    torch.manual_seed(0)
    kinds = ["linear_attention", "linear_attention", "full_attention", "linear_attention"]
    sizes = SIZES | {"num_hidden_layers": 4, "num_attention_heads": HEADS, "head_dim": 8,
             "num_key_value_heads": 2, "num_experts": 2, "num_experts_per_tok": 1,
             "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8,
             "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 4,
             "linear_value_head_dim": 4, "layer_types": kinds}  # fmt: skip
    return hf.Qwen3NextForCausalLM(hf.Qwen3NextConfig(**sizes)).eval()


def lfm2():
    kinds = ["conv", "full_attention", "conv"]
    sizes = SIZES | {"num_hidden_layers": 3, "num_attention_heads": HEADS, "layer_types": kinds,
                     "num_key_value_heads": 2}  # fmt: skip
    return hf.Lfm2ForCausalLM(hf.Lfm2Config(**sizes)).eval()


def mamba2():
    sizes = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "num_heads": 4,
             "head_dim": 8, "state_size": 4, "n_groups": 1, "chunk_size": 4, "pad_token_id": 0,
             "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
    return hf.Mamba2ForCausalLM(hf.Mamba2Config(**sizes)).eval()


QWEN = "No softmax attention was seen in 3 of 4 layers of model.layers: Qwen3NextGatedDeltaNet."


def test_a_hybrid_names_the_layers_that_mix_otherwise(tmp_path):
    model = qwen3_next()
    with regard.watch(model) as seen:
        model(IDS)
    assert QWEN in " ".join(str(seen).split())
    (others,) = seen.without_softmax
    assert (others.numbers, others.of) == ((0, 1, 3), 4)
    with pytest.raises(ArgumentError) as error:
        seen[0]
    assert str(error.value) == f"decoder layer 0 was not watched: decoder has layers 2. {QWEN}"
    assert seen.to_dict()["without_softmax"][0]["numbers"] == [0, 1, 3]
    assert QWEN in watched_run(seen).about()["notes"]
    seen.save(tmp_path / "run.regard")
    assert QWEN in " ".join(str(regard.load(tmp_path / "run.regard")).split())


def test_after_generate_and_of_another_class():
    model = lfm2()
    with regard.watch(model) as seen:
        model.generate(IDS, max_new_tokens=2, min_new_tokens=2, do_sample=False)
    (others,) = seen.without_softmax
    assert str(others).startswith(
        "No softmax attention was seen in 2 of 3 layers of model.layers: Lfm2"
    )
    assert list(others.names) == ["Lfm2ShortConv"]


def test_a_model_without_any_softmax_ends_as_it_ran():
    model = mamba2()
    expected = model(IDS).logits
    told = "No softmax attention was seen in 2 of 2 layers of backbone.layers: Mamba2Mixer."
    with pytest.warns(UserWarning, match="has nothing to show") as warned:  # noqa: SIM117
        with regard.watch(model) as seen:
            logits = model(IDS).logits
    assert torch.equal(logits, expected)
    assert told in str(warned[0].message)
    assert told in " ".join(str(seen).split())
    with pytest.raises(NotAskedError, match=r"Mamba2Mixer\."):
        seen[0]
    assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_no_layer_is_named_where_every_layer_attends(family):
    inputs = {"input_ids": IDS}
    inputs |= {"decoder_input_ids": IDS} if family.kind == "both" else {}
    model = family.made()
    with regard.watch(model) as seen:
        model(**inputs)
    assert seen.without_softmax == ()
    with regard.watch(model, layers=[1]) as one:
        model(**inputs)
    assert one.without_softmax == ()
