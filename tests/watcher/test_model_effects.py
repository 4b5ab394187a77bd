"""Effects of heads of a watched model against a loop of runs with one head taken away by a hook."""

import numpy as np
import pytest
import torch
from tests.helpers.head_hooks import without_head
from tests.helpers.model_families import FAMILIES, HEADS, LAYERS, STEPS, batch

import regard
from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.watcher.forward_run import LayerKey

FAMILY = {family.name: family for family in FAMILIES}
LLAMA, GPT2, BERT, BART = (FAMILY[name] for name in ("llama", "gpt2", "bert", "bart"))
IDS = batch("not", 1)["input_ids"]


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def seen_of(family, **inputs):
    with regard.watch(family.made()) as seen:
        family.made()(**(inputs or {"input_ids": IDS}))
    return seen


@pytest.mark.parametrize("rows", [1, 3, 16])
@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
def test_each_effect_is_a_run_without_the_head(family, rows):
    steps = []
    effects = seen_of(family).effects(7, 9, batch=rows, notice=lambda *step: steps.append(step))
    logits = family.made()(input_ids=IDS).logits[0, -1].double()
    full = float(logits[7] - logits[9])
    assert effects.logit_difference == pytest.approx(full, abs=STEPS * float(logits.abs().max()))
    for layer in range(LAYERS):
        for head in range(HEADS):
            with without_head(family, layer, head):
                changed = family.made()(input_ids=IDS).logits[0, -1].double()
            expected = full - float(changed[7] - changed[9])
            allowed = 2 * STEPS * float(changed.abs().max())
            assert effects.by_layer["decoder", layer][head] == pytest.approx(expected, abs=allowed)
    assert steps[-1] == (LAYERS * HEADS, LAYERS * HEADS)


def test_the_likeliest_two_tokens_are_compared_and_the_largest_effect_is_first():
    effects = seen_of(LLAMA).effects(position=4)
    best = LLAMA.made()(input_ids=IDS).logits[0, 4].topk(2).indices.tolist()
    assert list(effects.ids) == best
    assert effects.position == 4
    sizes = [abs(row.effect) for row in effects.heads]
    assert sizes == sorted(sizes, reverse=True)
    assert str(effects).startswith(f"'{best[0]}' against '{best[1]}' after token 4: logit diff")
    assert len(effects.to_dict()["heads"]) == LAYERS * HEADS


def test_every_part_of_a_model_with_two_sides():
    effects = seen_of(BART, input_ids=IDS, decoder_input_ids=IDS[:, :5]).effects(7, 9)
    assert {key.part for key in effects.by_layer} == {"encoder", "decoder", "cross"}
    assert all(np.abs(effect_h).max() > 0 for effect_h in effects.by_layer.values())


def test_one_sentence_of_a_padded_batch():
    inputs = batch("left")
    with regard.watch(LLAMA.made()) as seen:
        LLAMA.made()(**inputs)
    mask = inputs["attention_mask"][1].bool()
    alone = seen_of(LLAMA, input_ids=inputs["input_ids"][1, mask][None]).effects(7, 9)
    together = seen.sentence(1).effects(7, 9)
    for key, effect_h in alone.by_layer.items():
        np.testing.assert_allclose(together.by_layer[key], effect_h, rtol=0, atol=1e-4)


def test_after_generate_and_with_the_changes_of_the_block():
    model = LLAMA.made()
    with regard.watch(model).ablate(1, 2) as seen:
        ids = model.generate(IDS, max_new_tokens=4, min_new_tokens=4, do_sample=False)
    effects = seen.effects(7, 9)
    with without_head(LLAMA, 1, 2):
        logits = model(input_ids=ids[:, :-1]).logits[0, -1].double()
    assert effects.logit_difference == pytest.approx(float(logits[7] - logits[9]), abs=1e-4)
    assert effects.by_layer[LayerKey("decoder", 1)][2] == pytest.approx(0, abs=1e-6)


def test_what_is_wrong_is_explained():
    seen = seen_of(LLAMA)
    wrong = {
        "batch needs a number from 1 up, but it is 0.": {"batch": 0},
        "position needs a number from 0 to 10, but it is 11.": {"position": 11},
        "a token needs a number from 0 to 39, but it is 40.": {"of": 40},
        "'dog' needs a tokenizer to be a token: give watch the model's, or say its number.":
            {"of": "dog"},
        "7 and 7 need to begin with different tokens, but both begin with '7': compare it with "
        "another word.": {"of": 7, "against": 7},
    }  # fmt: skip
    for message, arguments in wrong.items():
        with pytest.raises(ArgumentError) as error:
            seen.effects(**arguments)
        assert str(error.value) == message
    with pytest.raises(NotAskedError, match="BertModel has no logits: take a class with a"):
        seen_of(BERT).effects(7, 9)


def test_inputs_beside_the_tokens_are_refused():
    kinds = torch.ones_like(IDS)
    with pytest.raises(BackendError) as error:
        seen_of(BERT, input_ids=IDS, token_type_ids=kinds).effects(7, 9)
    assert str(error.value).startswith(
        "the same run needs more than its tokens: run again from them, encoder layer 1 attends "
        "otherwise."
    )
    embedded = LLAMA.made().get_input_embeddings()(IDS)
    with pytest.raises(ArgumentError) as error:
        seen_of(LLAMA, inputs_embeds=embedded).effects(7, 9)
    assert str(error.value) == (
        "a second run needs the tokens of the text, but those of decoder are not known: call the "
        "model with input_ids, from the beginning of the text."
    )


def test_a_file_has_no_model(tmp_path):
    seen_of(LLAMA).save(tmp_path / "text.regard")
    with pytest.raises(ArgumentError) as error:
        regard.load(tmp_path / "text.regard").effects(7, 9)
    assert str(error.value) == "an experiment needs the model: a file has only what was seen."


def test_words_are_the_tokens_they_begin_with():
    class Words:
        """'dog' alone is token 5, after a blank it is token 7."""

        def encode(self, text, add_special_tokens):
            return [7] if text.startswith(" ") else [5]

        def decode(self, ids):
            return " dog" if ids == [7] else "?"

        all_special_ids = ()

        def convert_ids_to_tokens(self, token):
            return f"Ġ{token}"

        def convert_tokens_to_string(self, pieces):
            return "".join(pieces)

    model = LLAMA.made()
    with regard.watch(model, tokenizer=Words()) as seen:
        logits = model(input_ids=IDS).logits[0, -1]
    expected = 5 if logits[5] >= logits[7] else 7
    assert seen.effects("dog", 9).ids == (expected, 9)
