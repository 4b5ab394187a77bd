"""What watch promises beside its numbers: the model is left as it was, and errors say what next."""

import copy
import gc
import sys
import threading
import tomllib
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES, VOCABULARY, batch
from transformers import AttentionInterface, AttentionMaskInterface

import regard
from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.watcher import watch
from regard.watcher.capture import interface, model_call, observation, recorder, records, runs

FAMILY = {family.name: family for family in FAMILIES}
NUMBERS = "must be 'all' or numbers of layers, counted from 0"
LLAMA, BERT, BART = (FAMILY[name] for name in ("llama", "bert", "bart"))


def settings(model):
    return {name: module.config._attn_implementation for name, module in model.named_modules()
            if hasattr(module, "config")}  # fmt: skip


def hooks(model):
    return sum(len(module._forward_pre_hooks) for module in model.modules())


INTERFACES = [(x, dict(vars(x)), dict(x._global_mapping))
              for x in (AttentionInterface, AttentionMaskInterface)]  # fmt: skip


def untouched(model):
    for kind, attributes, functions in INTERFACES:
        assert dict(vars(kind)) == attributes
        assert kind._global_mapping == functions
    assert hooks(model) == 0


@pytest.mark.parametrize("family", [LLAMA, BART], ids=str)
def test_a_model_keeps_its_settings_inside_the_block_and_after_it(family):
    """Models ask which attention they have, and compute something else for a name of another."""
    model = family.made()
    before = settings(model)
    with torch.no_grad(), regard.watch(model):
        model(**batch("left"))
        assert settings(model) == before
        assert all(type(x) is str for x in settings(model).values())
    assert settings(model) == before
    untouched(model)


@pytest.mark.parametrize("interface", [True, False], ids=["model", "program"])
def test_facts_are_freed_with_what_was_seen(interface):
    """Without the garbage collector: memory that is freed late is memory taken anew."""
    model = LLAMA.made()
    gc.disable()
    try:
        with torch.no_grad(), regard.watch(model if interface else None) as seen:
            model(**batch("not"))
        records = [x for each in seen._recorder.runs[0].records.values() for x in each]
        gone = [weakref.ref(x) for x in (seen._recorder, *records)]
        del seen, records
        assert [reference() for reference in gone] == [None] * len(gone)
    finally:
        gc.enable()


def test_also_after_an_error():
    model = LLAMA.made()
    before = settings(model)
    with pytest.raises(RuntimeError, match="stop here"), regard.watch(model):
        raise RuntimeError("stop here")
    assert settings(model) == before
    untouched(model)


def test_each_model_keeps_its_own_way():
    """One that was eager is eager again, and its output in between is its own."""
    model = LLAMA.made()
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            expected = model(**batch("not")).logits
            with regard.watch(model) as seen:
                actual = model(**batch("not")).logits
        assert model.config._attn_implementation == "eager"
    finally:
        model.set_attn_implementation("sdpa")
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)
    assert len(seen.names) == 2


def test_two_models_at_once_and_one_within_another():
    one, other = LLAMA.made(), BERT.made()
    with torch.no_grad(), regard.watch(one) as first:
        with regard.watch(other) as second:
            one(**batch("not"))
            other(**batch("not"))
        with regard.watch(one, layers=[1], top=2) as inner:
            one(**batch("not"))
    assert (first.parts, second.parts) == (("decoder",), ("encoder",))
    assert [layer_key.layer for layer_key in inner.names] == [1]
    outer = first.sentence(0)[1]
    np.testing.assert_array_equal(inner.sentence(0)[1].entropy, outer.entropy)
    np.testing.assert_array_equal(first.run(0).sentence(0)[1].entropy, outer.entropy)
    untouched(one)
    untouched(other)


def test_two_models_of_one_config():
    config = BERT.config(**BERT.sizes)
    one, other = BERT.model(config).eval(), BERT.model(config).eval()
    with torch.no_grad():
        expected = other(**batch("right")).last_hidden_state
        with regard.watch(one) as seen:
            actual = other(**batch("right")).last_hidden_state
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    assert seen.names == ()


def test_other_threads_are_not_recorded_and_get_their_own_attention():
    model = LLAMA.made()
    inputs, actual = batch("left"), []
    with torch.no_grad():
        expected = model(**inputs).logits

    def elsewhere():
        with torch.no_grad():
            actual.append(model(**inputs).logits)

    with torch.no_grad(), regard.watch(model) as seen:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert seen.names == ()
        model(**batch("not"))
    torch.testing.assert_close(actual[0], expected, rtol=0, atol=0)
    assert seen.sentence(0)[0].queries == 11


def test_layers_that_are_not_watched_compute_the_same():
    model = LLAMA.made()
    with torch.no_grad():
        expected = model(**batch("left")).logits
        with regard.watch(model, layers=1) as seen:
            actual = model(**batch("left")).logits
    real = batch("left")["attention_mask"].bool()
    torch.testing.assert_close(actual[real], expected[real], rtol=0, atol=1e-4)
    assert [tuple(layer_key) for layer_key in seen.names] == [("decoder", 1)]


def test_a_model_can_learn_while_it_is_watched():
    model = BERT.made()
    inputs = batch("right")
    loss = model(**inputs).last_hidden_state.square().sum()
    expected = torch.autograd.grad(loss, model.embeddings.word_embeddings.weight)[0]
    with regard.watch(model) as seen:
        loss = model(**inputs).last_hidden_state.square().sum()
        actual = torch.autograd.grad(loss, model.embeddings.word_embeddings.weight)[0]
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    with torch.no_grad(), regard.watch(model) as still:
        model(**inputs)
    # The same weights, once beside the model's own attention and once in its place.
    steps = 1e-5
    np.testing.assert_allclose(
        seen.sentence(1)[1].map, still.sentence(1)[1].map, rtol=0, atol=steps
    )


def test_weights_are_those_before_dropout():
    """A model in training drops weights at random; what is seen is what it drops them from."""
    model = BERT.model(BERT.config(**BERT.sizes)).train()
    with regard.watch(model) as seen:
        model(**batch("not"))
    np.testing.assert_allclose(seen.sentence(0)[0].map.sum(axis=-1), 1, rtol=1e-5)
    with regard.watch(model) as again:
        model(**batch("not"))
    assert not np.array_equal(seen.sentence(0)[1].map, again.sentence(0)[1].map)


def test_padding_gets_what_it_would():
    """Nobody should read it, but the output is the same to its last place."""
    model = BERT.made()
    with torch.no_grad():
        expected = model(**batch("right")).last_hidden_state
        with regard.watch(model):
            actual = model(**batch("right")).last_hidden_state
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)


def test_bfloat16():
    model = LLAMA.made(torch.bfloat16)
    with torch.no_grad():
        expected = model(**batch("not")).logits
        with regard.watch(model) as seen:
            actual = model(**batch("not")).logits
    assert actual.dtype == torch.bfloat16
    # bfloat16 has a step of 2^-8; two layers each round a few times.
    size = float(expected.abs().max())
    assert float((actual - expected).abs().max()) <= 16 * 2**-8 * size
    assert seen.sentence(0)[0].entropy.dtype == np.float32


def test_large_scores_in_bfloat16_are_compared_in_float32():
    """Scores of a hundred round by almost one in bfloat16, in a model that does not scale them."""
    torch.manual_seed(0)
    config = hf.SwitchTransformersConfig(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_decoder_layers=1,
        num_heads=4, num_experts=2, decoder_start_token_id=0,
    )  # fmt: skip
    model = hf.SwitchTransformersModel(config).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.5)
    model, ids = model.to(torch.bfloat16), torch.arange(3, 27)[None]
    with torch.no_grad():
        expected = model(input_ids=ids, decoder_input_ids=ids).last_hidden_state
        with regard.watch(model) as seen:
            output = model(input_ids=ids, decoder_input_ids=ids).last_hidden_state
    assert torch.equal(output, expected)
    assert seen.parts == ("encoder", "decoder", "cross")


def test_refusal_where_the_attention_is_another(monkeypatch):
    """A model that scales in a way nobody told: the difference is found, and its size said."""
    model = LLAMA.made()
    observation_of = observation.observe_part

    def wrong(call, *arguments):
        call.options["scaling"] *= 2
        seen = observation_of(call, *arguments)
        call.options["scaling"] /= 2
        return seen

    monkeypatch.setattr(observation, "observe_part", wrong)
    with torch.no_grad(), pytest.raises(BackendError) as error, regard.watch(model):
        model(**batch("not"))
    text = str(error.value)
    assert text.startswith("LlamaAttention: the log-sum-exp of the model's own attention is ")
    assert text.endswith(
        "would be rounding), so watch shows nothing. The model does something regard does not "
        "know: leave this layer out with layers=..."
    )
    untouched(model)


def test_no_number_of_ours_beside_a_number_of_the_models_own_is_refused(monkeypatch):
    original = observation.OutputBuffer.put

    def put(self, segment, mixed):
        original(self, segment, mixed)
        self.tensor[0, 0, 0, 0] = np.nan

    monkeypatch.setattr(observation.OutputBuffer, "put", put)
    model = copy.deepcopy(FAMILY["llama"].made())
    model.set_attn_implementation("eager")  # it returns no log-sum-exp to compare
    with torch.no_grad(), pytest.raises(BackendError) as error, regard.watch(model):
        model(**batch("not"))
    assert str(error.value).startswith("decoder layer 0: regard's attention is inf away from ")
    untouched(model)


def test_a_long_call_is_proven_on_a_few_rows(monkeypatch):
    monkeypatch.setattr(model_call, "MAX_QUERIES_COMPARED_IN_FULL", 4)
    model = FAMILY["mistral"].made()
    with torch.no_grad(), regard.watch(model) as seen:
        model(**batch("left"))
    assert seen.sentence(2)[0].queries == 7


def test_what_cannot_be_watched():
    with pytest.raises(ArgumentError) as error, regard.watch("a model"):
        pass
    assert str(error.value) == (
        "model must be a torch.nn.Module, or None to watch whatever runs in the block, got str."
    )


def test_the_oldest_transformers_is_the_one_that_is_stated(monkeypatch):
    """The error, what is checked and what pyproject.toml asks for are one number."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    stated = {x for extra in extras for x in extra if x.startswith("transformers")}
    oldest = ".".join(map(str, watch.MIN_TRANSFORMERS_VERSION))
    assert stated == {f"transformers>={oldest}"}
    older = f"{watch.MIN_TRANSFORMERS_VERSION[0]}.{watch.MIN_TRANSFORMERS_VERSION[1] - 1}.0"
    for version in (f"{oldest}.0", f"{oldest}.1.dev0", "6.0.0"):
        monkeypatch.setattr(sys.modules["transformers"], "__version__", version)
        watch.check_transformers()
    monkeypatch.setattr(sys.modules["transformers"], "__version__", older)
    with pytest.raises(BackendError) as error, regard.watch(BERT.made()):
        pass
    assert str(error.value) == (
        f"watching a model of transformers needs transformers {oldest} or later, and {older} is "
        f"installed: pip install -U 'transformers>={oldest}'."
    )
    untouched(BERT.made())


def test_torch_has_no_softcap():
    """Older releases of transformers hand one to it, and it computes without."""
    query = torch.ones(1, 1, 1, 1)
    options = {"softcap": 2.0}
    calls = [model_call.ModelCall(None, query, query, query, None, options, name)
             for name in ("sdpa", "eager")]  # fmt: skip
    assert [call.softcap for call in calls] == [None, 2.0]


def test_a_model_that_ran_unseen(monkeypatch):
    model = BERT.made()
    monkeypatch.setattr(model.encoder, "forward", lambda x, *_, **__: hf.modeling_outputs
                        .BaseModelOutputWithPastAndCrossAttentions(x))  # fmt: skip
    with torch.no_grad(), pytest.raises(BackendError) as error, regard.watch(model):
        model(**batch("not"))
    assert str(error.value).startswith("BertModel ran, but no attention was seen: no fused kernel")
    untouched(model)


def test_a_cache_filled_in_parts():
    """A prompt given in two calls makes one text."""
    model, inputs = LLAMA.made(), batch("not")
    with torch.no_grad():
        with regard.watch(model) as complete:
            model(**inputs)
        with regard.watch(model) as parts:
            cache = model(inputs["input_ids"][:, :6], use_cache=True).past_key_values
            model(inputs["input_ids"][:, 6:], past_key_values=cache, use_cache=True)
    for layer_key in complete.names:
        one, two = complete.sentence(1)[layer_key], parts.sentence(1)[layer_key]
        for name in ("entropy", "received", "map"):
            np.testing.assert_allclose(getattr(two, name), getattr(one, name), atol=2e-5)
        for back in range(11):
            np.testing.assert_allclose(two.profile.at(back), one.profile.at(back), atol=2e-5)
        for name in ("first", "previous", "duplicate", "induction"):
            actual, expected = (getattr(x.measures, name).mean_h for x in (two, one))
            np.testing.assert_allclose(actual, expected, atol=2e-5)


def test_the_first_key_that_a_window_still_holds_is_not_the_first():
    """Token by token a cache lets the oldest keys go; the measures stay those of the text."""
    model, inputs = FAMILY["mistral"].made(), batch("not", 1, 8)
    options = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}
    with torch.no_grad():
        with regard.watch(model) as steps:
            tokens = model.generate(**inputs, **options)
        with regard.watch(model) as once:
            model(tokens[:, :-1])
    for layer in range(2):
        one, two = steps[layer].measures.first, once[layer].measures.first
        np.testing.assert_allclose(one.mean_h, two.mean_h, rtol=0, atol=2e-5)
        np.testing.assert_allclose(one.baseline_h, two.baseline_h, rtol=0, atol=1e-12)


def test_a_custom_mask_is_followed():
    """A 4-D mask of the caller's own: nobody looks at the token just before."""
    model = LLAMA.made()
    ids = batch("not")["input_ids"][:1]
    at = torch.arange(11)
    mask = ((at[:, None] >= at) & (at[:, None] - at != 1))[None, None]
    with torch.no_grad():
        expected = model(ids, attention_mask=mask).logits
        with regard.watch(model) as seen:
            actual = model(ids, attention_mask=mask).logits
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)
    assert seen[0].profile.previous.max() == 0
    assert seen[0].profile.itself.min() > 0


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("padded", ["left", "right"])
def test_masks_stay_descriptions(family, padded, monkeypatch):
    """Nothing of size n x n is passed on, except the bias that T5 itself makes."""
    original, masks = interface.call_segments, []

    def listening(call):
        segments = original(call)
        masks.extend(segment.arguments.get("mask") for segment in segments)
        return segments

    monkeypatch.setattr(interface, "call_segments", listening)
    inputs = batch(padded)
    if family.kind == "both":
        inputs["decoder_input_ids"] = inputs["input_ids"][:, :5]
    with torch.no_grad(), regard.watch(family.made()):
        family.made()(**inputs)
    assert masks
    assert all((mask is None) != (family.name == "t5") for mask in masks)


def test_packed_sentences_follow_the_models_own_rule():
    """Two texts in one row, told apart by their positions: a rule, asked tile by tile."""
    model, ids = LLAMA.made(), batch("not")["input_ids"][:1]
    positions = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4]])
    with torch.no_grad():
        expected = model(ids, position_ids=positions, use_cache=False).logits
        with regard.watch(model) as seen:
            actual = model(ids, position_ids=positions, use_cache=False).logits
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)
    assert seen[1].map[:, 6:, :6].max() == 0
    assert seen[1].received[:, 6].min() > 1


def test_padding_amid_a_mask_that_is_no_band():
    """Llama 4 attends in chunks: after a plain first call nothing compares the outputs any more."""
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16,
             "num_key_value_heads": 2, "intermediate_size": 96, "intermediate_size_mlp": 96,
             "num_local_experts": 2, "vocab_size": 99, "attention_chunk_size": 8,
             "no_rope_layers": [1, 1], "initializer_range": 0.3}  # fmt: skip
    torch.manual_seed(3)
    config = hf.Llama4TextConfig(**sizes, attn_implementation="sdpa")
    model = hf.Llama4ForCausalLM(config).eval()
    ids = torch.randint(3, 99, (1, 12))
    mask = torch.ones_like(ids)
    mask[0, 4:6] = 0
    real = mask[0].bool()
    with torch.no_grad():
        expected = model(ids, attention_mask=mask).logits[0, real]
        with regard.watch(model) as seen:
            model(ids)
            actual = model(ids, attention_mask=mask).logits[0, real]
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)
    assert seen[0].map[:, 8:, :8].max() == 0
    assert seen[0].received[:, 4:6].max() == 0


def test_a_mask_of_another_size_is_refused():
    """The mask is made for the keys that layer 0 has in its cache; layer 1 has six more."""
    model = LLAMA.made()
    cache = hf.DynamicCache(config=model.config)
    with torch.no_grad():
        model(torch.arange(3, 9)[None], past_key_values=cache)
        cache.layers[0] = type(cache.layers[0])()
        with pytest.raises(BackendError) as error, regard.watch(model):
            model(torch.tensor([[9, 10]]), past_key_values=cache)
    assert str(error.value) == (
        "LlamaAttention attends with (queries, keys) = (2, 8), but its mask is for (2, "
        "2): which keys it hides is not known, so watch shows nothing. Leave this layer out with "
        "layers=..., or watch one forward without a cache."
    )


def test_padding_amid_the_text():
    model, inputs = BERT.made(), batch("not")
    inputs["attention_mask"][0, 4:6] = 0
    with torch.no_grad():
        expected = model(**inputs).last_hidden_state
        with regard.watch(model) as seen:
            actual = model(**inputs).last_hidden_state
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)
    assert seen.sentence(0)[0].received[:, 4:6].max() == 0


def test_query_and_key_only_where_asked():
    model = LLAMA.made()
    with torch.no_grad(), regard.watch(model, keep=[1], map=4) as seen:
        model(batch("not")["input_ids"][:1])
    assert seen[1].tile(slice(0, 3), slice(0, 5)).shape == (4, 3, 5)
    assert seen[1, 2].tile(slice(0, 3), slice(0, 5)).shape == (3, 5)
    np.testing.assert_allclose(seen[1].row(10).sum(axis=-1), 1, rtol=1e-5)
    with pytest.raises(NotAskedError) as error:
        seen[0].tile(0, 0)
    assert str(error.value) == (
        "tile needs query and key of decoder layer 0, and they were not kept: watch with "
        "keep=(0,) or keep='all'."
    )
    assert "; 0.0 MB for 2 layers, " in " ".join(str(seen).split())
    assert 0 < seen.memory < 50_000


def test_memory_is_estimated_before_it_is_used(monkeypatch):
    monkeypatch.setattr(runs, "MEMORY_WARNING_BYTES", 1000)
    model = LLAMA.made()
    warned = pytest.warns(UserWarning, match="watch will hold")
    with torch.no_grad(), warned as warnings, regard.watch(model, keep="all"):
        model(batch("not")["input_ids"][:1])
    assert len(warnings) == 1
    assert str(warnings[0].message) == (
        "watch will hold about 0.0 GB: 2 layers, each 0 MB of facts and 0 MB of query and key. "
        "Reduce map=, layers= or keep=."
    )


def test_memory_of_many_texts(monkeypatch):
    """Every text of a block is kept, so the memory grows with them, and warns once."""
    model, ids = LLAMA.made(), batch("not")["input_ids"][:1]
    with torch.no_grad(), regard.watch(model, keep="all") as seen:
        model(ids)
        once = seen.memory
        monkeypatch.setattr(runs, "MEMORY_WARNING_BYTES", 3 * once)
        for _ in range(3):
            model(ids)
        with pytest.warns(UserWarning, match="watch holds") as warnings:
            model(ids)  # four texts are held when it begins
        model(ids)  # a second warning would be an error
    assert [str(warning.message) for warning in warnings] == [
        "watch holds 0.0 GB: 4 texts of 2 layers, and every further text adds to it. Watch "
        "fewer texts in a block, or fewer layers."
    ]
    assert seen.memory == 6 * once
    assert f"{6 * once / 1e6:,.1f} MB for 2 layers of 6 texts, " in " ".join(str(seen).split())


def test_the_memory_told_is_the_memory_held(monkeypatch):
    """Every byte that was allocated in the block and is still held, within a tenth."""
    torch.manual_seed(0)
    monkeypatch.setattr(records, "OWN_MEMORY_BYTES", 2**62)  # tracemalloc sees the heap alone
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = hf.LlamaConfig(vocab_size=99, hidden_size=512, intermediate_size=32, **sizes)
    model, ids = hf.LlamaForCausalLM(config).eval(), torch.arange(600).remainder(99)[None]
    with torch.no_grad(), regard.watch(model, map=599) as seen:  # blocks of two tokens
        model(ids)
        tracemalloc.start()
        try:
            for _ in range(5):
                model(ids)
            allocated = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        reported = seen.memory * 5 / 6
    assert reported > 2**23
    assert abs(reported / allocated - 1) < 0.1
    told = f"{seen.memory / 1e6:,.1f} MB for 2 layers of 6 texts, 0.0 MB of it query and key"
    assert told in " ".join(str(seen).split())


def test_spans_up_front_and_later():
    model = LLAMA.made()
    spans = {"question": (0, 4), "document": (3, 9)}
    ids = batch("not")["input_ids"][:1]
    with torch.no_grad(), regard.watch(model, spans=spans, keep=[1]) as seen:
        model(ids)
    for layer in (0, 1):
        weights = seen[layer].map
        expected = weights[:, 3:9, 0:4].sum(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(seen[layer].span("document", "question"), expected, rtol=1e-5)
        np.testing.assert_allclose(seen[layer].span(1, 0), expected, rtol=1e-5)
        own = weights[:, 0:4, 0:4].sum(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(seen[layer, 2].span("question", "question"), own[2], rtol=1e-5)
    later = seen[1].span((9, 11), (0, 4))
    np.testing.assert_allclose(
        later, seen[1].map[:, 9:11, 0:4].sum(axis=-1).mean(axis=-1), rtol=1e-5
    )
    with pytest.raises(ArgumentError) as error:
        seen[0].span("answer", "question")
    assert str(error.value) == "span must be one of question, document, got 'answer'."
    # Every weight is in the map: any span can be asked later.
    expected = seen[0].weights[:, 9:11, 0:4].sum(-1).mean(-1)
    np.testing.assert_allclose(seen[0].span((9, 11), (0, 4)), expected)


def test_spans_reach_into_what_is_generated():
    model = LLAMA.made()
    options = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False}
    spans = {"prompt": (0, 8), "answer": (8, 12)}
    with torch.no_grad(), regard.watch(model, spans=spans) as seen:
        model.generate(**batch("not", 1, 8), **options)
    expected = seen[1].map[:, 8:12, :8].sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(seen[1].span("answer", "prompt"), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"layers": "some"}, f"layers {NUMBERS}, got 'some'."),
        ({"keep": [1.5]}, f"keep {NUMBERS}, got [1.5]."),
        ({"top": -1}, "top must be a whole number from 0 up, got -1."),
        ({"map": 2.5}, "map must be a whole number from 0 up, got 2.5."),
        ({"spans": {"a": (5, 2)}},
         "spans must be (start, stop) in tokens, 0 <= start < stop, got (5, 2) for 'a'."),
    ],
)  # fmt: skip
def test_options(options, words):
    with pytest.raises(ArgumentError) as error, regard.watch(LLAMA.made(), **options):
        pass
    assert str(error.value) == words


@pytest.mark.parametrize("family", [LLAMA, BART], ids=str)
def test_tokens_observed_one_by_one_or_together(family, monkeypatch):
    model, inputs = family.made(), batch("left", tokens=8)
    options = {"max_new_tokens": 8, "min_new_tokens": 8, "do_sample": False}
    seen = []
    for together in (1, 3, 32):
        monkeypatch.setattr(recorder, "STEPS_AT_ONCE", together)
        with torch.no_grad(), regard.watch(model, keep=[1]) as one:
            model.generate(**inputs, **options)
        seen.append(one)
    for layer_key in seen[0].names:
        first, *others = (x.sentence(2)[layer_key] for x in seen)
        for other in others:
            for name, fact in first.facts.items():
                np.testing.assert_allclose(other.facts[name], fact, rtol=0, atol=1e-5)
            for name in ("first", "previous", "duplicate", "induction", "distance"):
                sums = (getattr(x.measures, name).sum_h for x in (other, first))
                np.testing.assert_allclose(*sums, rtol=0, atol=1e-5)


def test_asking_in_the_middle_of_a_generation():
    """What waits is observed when it is asked for, and the rest follows."""
    model, actual = LLAMA.made(), []

    def ask(layer_key):
        if layer_key.layer == 1:
            actual.append(seen[1].queries)

    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
    with torch.no_grad(), regard.watch(model, progress=ask) as seen:
        model.generate(**batch("not", 1, 6), **options)
    assert actual == [6, 7, 8, 9]
    assert seen[1].queries == 9


def test_static_cache():
    """A cache made for more tokens than came: the keys that are not there yet are not shown."""
    model, inputs = LLAMA.made(), batch("left", tokens=8)
    options = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False}
    with torch.no_grad():
        with regard.watch(model) as plain:
            expected = model.generate(**inputs, **options)
        with regard.watch(model) as seen:
            actual = model.generate(**inputs, **options, cache_implementation="static",
                                   disable_compile=True)  # fmt: skip
    assert actual.tolist() == expected.tolist()
    for sentence in range(3):
        one, two = (x.sentence(sentence)[1] for x in (plain, seen))
        np.testing.assert_allclose(two.map, one.map, rtol=0, atol=2e-5)
