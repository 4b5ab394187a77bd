"""Every form of generate under watch: the rows of a text are those that the model attended with."""

import copy
import threading

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES, STEPS, VOCABULARY, batch, close, eager

import regard
from regard.errors import BackendError

FAMILY = {family.name: family for family in FAMILIES}
LLAMA, BART, T5 = FAMILY["llama"], FAMILY["bart"], FAMILY["t5"]
MANY_ENDS = list(range(2, 20))  # so that beams end at different lengths


def gptj():
    """A model that attends by code of its own: it is watched by its operators."""
    torch.manual_seed(0)
    config = hf.GPTJConfig(vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=4, rotary_dim=4,
                           n_positions=64, bos_token_id=1, eos_token_id=2,
                           pad_token_id=0)  # fmt: skip
    model = hf.GPTJForCausalLM(config).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return model


DECODERS = {"llama": LLAMA.made, "gptj": gptj}


def generated(model, inputs, **options):
    """What the model wrote, and what was seen; inside the block it writes the same."""
    options = {"do_sample": False, "max_new_tokens": 5} | options
    expected = model.generate(**copy.deepcopy(inputs), **options)
    with regard.watch(model, keep="all") as seen:
        output = model.generate(**copy.deepcopy(inputs), **options)
    assert torch.equal(output, expected)
    return output, seen


def check(layer, weights_hqk):
    weights_hqk = weights_hqk.double().numpy()
    close(layer.map, weights_hqk, STEPS)
    close(layer.received, weights_hqk.sum(axis=-2), STEPS)
    close(layer.tile(slice(None), slice(None)), weights_hqk, STEPS)


def check_text(model, tokens, seen):
    """Facts of a text against eager attention over the tokens that it read."""
    own = eager(model, lambda: model(tokens[None], output_attentions=True)).attentions
    for layer, weights in enumerate(own):
        check(seen[layer], weights[0])


@pytest.mark.parametrize("name", DECODERS)
def test_rows_follow_their_beam(name):
    model = DECODERS[name]()
    inputs = batch("not")
    output, seen = generated(
        model, inputs, num_beams=3, num_return_sequences=2, eos_token_id=MANY_ENDS
    )
    assert seen.sentences == len(output) == 6
    lengths = set()
    for sentence, tokens in enumerate(output):
        read = seen.sentence(sentence)[0].queries
        lengths.add(read)
        recorded = seen._recorder.runs[-1].tokens["decoder"][sentence]
        assert recorded.tolist() == tokens[:read].tolist()
        assert int(tokens[read]) in MANY_ENDS or read == output.shape[1] - 1
        check_text(model, tokens[:read], seen.sentence(sentence))
    assert len(lengths) > 1


@pytest.mark.parametrize("family", [T5, BART], ids=str)
def test_beams_of_a_model_with_two_sides(family):
    model, inputs = family.made(), batch("left")
    output, seen = generated(model, inputs, num_beams=2, num_return_sequences=2)
    assert seen.sentences == 6
    for sentence, tokens in enumerate(output):
        prompt = sentence // 2
        read, one = seen.sentence(sentence)["decoder", 0].queries, slice(prompt, prompt + 1)
        own = eager(model, lambda read=read, one=one, tokens=tokens: model(
            **{name: some[one] for name, some in inputs.items()},
            decoder_input_ids=tokens[None, :read], output_attentions=True))  # fmt: skip
        for layer in range(2):
            check(seen.sentence(sentence)["decoder", layer], own.decoder_attentions[layer][0])
            cross = own.cross_attentions[layer][0][..., 2 * prompt :]
            check(seen.sentence(sentence)["cross", layer], cross)
            assert seen.sentence(sentence)["encoder", layer].queries == 11 - 2 * prompt


def test_beams_with_a_static_cache():
    model = LLAMA.made()
    output, seen = generated(model, batch("not"), num_beams=3, cache_implementation="static")
    for sentence, tokens in enumerate(output):
        check_text(model, tokens[:-1], seen.sentence(sentence))


def test_a_text_after_a_beam_search_is_another():
    """The cache holds the beams that ran last, not those that were returned."""
    model, inputs = LLAMA.made(), batch("not", 1)
    with regard.watch(model) as seen:
        output = model.generate(**inputs, num_beams=2, num_return_sequences=2, do_sample=False,
                                max_new_tokens=3, return_dict_in_generate=True)  # fmt: skip
        with torch.no_grad():
            model(output.sequences[:, -1:], past_key_values=output.past_key_values)
    assert seen.runs == 2
    assert seen.run(0).sentence(1)[0].queries == 13
    assert seen.run(1).sentence(1)[0].queries == 1


def test_a_beam_search_that_fails_leaves_transformers_as_it_was():
    before = hf.GenerationMixin._beam_search, hf.Cache.reorder_cache
    model, fails = LLAMA.made(), [lambda ids, scores: scores * (1 / (12 - ids.shape[1]))]
    with pytest.raises(ZeroDivisionError), regard.watch(model) as seen:
        model.generate(**batch("not"), num_beams=2, max_new_tokens=4, logits_processor=fails)
    assert [seen.sentences, seen.sentence(0)[0].map.shape] == [6, (4, 12, 12)]
    assert before == (hf.GenerationMixin._beam_search, hf.Cache.reorder_cache)


def test_beams_of_another_thread_are_its_own():
    model, other = LLAMA.made(), copy.deepcopy(LLAMA.made())
    options = {"max_new_tokens": 4, "num_beams": 3, "do_sample": False}
    expected, texts = model.generate(**batch("not"), **options), []

    def write():
        texts.append(other.generate(**batch("not"), **options))

    with regard.watch(model) as seen:
        with torch.no_grad():
            model(**batch("not"))
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert torch.equal(texts[0], expected)
    assert [seen.sentences, seen.sentence(0)[0].queries] == [3, 11]


def test_a_cache_reordered_by_other_means_is_refused():
    model, inputs = LLAMA.made(), batch("not")
    with torch.no_grad(), pytest.raises(BackendError) as error, regard.watch(model):  # noqa: PT012
        cache = model(**inputs, use_cache=True).past_key_values
        for layer in cache.layers:
            layer.keys, layer.values = layer.keys.flip(0), layer.values.flip(0)
        model(inputs["input_ids"][:, :1], past_key_values=cache)
    assert str(error.value) == (
        "the keys of the tokens before are not where they were in the call before: the model puts "
        "its cache into another order by means of its own. Watch one forward of all the tokens, "
        "without a cache."
    )


def test_a_model_with_a_cache_of_its_own_order_is_refused(monkeypatch):
    monkeypatch.setattr(hf.LlamaForCausalLM, "_reorder_cache", lambda *_: None, raising=False)
    with pytest.raises(BackendError) as error, regard.watch(LLAMA.made()) as seen:
        LLAMA.made().generate(**batch("not"), num_beams=2, max_new_tokens=3)
    assert str(error.value) == (
        "LlamaForCausalLM puts its cache into the order of the beams by a method of its own, which "
        "watch does not follow: generate with num_beams=1 while watching."
    )
    assert not seen.names


@pytest.mark.parametrize("name", DECODERS)
def test_drafts_from_the_prompt(name):
    """Prompt lookup: several tokens at once, of which the wrong ones are dropped."""
    model = DECODERS[name]()
    output, seen = generated(model, batch("not", 1), prompt_lookup_num_tokens=3, max_new_tokens=12)
    assert seen.runs == 1
    check_text(model, output[0, :-1], seen)


def test_drafts_of_another_model():
    model, assistant = LLAMA.made(), copy.deepcopy(LLAMA.made())
    with torch.no_grad():
        for parameter in assistant.parameters():
            parameter += 0.02 * torch.randn(parameter.shape, generator=torch.manual_seed(3))
    output, seen = generated(model, batch("not", 1), assistant_model=assistant, max_new_tokens=12)
    assert seen.runs == 1
    check_text(model, output[0, :-1], seen)
    names = ("first", "previous", "duplicate", "induction")
    with torch.no_grad(), regard.watch(model) as once:
        model(output[:, :-1])
    for layer in range(2):
        for measure in names:
            one, two = (getattr(x[layer].measures, measure).mean_h for x in (seen, once))
            np.testing.assert_allclose(one, two, rtol=0, atol=2e-5)


def test_drafts_of_a_model_with_two_sides():
    model, inputs = BART.made(), batch("not", 1)
    assistant = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in assistant.parameters():
            parameter += 0.01 * torch.randn(parameter.shape, generator=torch.manual_seed(3))
    output, seen = generated(model, inputs, assistant_model=assistant, max_new_tokens=9,
                             min_new_tokens=9)  # fmt: skip
    own = eager(model, lambda: model(
        **inputs, decoder_input_ids=output[:, :-1], output_attentions=True))  # fmt: skip
    for layer in range(2):
        check(seen["decoder", layer], own.decoder_attentions[layer][0])
        check(seen["cross", layer], own.cross_attentions[layer][0])


def test_a_prefix_used_again_begins_another_text():
    model, ids = LLAMA.made(), batch("not", 1)["input_ids"]
    texts = []
    with torch.no_grad(), regard.watch(model) as seen:
        prefix = model(ids, use_cache=True).past_key_values
        for token in (5, 9):
            more = torch.cat([ids, torch.tensor([[token, 6, 7]])], dim=1)
            texts.append(model.generate(more, past_key_values=copy.deepcopy(prefix),
                                        max_new_tokens=3, do_sample=False))  # fmt: skip
    assert seen.runs == 2
    check_first = eager(model, lambda: model(texts[0][:, :-1], output_attentions=True)).attentions
    check_second = eager(model, lambda: model(texts[1][:, :-1], output_attentions=True)).attentions
    for layer in range(2):
        close(seen.run(0)[layer].map, check_first[layer][0].double().numpy(), STEPS)
        close(seen.run(1)[layer].map, check_second[layer][0, :, 11:].double().numpy(), STEPS)


def test_a_conversation_goes_on_in_its_cache():
    model, ids = LLAMA.made(), batch("not", 1)["input_ids"]
    options = {"max_new_tokens": 4, "do_sample": False, "return_dict_in_generate": True}
    with regard.watch(model, keep="all") as seen:
        first = model.generate(ids, **options)
        more = torch.cat([first.sequences, torch.tensor([[5, 6, 7]])], dim=1)
        second = model.generate(more, past_key_values=first.past_key_values, **options)
    assert seen.runs == 1
    check_text(model, second.sequences[0, :-1], seen)


def test_a_batch_padded_on_the_right_is_refused():
    with pytest.raises(BackendError) as error, regard.watch(LLAMA.made()):
        LLAMA.made().generate(**batch("right"), max_new_tokens=3, do_sample=False)
    assert str(error.value) == (
        "decoder layer 0: token 11 came where token 9 was due, as of a batch padded on the right, "
        "whose sentences go on after their padding: pad it on the left, or watch sentence by "
        "sentence."
    )
