"""A module that runs several times in one forward is as many layers, each equal to eager's."""

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import (
    VOCABULARY,
    batch,
    check_facts,
    close,
    eager,
    facts_of,
    real,
)
from tests.helpers.shared_modules import (
    SHARED,
    SHARP,
    albert,
    check_every_layer,
    layer_numbers,
    recorded,
    runs,
    sharp,
    stitched,
)

import regard
from regard.errors import ArgumentError, BackendError
from regard.watcher.capture import observation, recorder


@pytest.mark.parametrize("padded", ["not", "left", "right"])
@pytest.mark.parametrize("shared", SHARED)
def test_every_call_is_a_layer(shared, padded):
    model, inputs = albert(**SHARED[shared]), batch(padded)
    expected = eager(model, lambda: model(**inputs, output_attentions=True))
    with torch.no_grad(), regard.watch(model, top=4, keep="all") as seen:
        actual = model(**inputs)
    assert len(expected.attentions) == {"two layers in the group": 6, "both": 8}.get(shared, 4)
    apart = (expected.attentions[0] - expected.attentions[-1]).abs().max()
    assert apart > 0.1  # so that a layer taken for another would show
    check_every_layer(seen, expected.attentions, inputs["attention_mask"])
    assert runs(seen) == 1
    for sentence in range(3):
        rows = real(inputs["attention_mask"], sentence)
        outputs = (x.last_hidden_state[sentence, rows].numpy() for x in (actual, expected))
        close(*outputs, SHARP)


def test_twelve_layers_and_their_report():
    model, ids = albert(num_hidden_layers=12), batch("not", 1)["input_ids"]
    expected = eager(model, lambda: model(ids, output_attentions=True)).attentions
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids)
    check_every_layer(seen, expected)
    report = seen.report()
    every = [(layer, head) for layer in range(12) for head in range(4)]
    assert [(row.layer, row.head) for row in report.rows] == every
    for row in report.rows:
        entropy_q = facts_of(expected[row.layer][0, row.head].double().numpy())["entropy"]
        assert row.measured["entropy"] == pytest.approx(float(entropy_q.mean()), abs=1e-4)
    assert str(seen).startswith("Seen: 12 layers (encoder), 1 sentence; 0.1 MB for 12 layers")
    with pytest.raises(ArgumentError) as error:
        seen.run(1)
    assert str(error.value) == "1 texts were seen, counted from 0, so none is 1."


def test_a_file_holds_every_layer(tmp_path):
    model, inputs = albert(num_hidden_groups=2), batch("left")
    with torch.no_grad(), regard.watch(model, keep="all") as seen:
        model(**inputs)
    seen.save(tmp_path / "albert.regard")
    again = regard.load(tmp_path / "albert.regard")
    assert again.names == seen.names
    assert layer_numbers(again) == [0, 1, 2, 3]
    for sentence in range(3):
        one, two = seen.sentence(sentence), again.sentence(sentence)
        assert one.report() == two.report()
        for layer_key in seen.names:
            for fact, array in one[layer_key].facts.items():
                np.testing.assert_array_equal(two[layer_key].facts[fact], array)
            tiles = (x[layer_key].tile(slice(0, 3), slice(1, 5)) for x in (one, two))
            np.testing.assert_array_equal(*tiles)


def test_some_of_the_calls():
    """The numbers given to layers and keep are those of the calls."""
    model, ids, noticed = albert(), batch("not", 1)["input_ids"], []
    expected = eager(model, lambda: model(ids, output_attentions=True))
    with (
        torch.no_grad(),
        regard.watch(model, layers=[1, 3], keep=[3], map=4, progress=noticed.append) as seen,
    ):
        actual = model(ids)
    close(actual.last_hidden_state.numpy(), expected.last_hidden_state.numpy(), SHARP)
    assert [tuple(layer_key) for layer_key in noticed] == [("encoder", 1), ("encoder", 3)]
    assert layer_numbers(seen) == [1, 3]
    close(seen[3].tile(slice(None), slice(None)), expected.attentions[3][0].numpy(), SHARP)
    assert not seen[1].parts
    with pytest.raises(ArgumentError) as error, torch.no_grad(), regard.watch(model, layers=[7]):
        model(ids)
    assert str(error.value) == (
        "layers must be layers of AlbertModel, which are 0, 1, 2, 3, got 7."
    )


def test_every_call_is_proven(monkeypatch):
    """The third call of the module is wrong: the first two prove nothing of it."""
    model, observation_of, calls = albert(), observation.observe_part, []

    def wrong(call, *arguments):
        calls.append(call)
        factor = 2 if len(calls) == 3 else 1
        call.options["scaling"] *= factor
        seen = observation_of(call, *arguments)
        call.options["scaling"] /= factor
        return seen

    monkeypatch.setattr(observation, "observe_part", wrong)
    with torch.no_grad(), pytest.raises(BackendError) as error, regard.watch(model):
        model(**batch("not", 1))
    assert str(error.value).startswith("AlbertAttention: the log-sum-exp of the model's own ")
    assert len(calls) == 3


@pytest.mark.parametrize("later", [3, 5])
def test_another_number_of_calls_is_refused(later):
    model, ids = albert(), batch("not", 1)["input_ids"]
    refused = pytest.raises(BackendError)
    with torch.no_grad(), refused as error, regard.watch(model):
        model(ids)
        model.config.num_hidden_layers = later
        model(ids)
    assert str(error.value) == (
        f"encoder layer 0: AlbertAttention ran {later} times in this forward and 4 times in an "
        "earlier one: which call is which layer is not known. Watch each kind of forward in a "
        "block of its own."
    )
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids)
    assert layer_numbers(seen) == list(range(later))


def test_a_part_called_by_itself_is_refused():
    model = albert()
    hidden = torch.randn(1, 5, 8)
    with torch.no_grad(), pytest.raises(BackendError) as error, regard.watch(model):
        model.encoder(hidden)
    assert str(error.value) == (
        "encoder layer 0: AlbertAttention ran twice outside a forward of AlbertModel: whether that "
        "is another layer or another text is not known. Call the model itself, as model(...), "
        "inside the block."
    )
    plain = sharp(hf.BertModel(hf.BertConfig(
        vocab_size=9, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=24)))  # fmt: skip
    with torch.no_grad(), regard.watch(plain) as seen:
        plain.encoder(torch.randn(1, 5, 16))
    assert layer_numbers(seen) == [0, 1]


def test_other_queries_within_one_call_are_refused(monkeypatch):
    model, ids = albert(), batch("not", 1)["input_ids"]
    attention = model.encoder.albert_layer_groups[0].albert_layers[0].attention
    own = attention.forward

    def twice(*arguments, **named):
        own(*arguments, **named)
        return own(*arguments, **named)

    monkeypatch.setattr(attention, "forward", twice)
    with torch.no_grad(), pytest.raises(BackendError) as error, regard.watch(model):
        model(ids)
    assert str(error.value) == (
        "encoder layer 0: AlbertAttention attends twice in one call, with other queries and keys: "
        "whether that is one layer or two is not known. Leave this layer out with layers=..."
    )
    refused = pytest.raises(BackendError, match="encoder layer 2: AlbertAttention attends twice")
    with torch.no_grad(), refused, regard.watch(model, layers=[2]):
        model(ids)
    monkeypatch.undo()
    with torch.no_grad(), regard.watch(model, layers=[2]) as seen:
        model(ids)
    assert layer_numbers(seen) == [2]


@pytest.fixture(scope="module")
def recurrent():
    """Two stacks that run in turns, one of them twice as often, with a cache slot for each call."""
    if not hasattr(hf, "HrmTextConfig"):
        pytest.skip("this version of transformers has no HRM-Text")
    sizes = {"vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 24,
             "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 4, "H_cycles": 2,
             "L_cycles": 2, "max_position_embeddings": 64, "pad_token_id": 0}  # fmt: skip
    return sharp(hf.HrmTextForCausalLM(hf.HrmTextConfig(**sizes)))


@pytest.mark.parametrize("together", [1, 3, 32])
@pytest.mark.parametrize("padded", ["not", "left"])
def test_tokens_after_a_prompt(recurrent, padded, together, monkeypatch):
    """The k-th call of a module belongs to its k-th layer in every forward."""
    monkeypatch.setattr(recorder, "STEPS_AT_ONCE", together)
    inputs = batch(padded, tokens=8)
    options = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}
    expected = eager(recurrent, lambda: recurrent.generate(
        **inputs, **options, output_attentions=True, return_dict_in_generate=True))  # fmt: skip
    with torch.no_grad(), regard.watch(recurrent, top=4, keep=[3, 11]) as seen:
        actual = recurrent.generate(**inputs, **options)
    assert actual.tolist() == expected.sequences.tolist()
    assert [tuple(layer_key) for layer_key in seen.names] == [
        ("decoder", layer) for layer in range(12)
    ]
    assert runs(seen) == 1
    for layer_key in seen.names:
        for sentence in range(3):
            rows = real(inputs["attention_mask"], sentence)
            weights = stitched(expected.attentions, layer_key.layer, sentence, rows)
            check_facts(seen.sentence(sentence)[layer_key], weights, SHARP)


@pytest.fixture(scope="module")
def differential():
    sizes = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 3,
             "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
             "max_position_embeddings": 64, "pad_token_id": 0}  # fmt: skip
    return sharp(hf.DiffLlamaForCausalLM(hf.DiffLlamaConfig(**sizes)))


@pytest.mark.parametrize("padded", ["not", "left"])
def test_two_values_for_one_query_and_key_are_one_layer(differential, padded):
    """DiffLlama mixes two halves of the values by the same weights, in two calls."""
    inputs = batch(padded, tokens=8)
    options = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False}
    expected = eager(differential, lambda: differential.generate(
        **inputs, **options, output_attentions=True, return_dict_in_generate=True))  # fmt: skip
    with torch.no_grad(), regard.watch(differential, top=4, keep=[1]) as seen:
        actual = differential.generate(**inputs, **options)
    assert actual.tolist() == expected.sequences.tolist()
    assert [tuple(layer_key) for layer_key in seen.names] == [
        ("decoder", layer) for layer in range(3)
    ]
    assert runs(seen) == 1
    for layer_key in seen.names:
        for sentence in range(3):
            rows = real(inputs["attention_mask"], sentence)
            weights = stitched(expected.attentions, layer_key.layer, sentence, rows)
            check_facts(seen.sentence(sentence)[layer_key], weights, SHARP)


def test_modules_whose_names_share_a_number(monkeypatch, tmp_path):
    """Swin numbers its stages and the blocks in each: every block is a layer."""
    config = hf.SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=[1, 2, 3],
                           num_heads=[2, 2, 2], window_size=2)  # fmt: skip
    model = sharp(hf.SwinModel(config))
    pixels = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(5))
    _, expected = recorded(model, lambda: model(pixels), monkeypatch)
    with torch.no_grad(), regard.watch(model, top=4) as seen:
        model(pixels)
    assert runs(seen) == 1
    assert [tuple(layer_key) for layer_key in seen.names] == [
        ("encoder", layer) for layer in range(6)
    ]
    seen.save(tmp_path / "swin.regard")
    for one in (seen, regard.load(tmp_path / "swin.regard")):
        for layer, (_, weights_bhqk) in enumerate(expected):  # windows go in as sentences
            for window, weights_hqk in enumerate(weights_bhqk):
                check_facts(one.sentence(window)["encoder", layer], weights_hqk, SHARP)

    with pytest.raises(ArgumentError) as refused:
        seen.sentence(1)["encoder", 5]
    assert str(refused.value) == "encoder layer 5 has 1 sentence, counted from 0, so none is 1."


def test_two_encoders_are_told_apart_by_their_paths():
    text = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 24, "max_position_embeddings": 64}  # fmt: skip
    vision = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
              "intermediate_size": 24, "image_size": 8, "patch_size": 2}  # fmt: skip
    config = hf.ChineseCLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
    model = sharp(hf.ChineseCLIPModel(config))
    with torch.no_grad(), regard.watch(model) as seen:
        model(input_ids=torch.tensor([[3, 4, 5]]), pixel_values=torch.randn(1, 3, 8, 8))
    assert seen.parts == ("encoder", "encoder text_model")
    assert seen["encoder text_model", 1].keys == 3


def test_a_copy_of_a_layer_in_two_lists():
    """One module under two numbers: each of its calls has a number of its own."""
    config = hf.BertConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=4,
                           num_attention_heads=4, intermediate_size=24)  # fmt: skip
    model, ids = sharp(hf.BertModel(config)), batch("not", 1)["input_ids"]
    layers = model.encoder.layer
    layers[1], layers[3] = layers[2], layers[0]
    expected = eager(model, lambda: model(ids, output_attentions=True)).attentions
    with torch.no_grad(), regard.watch(model, top=4) as seen:
        model(ids)
    check_every_layer(seen, expected)


TOWER = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
         "num_attention_heads": 4}  # fmt: skip
TOWERS = {
    "text_config": TOWER | {"vocab_size": VOCABULARY, "max_position_embeddings": 16},
    "vision_config": TOWER | {"image_size": 16, "patch_size": 8},
}
SEAMLESS = {"vocab_size": VOCABULARY, "hidden_size": 16, "max_position_embeddings": 32,
            **{f"{side}_layers": 1 for side in ("encoder", "decoder", "speech_encoder",
                                                "t2u_encoder", "t2u_decoder")},
            **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
            **{f"{side}_ffn_dim": 32 for side in ("encoder", "decoder")}}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "config", "parts"),
    [
        (hf.CLIPModel, hf.CLIPConfig(**TOWERS), ("encoder", "decoder")),
        (hf.OwlViTModel, hf.OwlViTConfig(**TOWERS), ("encoder", "decoder")),
        (
            hf.SeamlessM4TForTextToText,
            hf.SeamlessM4TConfig(**SEAMLESS),
            ("encoder", "decoder", "cross"),
        ),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_text_tower_that_looks_back_is_a_decoder(kind, config, parts):
    inputs = {"input_ids": torch.arange(3, 11)[None]}
    if "cross" in parts:
        inputs["decoder_input_ids"] = torch.arange(3, 8)[None]
    else:
        inputs |= {"pixel_values": torch.randn(1, 3, 16, 16), "attention_mask": torch.ones(1, 8)}
    model = kind(config).eval()
    with torch.no_grad(), regard.watch(model) as seen:
        model(**inputs)
    assert seen.parts == parts
    weights_hqk = seen["decoder", 0].map
    assert (weights_hqk > 0).sum(-1).tolist() == [list(range(1, weights_hqk.shape[1] + 1))] * 4
