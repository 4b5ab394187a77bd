"""Changes inside watch, against an independent attention in torch and hooks on the projections."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.head_hooks import without_head
from tests.helpers.model_families import FAMILIES, STEPS, batch
from tests.helpers.model_families import close as close_arrays
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

import regard
from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.watcher.experiments.intervention_call import AblateByRow

FAMILY = {family.name: family for family in FAMILIES}
LLAMA, GPT2, BERT, BART = (FAMILY[name] for name in ("llama", "gpt2", "bert", "bart"))
ONE_SIDED = [family for family in FAMILIES if family.kind != "both"]
TOKENS = 11


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def close(actual, expected, allowed):
    close_arrays(actual.numpy(), expected.numpy(), allowed)


def one(tokens=TOKENS):
    return {"input_ids": batch("not", 1, tokens)["input_ids"]}


def attention_with(change):
    """An attention of its own: all weights in float64, ``change(layer, weights)`` before values."""
    calls = []

    def attend(module, query, key, value, attention_mask, scaling=None, softcap=None, **options):
        group = query.shape[1] // key.shape[1]
        key, value = (x.repeat_interleave(group, dim=1).double() for x in (key, value))
        scale = query.shape[-1] ** -0.5 if scaling is None else scaling
        scores = query.double() @ key.transpose(2, 3) * scale
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        if attention_mask is not None:
            scores = scores + attention_mask.double()
        weights = change(len(calls), scores.softmax(-1))
        calls.append(weights)
        output = (weights @ value).to(query.dtype)
        return output.transpose(1, 2).contiguous(), None

    return attend


def changed_by_hand(model, change, inputs):
    AttentionInterface.register("by_hand", attention_with(change))
    AttentionMaskInterface.register("by_hand", ALL_MASK_ATTENTION_FUNCTIONS["eager"])
    before = model.config._attn_implementation
    model.set_attn_implementation("by_hand")
    try:
        return model(**inputs)[0]
    finally:
        model.set_attn_implementation(before)
        AttentionInterface._global_mapping.pop("by_hand")
        AttentionMaskInterface._global_mapping.pop("by_hand")


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_what_changes_nothing_changes_no_bit(family):
    """Heads that no row of the batch has are ablated: all else is done as in a change."""
    model, inputs = family.made(), batch("left")
    if family.kind == "both":
        inputs |= {"decoder_input_ids": inputs["input_ids"][:, :5]}
    nothing = AblateByRow(first=99)
    with regard.watch(model).changed(nothing):
        changed = model(**inputs)[0]
    assert torch.equal(changed, model(**inputs)[0])


@pytest.mark.parametrize("family", [x for x in FAMILIES if x.kind == "decoder"], ids=str)
def test_the_last_token_hidden_from_all_others_changes_no_bit(family):
    """In a causal model it is seen by itself alone."""
    with regard.watch(family.made()).knock_out((TOKENS - 1, TOKENS)) as seen:
        changed = family.made()(**one())[0]
    assert torch.equal(changed, family.made()(**one())[0])
    assert seen.outcome.same


def test_tokens_before_a_hidden_one_are_the_same_to_the_bit():
    model = LLAMA.made()
    with regard.watch(model).knock_out((5, 6)):
        changed = model(**one()).logits
    own = model(**one()).logits
    assert torch.equal(changed[:, :6], own[:, :6])
    assert (changed[:, 6:] != own[:, 6:]).any()


@pytest.mark.parametrize("family", [LLAMA, GPT2, BERT], ids=str)
def test_an_ablated_head_is_a_zero_before_the_projection(family):
    model, inputs = family.made(), batch("right")
    with regard.watch(model).ablate(1, 2):
        changed = model(**inputs)[0]
    with without_head(family, 1, 2):
        expected = model(**inputs)[0]
    assert torch.equal(changed, expected)
    assert not torch.equal(changed, model(**inputs)[0])


@pytest.mark.parametrize("family", ONE_SIDED, ids=str)
def test_a_hidden_word_is_a_hidden_key(family):
    model = family.made()

    def hide(call, weights):
        if call != 1:
            return weights
        others = [row for row in range(TOKENS) if row not in (3, 4)]
        weights[:, 2, others, 3:5] = 0
        weights[:, 2] /= weights[:, 2].sum(-1, keepdim=True)
        return weights

    with regard.watch(model, map=TOKENS).knock_out((3, 5), layer=1, head=2) as seen:
        changed = model(**one())[0]
    close(changed, changed_by_hand(model, hide, one()), STEPS)
    weights_hqk = seen[1].map
    assert not weights_hqk[2, 5:, 3:5].any()
    np.testing.assert_allclose(weights_hqk.sum(-1), 1, rtol=0, atol=1e-5)


@pytest.mark.parametrize("weight", [1.0, 0.25])
@pytest.mark.parametrize("family", ONE_SIDED, ids=str)
def test_a_redirected_row_has_the_weight(family, weight):
    model = family.made()

    def turn(call, weights):
        if call == 1:
            row = weights[:, 2, 6]
            on = row[:, 4:6] / row[:, 4:6].sum() * weight
            row = row / (1 - row[:, 4:6].sum()) * (1 - weight)
            row[:, 4:6] = on
            weights[:, 2, 6] = row
        return weights

    watching = regard.watch(model, map=TOKENS).redirect((6, 7), (4, 6), 1, 2, weight=weight)
    with watching as seen:
        changed = model(**one())[0]
    close(changed, changed_by_hand(model, turn, one()), STEPS)
    np.testing.assert_allclose(seen[1].map[2, 6, 4:6].sum(), weight, rtol=0, atol=1e-6)


def test_a_row_put_where_it_was_changes_nothing_but_rounding():
    model = LLAMA.made()
    own = model(**one()).logits
    with regard.watch(model, map=TOKENS) as seen:
        model(**one())
    weight = float(seen[1].map[2, 6, 4])
    with regard.watch(model).redirect((6, 7), (4, 5), 1, 2, weight=weight):
        changed = model(**one()).logits
    close(changed, own, STEPS)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_padded_sentence_is_changed_as_it_is_alone(side):
    model, inputs = LLAMA.made(), batch(side)
    with regard.watch(model).knock_out((2, 4)):
        together = model(**inputs).logits
    for sentence, mask in enumerate(inputs["attention_mask"].bool()):
        alone = {"input_ids": inputs["input_ids"][sentence, mask][None]}
        with regard.watch(model).knock_out((2, 4)):
            expected = model(**alone).logits
        close(together[sentence, mask], expected[0], STEPS)


def test_changes_add_up_and_leave_the_first_as_it_was():
    model = LLAMA.made()
    first = regard.watch(model).ablate(0, 1)
    with first.ablate(1, [0, 2]):
        changed = model(**one()).logits
    with without_head(LLAMA, 0, 1), without_head(LLAMA, 1, 0), without_head(LLAMA, 1, 2):
        expected = model(**one()).logits
    assert torch.equal(changed, expected)
    assert len(first.changes) == 1
    with first, without_head(LLAMA, 1, 0):
        again = model(**one()).logits
    with without_head(LLAMA, 0, 1), without_head(LLAMA, 1, 0):
        assert torch.equal(again, model(**one()).logits)


@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
def test_generate_runs_with_the_change_at_every_step(family):
    model, inputs = family.made(), one(5)
    options = {"max_new_tokens": 6, "do_sample": False, "min_new_tokens": 6}
    own = model.generate(**inputs, **options)
    hooks = [list(module._forward_hooks) for module in model.modules()]  # of transformers itself
    with regard.watch(model).ablate(1) as seen:
        changed = model.generate(**inputs, **options)
    ids = inputs["input_ids"]
    for _ in range(6):
        with contextlib.ExitStack() as stack:
            for head in range(4):
                stack.enter_context(without_head(family, 1, head))
            logits = model(input_ids=ids).logits[:, -1]
        logits[:, model.config.eos_token_id] = -np.inf
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    assert torch.equal(changed, ids)
    assert torch.equal(seen.outcome.after.sequences, changed)
    assert torch.equal(seen.outcome.before.sequences, own)
    written = own[0][ids.shape[1] - 6 :]  # without the prompt
    assert seen.outcome.texts[0] == (" ".join(map(str, written.tolist())),)
    assert "generate" not in vars(model)
    assert [list(module._forward_hooks) for module in model.modules()] == hooks


def test_a_hidden_word_stays_hidden_from_what_is_generated():
    model, inputs = LLAMA.made(), one(5)
    with regard.watch(model, map=16).knock_out((1, 3)) as seen:
        ids = model.generate(**inputs, max_new_tokens=6, min_new_tokens=6, do_sample=False)
    weights_hqk = seen[1].map
    assert weights_hqk.shape[1:] == (ids.shape[1] - 1, ids.shape[1] - 1)
    assert not weights_hqk[:, 3:, 1:3].any()


def test_a_sampled_text_is_sampled_again_from_the_same_state():
    model = LLAMA.made()
    torch.manual_seed(3)
    with regard.watch(model).ablate(0, 0) as seen:
        model.generate(**one(5), max_new_tokens=6, do_sample=True)
    torch.manual_seed(3)
    own = model.generate(**one(5), max_new_tokens=6, do_sample=True)
    assert torch.equal(seen.outcome.before.sequences, own)


def test_the_outcome_has_logits_and_next_tokens_of_both_runs():
    model, inputs = LLAMA.made(), batch("right")
    with regard.watch(model).ablate(1, 2) as seen:
        changed = model(**inputs).logits
    outcome = seen.outcome
    own = model(**inputs).logits
    assert torch.equal(outcome.logits[0], own)
    assert torch.equal(outcome.logits[1], changed)
    assert outcome.changed == ("layer 1, head 2 writes nothing (zero)",)
    last = int(inputs["attention_mask"][1].sum()) - 1
    probabilities = own[1, last].double().softmax(-1)
    tokens = outcome.next_tokens(3, sentence=1)
    best = max(tokens, key=lambda token: token.before)
    assert best.id == int(probabilities.argmax())
    assert best.before == pytest.approx(float(probabilities.max()), abs=1e-12)
    assert "The next token of sentence 1:" in str(outcome)
    assert outcome.to_dict()["changed"] == ["layer 1, head 2 writes nothing (zero)"]


def test_layers_that_are_not_recorded_are_changed_too():
    model = LLAMA.made()
    with regard.watch(model, layers=[0]).ablate(1, 2) as seen:
        changed = model(**one()).logits
    with without_head(LLAMA, 1, 2):
        assert torch.equal(changed, model(**one()).logits)
    assert [name.layer for name in seen.names] == [0]


def test_cross_attention_of_a_model_with_two_sides():
    model, ids = BART.made(), one()["input_ids"]
    inputs = {"input_ids": ids, "decoder_input_ids": ids[:, :5]}
    with regard.watch(model, map=TOKENS).knock_out((3, 4)) as seen:
        model(**inputs)
    assert not seen["cross", 1].map[..., 3].any()
    assert not seen["encoder", 1].map[:, 4:, 3].any()
    assert seen["decoder", 1].map[:, 4, 3].all()
    with regard.watch(model, map=TOKENS).redirect((2, 3), (7, 8), 1, 0, part="cross") as seen:
        model(**inputs)
    assert seen["cross", 1].map[0, 2, 7] == pytest.approx(1, abs=1e-6)


class Letters:
    """A tokenizer of letters: token n is the letter n of the alphabet from '@' on."""

    all_special_ids = ()

    def convert_ids_to_tokens(self, token):
        return "Ġ" + chr(64 + token)

    def convert_tokens_to_string(self, pieces):
        return "".join(piece.removeprefix("Ġ") for piece in pieces)

    def encode(self, text, add_special_tokens):
        return [ord(text.strip()) - 64]

    def decode(self, ids, skip_special_tokens=False):
        return " ".join(chr(64 + int(token)) for token in ids)


def test_words_by_the_tokenizer():
    model, ids = LLAMA.made(), torch.tensor([[3, 4, 5, 6, 3]])
    with regard.watch(model).knock_out((1, 2)):
        expected = model(input_ids=ids).logits
    with regard.watch(model, tokenizer=Letters()).knock_out("D") as seen:
        changed = model(input_ids=ids).logits
    assert torch.equal(changed, expected)
    assert seen.outcome.changed == ("in every layer, every head, no other token may look at D",)
    twice = "the word must occur once, got 'C', which occurs 2 times"
    watching = regard.watch(model, tokenizer=Letters()).knock_out("C")
    with pytest.raises(ArgumentError, match=twice), watching:
        model(input_ids=ids)


WRONG = {
    "head must be 0 to 3 in decoder layer 1 (heads count from 0), got 9.":
        lambda block: block.ablate(1, 9),
    "layer 7, head 0 must be among the layers that ran, counted from 0, which are: decoder layer "
    "0, decoder layer 1.": lambda block: block.ablate(7, 0),
    "layer must be a number from 0 up or a list of such numbers, got -1.":
        lambda block: block.ablate(-1, 0),
    "knock_out needs at least one word, got none.": lambda block: block.knock_out(),
    "a span must be (start, stop) in tokens, 0 <= start < stop <= 11, got (3, 99).":
        lambda block: block.knock_out((3, 99)),
    "weight must be a number from 0 to 1, got 2.":
        lambda block: block.redirect(3, 1, 0, 0, weight=2),
    "3 must look at a word that it can see in decoder layer 0, but 5 is hidden from it, as words "
    "that come later are: redirect it to another.": lambda block: block.redirect(3, 5, 0, 0),
    "weight 0.5 leaves a rest, but 0 sees no other word in a head: use weight=1.":
        lambda block: block.redirect(0, 0, 0, 0, weight=0.5),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_is_explained(message):
    model = LLAMA.made()
    with pytest.raises(ArgumentError) as error, WRONG[message](regard.watch(model)):
        model(**one())
    assert str(error.value) == message
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert "generate" not in vars(model)


def test_a_part_has_to_be_named_where_there_are_several():
    with pytest.raises(ArgumentError) as error:
        regard.watch(BART.made()).ablate(1, 2)
    assert str(error.value) == (
        "this model has an encoder, a decoder and cross-attention: give part='encoder', 'decoder' "
        "or 'cross'."
    )


def test_every_key_of_cross_attention_hidden():
    model, ids = BART.made(), one()["input_ids"]
    watching = regard.watch(model).knock_out((0, TOKENS), part="cross")
    with pytest.raises(ArgumentError) as error, watching:
        model(input_ids=ids, decoder_input_ids=ids[:, :5])
    assert str(error.value) == (
        "cross layer 0 needs a key that is left to look at, but knock_out hides all 11: hide fewer "
        "words."
    )


def test_dropout_is_refused():
    model = GPT2.made().train()
    try:
        with pytest.raises(BackendError) as error, regard.watch(model).ablate(1, 2):
            model(**one())
    finally:
        model.eval()
    assert str(error.value) == (
        "decoder layer 0: GPT2Attention has dropout, so two runs differ by chance: call "
        "model.eval() first."
    )


def test_no_outcome_without_a_change():
    with regard.watch(LLAMA.made()) as seen:
        LLAMA.made()(**one())
    with pytest.raises(NotAskedError, match="an outcome needs a change, and the end of its block"):
        seen.outcome  # noqa: B018


def test_a_model_without_logits():
    with regard.watch(BERT.made()).ablate(1, 2) as seen:
        BERT.made()(**one())
    with pytest.raises(NotAskedError, match="this model has no logits: take a class with a"):
        seen.outcome.logits  # noqa: B018


def test_the_example_of_the_page_runs(capsys):
    """On a small model whose tokens are letters."""
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    example = re.search(r"## On other people's models.*?```python\n(.*?)```", page, re.DOTALL)[1]
    ids = torch.tensor([[3, 4, 5, 6, 7, 8, 9]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    names = {"regard": regard, "model": LLAMA.made(), "tokenizer": Letters(), "inputs": inputs}
    exec(compile(example, "experiments.md", "exec"), names)  # noqa: S102 (our own page)
    printed = capsys.readouterr().out
    assert printed.startswith("Changed: layer 1, head 2 writes nothing (zero).")
    assert "'A' against 'B' after token" in printed
    assert "Score of G on E in decoder layer 1, head 2: " in printed
    assert "Correlation of attention and effect: " in printed
