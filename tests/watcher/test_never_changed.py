"""Watched beyond a model's window, index budget and cache: the same bits, and one text."""

import threading

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES, STEPS, VOCABULARY, batch, close, real
from transformers.generation import ContinuousBatchingConfig

import regard
from regard.errors import BackendError, NotAskedError
from regard.watcher.capture.recorder import Recorder

SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2}  # fmt: skip
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
          "v_head_dim": 12, "n_routed_experts": 4, "num_experts_per_tok": 2,
          "moe_intermediate_size": 16, "n_group": 1, "topk_group": 1}  # fmt: skip
BUDGET = 4
INDEXED = {
    "deepseek_v32": (hf.DeepseekV32ForCausalLM, hf.DeepseekV32Config),
    "glm_moe_dsa": (hf.GlmMoeDsaForCausalLM, hf.GlmMoeDsaConfig),
    "axk2": (hf.AXK2ForCausalLM, hf.AXK2Config),
}
BY_HAND = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SMALL_GPT = BY_HAND | {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
MODELS = {
    **{name: lambda kinds=kinds: kinds[0](kinds[1](
        **SIZES, **LATENT, index_topk=BUDGET, index_n_heads=2, index_head_dim=16))
       for name, kinds in INDEXED.items()},
    "minimax_m3": lambda: hf.MiniMaxM3VLForCausalLM(hf.MiniMaxM3VLTextConfig(
        **SIZES | {"num_key_value_heads": 2, "head_dim": 8}, num_local_experts=4,
        num_experts_per_tok=2, dense_intermediate_size=48, shared_intermediate_size=16,
        index_n_heads=2, index_head_dim=8, index_block_size=2, index_topk_blocks=2,
        layer_types=["full_attention", "minimax_m3_sparse"])),
    "gpt_oss": lambda: hf.GptOssForCausalLM(hf.GptOssConfig(
        **SIZES | {"num_key_value_heads": 2, "head_dim": 8}, num_local_experts=4,
        num_experts_per_tok=2, sliding_window=10,
        layer_types=["sliding_attention", "full_attention"])),
    "gptj": lambda: hf.GPTJForCausalLM(hf.GPTJConfig(**SMALL_GPT, rotary_dim=4)),
    "bloom": lambda: hf.BloomForCausalLM(hf.BloomConfig(**BY_HAND, hidden_size=16, n_layer=2,
                                                        n_head=4)),
    "gpt_neo": lambda: hf.GPTNeoForCausalLM(hf.GPTNeoConfig(
        **BY_HAND, hidden_size=16, num_layers=2, num_heads=4, max_position_embeddings=64,
        attention_types=[[["global", "local"], 1]], window_size=6)),
}  # fmt: skip
MINIMAX = {
    "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1, "block_size": 4,
    "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
NEW = 12
OPTIONS = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    torch.manual_seed(0)
    made = MODELS[request.param]().eval()
    for parameter in made.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return made


def own_weights(model, ids):
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(ids, output_attentions=True)
    model.set_attn_implementation(before)
    return [x[0].double().numpy() for x in output.attentions]


@pytest.mark.parametrize("padded", ["not", "left"])
def test_one_forward_beyond_the_budget(model, padded):
    inputs = batch(padded)
    with torch.no_grad():
        expected = model(**inputs).logits
        with regard.watch(model, top=4) as seen:
            output = model(**inputs).logits
    assert torch.equal(output, expected)
    assert seen.parts == ("decoder",)
    for sentence in range(3):
        rows = real(inputs["attention_mask"], sentence)
        assert seen.sentence(sentence)[0].map.shape[1:] == (len(rows), len(rows))


@pytest.mark.parametrize("name", INDEXED)
def test_the_keys_that_an_index_chose_are_shown(name):
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    ids = batch("not")["input_ids"][:1]
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids)
    for layer in range(2):
        visible = (seen[layer].map > 0).sum(-1)
        expected = np.minimum(np.arange(11) + 1, BUDGET)
        np.testing.assert_array_equal(visible, np.broadcast_to(expected, (4, 11)))
        close(seen[layer].map, own_weights(model, ids)[layer], STEPS)


def test_the_blocks_that_an_index_chose_are_shown():
    """Two blocks of two keys each, in the second layer alone."""
    torch.manual_seed(0)
    model = MODELS["minimax_m3"]().eval()
    ids = batch("not")["input_ids"][:1]
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids)
    full, sparse = ((seen[layer].map > 0).sum(-1) for layer in range(2))
    np.testing.assert_array_equal(full, np.broadcast_to(np.arange(11) + 1, (4, 11)))
    assert sparse.max() == 4
    for layer, weights in enumerate(own_weights(model, ids)):
        close(seen[layer].map, weights, STEPS)


def test_a_text_model_whose_index_is_inside_another():
    """Mistral Large 4 has no language model of its own class: the text tower alone."""
    torch.manual_seed(0)
    config = hf.MistralLarge4TextConfig(
        **SIZES, **LATENT, index_topk=BUDGET, index_n_heads=2, index_head_dim=16
    )
    model, ids = hf.MistralLarge4TextModel(config).eval(), batch("not")["input_ids"][:1]
    with torch.no_grad():
        expected = model(ids).last_hidden_state
        with regard.watch(model) as seen:
            output = model(ids).last_hidden_state
    assert torch.equal(output, expected)
    for layer, weights in enumerate(own_weights(model, ids)):
        assert (seen[layer].map > 0).sum(-1).max() == BUDGET
        close(seen[layer].map, weights, STEPS)


@pytest.mark.parametrize("more", [{}, {"cache_implementation": "static"}, {"num_beams": 2}],
                         ids=["cache", "static cache", "beams"])  # fmt: skip
def test_generate_beyond_the_window_is_one_text(model, more):
    inputs = batch("left", sentences=2)
    expected = model.generate(**inputs, **OPTIONS, **more)
    with regard.watch(model) as seen:
        output = model.generate(**inputs, **OPTIONS, **more)
    assert torch.equal(output, expected)
    assert seen.runs == 1
    for sentence in range(2):
        start = 2 * sentence
        ids = output[sentence : sentence + 1, start:-1]
        one = seen.sentence(sentence)
        assert one.prompt_tokens() == 11 - start
        assert one[0].map.shape == one[1].map.shape == (4, ids.shape[1], ids.shape[1])
        if hasattr(model.config, "index_topk"):
            # Scores of an index are often 0: which of equal ones it takes depends on the length.
            assert (one[0].map > 0).sum(-1).max() == BUDGET
            continue
        if start and hasattr(model.config, "index_block_size"):
            continue  # blocks of keys are counted from the padding on
        for layer, weights in enumerate(own_weights(model, ids)):
            # GPT-Neo counts its window from the end of a static cache, which shows other keys.
            if not (
                layer == 1
                and more.get("cache_implementation")
                and hasattr(model.config, "window_size")
            ):
                close(one[layer].map, weights, STEPS)


def test_beams_without_a_cache_are_the_sequences_that_are_returned(model):
    options = OPTIONS | {"num_beams": 3, "num_return_sequences": 2, "use_cache": False}
    inputs = batch("not", sentences=1)
    with regard.watch(model) as seen:
        output = model.generate(**inputs, **options)
    assert seen.sentences == 2
    for sentence in range(2):
        for layer, weights in enumerate(own_weights(model, output[sentence : sentence + 1, :-1])):
            close(seen.sentence(sentence)[layer].map, weights, STEPS)


def test_a_model_that_runs_on_another_thread_is_said(model):
    with regard.watch(model) as seen:
        thread = threading.Thread(target=model.generate, kwargs=batch("not") | OPTIONS)
        thread.start()
        thread.join()
    said = "the model ran on another thread, as it does with a streamer. Enter the block on the "
    told = " ".join(str(seen).split())  # in lines as wide as the terminal
    assert told.startswith(f"Seen: nothing yet: {said}thread that calls the model.")
    with pytest.raises(NotAskedError, match=said):
        seen[0]


def test_continuous_batches_are_the_same(caplog):
    """``generate_batch`` asks for the name of the attention, and runs on a thread of its own."""
    model = next(family for family in FAMILIES if family.name == "llama").made()
    caplog.set_level("CRITICAL")
    sizes = ContinuousBatchingConfig(num_blocks=8, page_size=16, max_batch_tokens=32)
    options = hf.GenerationConfig(max_new_tokens=4, do_sample=False, pad_token_id=0)

    def written():
        answers = model.generate_batch(
            inputs=[[5, 6, 7, 8], [9, 10, 11]], generation_config=options, progress_bar=False,
            continuous_batching_config=sizes,
        )  # fmt: skip
        return [answers[name].generated_tokens for name in sorted(answers)]

    expected = written()
    with regard.watch(model) as seen:
        assert written() == expected
    assert [len(tokens) for tokens in expected] == [4, 4]
    assert str(seen).startswith("Seen: nothing yet: the model ran on another thread")


@pytest.mark.parametrize("more", [{}, {"cache_implementation": "static"}], ids=str)
def test_a_cache_of_a_window_between_recurrent_layers(more):
    """RecurrentGemma attends to its last six tokens, whatever cache generate is told to use."""
    torch.manual_seed(0)
    config = hf.RecurrentGemmaConfig(
        **SIZES | {"num_hidden_layers": 3, "num_key_value_heads": 1, "intermediate_size": 96},
        lru_width=32, attention_window_size=6, head_dim=8,
    )  # fmt: skip
    model, inputs = hf.RecurrentGemmaForCausalLM(config).eval(), batch("not", sentences=1)
    expected = model.generate(**inputs, **OPTIONS, **more)
    with regard.watch(model) as seen:
        assert torch.equal(model.generate(**inputs, **OPTIONS, **more), expected)
    visible = (seen[2].map > 0).sum(-1)
    rows = expected.shape[1] - 1
    np.testing.assert_array_equal(visible, [np.minimum(np.arange(rows) + 1, 6)] * 4)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_cache_that_a_model_makes_no_mask_for_is_one_text(attention):
    """MiniMax asks its layers of linear attention how long the cache is: none of them has one."""
    torch.manual_seed(0)
    model = hf.MiniMaxForCausalLM(hf.MiniMaxConfig(**SIZES | MINIMAX)).eval()
    model.set_attn_implementation(attention)
    ids = torch.arange(5, 11)[None]
    expected = model.generate(ids, **OPTIONS)
    with regard.watch(model) as seen:
        assert torch.equal(model.generate(ids, **OPTIONS), expected)
    with torch.no_grad(), regard.watch(model) as whole:
        model(expected[:, :-1], use_cache=False)
    assert (seen.runs, seen[1].queries) == (1, len(expected[0]) - 1)
    close(seen[1].entropy, whole[1].entropy, STEPS)
    close(seen[1].received, whole[1].received, STEPS)


def test_an_error_of_recording_waits_for_the_end_of_the_block(monkeypatch):
    """A program ends as it would have ended without regard; the block says what went wrong."""

    def fail(*arguments, **options):
        raise ValueError("could not broadcast")

    model = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(1, 5, 8)
    with torch.no_grad():
        expected = model(x)
        monkeypatch.setattr(Recorder, "record", fail)
        message = r"could not be recorded \(ValueError: could not broadcast\)"
        with pytest.raises(BackendError, match=message), regard.watch(model):
            assert torch.equal(model(x), expected)
