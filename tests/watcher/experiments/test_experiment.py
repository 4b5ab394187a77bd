"""Effects of heads of a watched model against a loop of runs with one head taken away by a hook."""

import numpy as np
import pytest
import torch
from tests.helpers.head_hooks import without_head
from tests.helpers.model_families import FAMILIES, HEADS, LAYERS, STEPS, batch

import regard
from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.experiment import choose_tokens, token_id

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
    effects = seen_of(family).effects(7, 9, batch=rows, progress=lambda *step: steps.append(step))
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
        "batch must be a number from 1 up, got 0.": {"batch": 0},
        "position must be 0 to 10, got 11.": {"position": 11},
        "a token must be 0 to 39, got 40.": {"of": 40},
        "'dog' needs a tokenizer to be a token: give watch the model's, or its number.":
            {"of": "dog"},
        "7 and 7 must begin with different tokens, but both begin with '7': compare it with "
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
        "the run cannot be repeated from its tokens alone: encoder layer 1 attends otherwise in "
        "the second run."
    )
    embedded = LLAMA.made().get_input_embeddings()(IDS)
    with pytest.raises(ArgumentError) as error:
        seen_of(LLAMA, inputs_embeds=embedded).effects(7, 9)
    assert str(error.value) == (
        "a second run needs the tokens of the text, but those of decoder are not known. Make the "
        "change as a block, which needs no second run: with regard.watch(model).ablate(4, 7) as "
        "seen: model(...), and after it seen.outcome."
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


def test_a_word_that_the_tokenizer_does_not_know():
    class Unknown:
        unk_token_id = 3

        def encode(self, text, add_special_tokens):
            return [self.unk_token_id]

    with pytest.raises(ArgumentError) as error:
        token_id(Unknown(), np.zeros(8), "zebra")
    assert str(error.value) == ("the tokenizer has no token for 'zebra': choose another word.")


@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
def test_layers_before_a_head_run_for_one_row(family):
    """The heads of layer 1 need layer 0 once, not once for each."""
    rows, own = [], family.made()
    layers = own.model.layers if family is LLAMA else own.transformer.h
    hooks = [
        layer.register_forward_pre_hook(
            lambda module, arguments, keywords, number=number: rows.append(
                (number, len(arguments[0] if arguments else keywords["hidden_states"]))
            ),
            with_kwargs=True,
        )
        for number, layer in enumerate(layers)
    ]
    seen = seen_of(family)
    rows.clear()
    effects = seen.effects(7, 9)
    for hook in hooks:
        hook.remove()
    # The first run, the one whose logits are compared, then those of layer 0 and of layer 1. A hook
    # of ours comes after these, so that they see a block's row before it is repeated.
    assert rows == [(0, 1), (1, 1)] * 2 + [(0, 1), (1, HEADS + 1), (0, 1), (1, 1)]
    assert max(np.abs(effect_h).max() for effect_h in effects.by_layer.values()) > 0


def test_a_model_whose_layers_mind_the_rows_runs_them_all():
    expected = seen_of(LLAMA).effects(7, 9)
    seen = seen_of(LLAMA)
    layer = LLAMA.made().model.layers[1]
    hook = layer.register_forward_hook(
        lambda module, arguments, output: output + 1 if len(output) == HEADS + 1 else output
    )
    effects = seen.effects(7, 9)
    hook.remove()
    for key, effect_h in effects.by_layer.items():
        np.testing.assert_allclose(effect_h, expected.by_layer[key], rtol=0, atol=1e-4)


class NumberTokenizer:
    """Texts are numbers with blanks between."""

    all_special_ids = ()

    def __call__(self, text, return_tensors=None):
        return {"input_ids": torch.tensor([[int(x) for x in text.split()]])}

    def convert_ids_to_tokens(self, number):
        return str(number)

    def convert_tokens_to_string(self, tokens):
        return " ".join(tokens)

    def decode(self, ids, **options):
        return " ".join(map(str, ids))


TEXTS = ["5 6 7 8", "9 10 11", "20 21 22 23 24"]


def head_writes(family, layer, head, vector):
    """A hook that puts a vector for one head's output before the projection."""
    attention = (family.made().model.layers[layer].self_attn.o_proj if family is LLAMA
                 else family.made().transformer.h[layer].attn.c_proj)  # fmt: skip
    width = 16 // HEADS

    def hook(module, arguments):
        changed = arguments[0].clone()
        changed[..., head * width : (head + 1) * width] = vector
        return (changed,)

    return attention.register_forward_pre_hook(hook)


def outputs_before(family, layer, head, ids):
    """What a head writes, taken before the projection by a hook."""
    taken = []
    attention = (family.made().model.layers[layer].self_attn.o_proj if family is LLAMA
                 else family.made().transformer.h[layer].attn.c_proj)  # fmt: skip
    hook = attention.register_forward_pre_hook(lambda module, arguments: taken.append(arguments[0]))
    family.made()(input_ids=ids)
    hook.remove()
    width = 16 // HEADS
    return taken[0][0, :, head * width : (head + 1) * width]


@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
def test_a_head_that_writes_its_mean(family):
    model, tokenizer = family.made(), NumberTokenizer()
    texts = [tokenizer(text)["input_ids"] for text in TEXTS]
    mean = torch.cat([outputs_before(family, 1, 2, ids) for ids in texts]).mean(0)
    hook = head_writes(family, 1, 2, mean)
    expected = model(input_ids=IDS).logits
    hook.remove()
    watching = regard.watch(model, tokenizer=tokenizer)
    with watching.ablate(1, 2, to="mean", over=TEXTS) as seen:
        changed = model(input_ids=IDS).logits
    largest = float(expected.abs().max())
    np.testing.assert_allclose(changed.numpy(), expected.numpy(), rtol=0, atol=STEPS * largest)
    assert seen.outcome.changed == ("layer 1, head 2 writes its mean over 3 other texts",)
    with watching as plain:
        model(input_ids=IDS)
    effects = plain.effects(7, 9, to="mean", over=TEXTS)
    assert effects.to == effects.to_dict()["to"] == "mean"
    full = model(input_ids=IDS).logits[0, -1].double()
    lost = float(full[7] - full[9] - (expected[0, -1, 7] - expected[0, -1, 9]))
    effect = effects.by_layer["decoder", 1][2]
    assert effect == pytest.approx(lost, abs=4 * STEPS * largest)


def test_means_are_of_our_own_texts_where_none_are_given():
    class Short(NumberTokenizer):
        def __call__(self, text, return_tensors=None):
            return {"input_ids": torch.tensor([[3 + len(word) for word in text.split()]])}

    with regard.watch(LLAMA.made(), tokenizer=Short()).ablate(0, 1, to="mean") as seen:
        LLAMA.made()(input_ids=IDS)
    assert "writes its mean over 24 other texts" in str(seen.outcome)


@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
@pytest.mark.parametrize("other", [[5, 6, 7, 8, 9], [30, 5, 6, 8, 9, 10]], ids=["same", "longer"])
def test_a_patched_head_writes_what_it_wrote_in_the_other_run(family, other):
    model, ids = family.made(), [5, 6, 31, 8, 9]
    theirs = outputs_before(family, 1, 2, torch.tensor([other]))
    mine = outputs_before(family, 1, 2, torch.tensor([ids])).clone()
    if len(other) == len(ids):
        mine = theirs
    else:
        mine[[0, 1, 3, 4]] = theirs[[1, 2, 3, 4]]  # tokens 5, 6, 8, 9
    hook = head_writes(family, 1, 2, mine)
    expected = model(torch.tensor([ids])).logits
    hook.remove()
    watching = regard.watch(model, tokenizer=NumberTokenizer())
    with watching as run:
        model(torch.tensor([other]))
    with watching.patch(run, 1, 2) as seen:
        changed = model(torch.tensor([ids])).logits
    largest = float(expected.abs().max())
    np.testing.assert_allclose(changed.numpy(), expected.numpy(), rtol=0, atol=STEPS * largest)
    assert seen.outcome.changed == ("layer 1, head 2 writes what it wrote in the other text",)


def test_a_patch_from_the_same_run_changes_no_bit_and_leaves_generated_tokens_alone():
    model = LLAMA.made()
    with regard.watch(model) as run:
        model(IDS)
    with regard.watch(model).patch(run) as seen:
        model(IDS)
    assert seen.outcome.same
    with regard.watch(model).patch(run) as seen:
        model.generate(IDS, max_new_tokens=3, min_new_tokens=3, do_sample=False)
    before, after = seen.outcome.texts
    assert before == after


def test_patches_and_means_that_cannot_be():
    model = LLAMA.made()
    with regard.watch(model, tokenizer=NumberTokenizer()) as run:
        model(torch.tensor([[20, 21]]))
    watching = regard.watch(model, tokenizer=NumberTokenizer())
    with pytest.raises(ArgumentError) as raised, watching.patch(run):
        model(torch.tensor([[5, 6, 7]]))
    assert str(raised.value) == "patch needs texts with tokens in common, got two without any."
    with pytest.raises(ArgumentError) as raised, watching.patch(run):
        model(batch("left")["input_ids"])
    assert str(raised.value) == (
        "patch needs one sentence without padding, but the model got several: call it once for "
        "each."
    )
    with pytest.raises(ArgumentError) as raised:
        regard.watch(model).ablate(1, 2, to="mean")
    assert (
        str(raised.value) == "to='mean' needs the model's tokenizer: watch(model, tokenizer=...)."
    )
    with pytest.raises(ArgumentError) as raised:
        watching.ablate(1, 2, to="noise")
    assert str(raised.value) == "to must be 'zero' or 'mean', got 'noise'."
    with pytest.raises(ArgumentError) as raised:
        watching.ablate(1, 2, to="mean", over="one text")
    assert str(raised.value) == "over must be a list of at least one text, got 'one text'."


class Numbers:
    """'nine' is one token with a blank and another without; 'eleven' begins with 'ele' without."""

    def encode(self, text, add_special_tokens):
        return [("nine", " nine", "eleven", " eleven").index(text) + 3, 8]


@pytest.mark.parametrize(
    ("words", "likeliest", "expected"),
    [
        ((" nine", " eleven"), 3, (4, 6)),  # a blank that is there is not put twice
        (("nine", "eleven"), 4, (4, 6)),
        (("nine", "eleven"), 5, (3, 5)),  # with a blank or without, but both alike
        ((" nine", "eleven"), 5, (4, 6)),
    ],
    ids=str,
)
def test_two_words_are_spelt_alike(words, likeliest, expected):
    logits = np.zeros(10)
    logits[likeliest] = 1
    assert choose_tokens(Numbers(), logits, *words) == expected
