"""Words of long texts are looked up before anything runs, and an answer is written again."""

import numpy as np
import pytest
import torch
from tests.helpers.head_hooks import without_head
from tests.helpers.model_families import FAMILIES, LAYERS

import regard
from regard.errors import ArgumentError

FAMILY = {family.name: family for family in FAMILIES}
LLAMA = FAMILY["llama"]
NAMES = ("<s>", *["lighthouse", "keeper", "Tamsin", "Okafor", "wrote", "seven", "letters", "home"])


class Words:
    """One token for each word; numbers beyond the names are written as they are."""

    all_special_ids = (0,)

    def convert_ids_to_tokens(self, token):
        return f"Ġ{NAMES[token] if token < len(NAMES) else token}"

    def convert_tokens_to_string(self, pieces):
        return "".join(pieces).replace("Ġ", " ")

    def decode(self, ids, **options):
        pieces = [self.convert_ids_to_tokens(int(x)) for x in np.atleast_1d(np.asarray(ids))]
        return self.convert_tokens_to_string(pieces)


LONG = torch.tensor([[1, 2, 3, 4, 5, 6, 7, 8, *range(10, 40), *range(10, 30)]])


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def seen_of(model, ids=LONG):
    with regard.watch(model, tokenizer=Words()) as seen:
        model(input_ids=ids)
    return seen


def forwards_of(model, ask):
    """The error of a question, and how many forwards it cost."""
    runs = []
    hook = model.register_forward_pre_hook(lambda *given: runs.append(1))
    with pytest.raises(ArgumentError) as error:
        ask()
    hook.remove()
    return str(error.value), len(runs)


@pytest.mark.parametrize(
    "ask",
    [
        lambda seen: seen.knock_out("lihgthouse"),
        lambda seen: seen.redirect("lihgthouse", to="seven", layer=0, head=0),
        lambda seen: seen.redirect("seven", to="lihgthouse", layer=0, head=0),
        lambda seen: seen.because("lihgthouse", "seven", 0, 0),
        lambda seen: seen.rotation("seven", "lihgthouse", 0, 0),
    ],
)
def test_a_mistyped_word_runs_nothing_and_names_the_nearest(ask):
    model = LLAMA.made()
    seen = seen_of(model)
    message, runs = forwards_of(model, lambda: ask(seen))
    assert message == (
        "the word must be one of the words read, got 'lihgthouse'; the nearest are: 'lighthouse' "
        "(word 0)."
    )
    assert runs == 0


def test_a_word_that_comes_often_and_one_like_none():
    model = LLAMA.made()
    seen = seen_of(model, torch.tensor([[1, *[7] * 30, *range(10, 30)]]))
    message, runs = forwards_of(model, lambda: seen.knock_out("letters"))
    assert message == (
        "the word must occur once, got 'letters', which occurs 30 times, first as word 1 (from 0): "
        "write the number of a word, or letters#1 to letters#30."
    )
    message, _ = forwards_of(model, lambda: seen.knock_out("zebra"))
    assert message.endswith("got 'zebra'; none of its 51 words is like it.")
    assert runs == 0


def test_a_phrase_is_its_tokens():
    seen = seen_of(LLAMA.made())
    phrase, span = seen.knock_out("Tamsin Okafor"), seen.knock_out((2, 4))
    (changed,) = phrase.changed
    assert changed.endswith("no other token may look at Tamsin Okafor")
    assert torch.equal(phrase.logits[1], span.logits[1])
    with pytest.raises(ArgumentError, match="which was read 0 times"):
        seen.knock_out("Okafor Tamsin")


def test_numbers_that_are_printed_are_those_that_are_taken():
    seen = seen_of(LLAMA.made())
    looked = seen.looks_at("letters")
    for one in looked.tokens:
        assert seen.words[one.word] == one.token.strip("Ġ ")
        assert seen.looks_at(one.word).word == seen.words[one.word]
    assert f"word {looked.tokens[0].word}; most in" in str(looked)
    assert "token 6) on" in str(seen.rotation("letters", "seven", 0, 0))


def test_layers_are_a_sequence():
    seen = seen_of(LLAMA.made())
    assert len(seen) == len(seen.layers) == LAYERS
    assert [layer.name for layer in seen] == [seen[x].name for x in range(LAYERS)]
    assert seen[-1].name == seen[LAYERS - 1].name
    np.testing.assert_array_equal(seen[-1, -1].entropy, seen[LAYERS - 1, 3].entropy)
    with pytest.raises(ArgumentError, match="was not watched: decoder has layers 0, 1"):
        seen[-3]


def test_what_would_have_been_written_instead():
    model = LLAMA.made()
    ids = LONG[:, :8]
    with regard.watch(model, tokenizer=Words()) as seen:
        written = model.generate(ids, max_new_tokens=6, min_new_tokens=6, do_sample=False)
    plain = str(seen.ablate(1, 2))
    assert "The model wrote the end of this text, and below is what follows it." in " ".join(
        plain.split()
    )
    experiment = seen.ablate(1, 2, regenerate=True)
    with without_head(LLAMA, 1, 2):
        changed = model.generate(ids, max_new_tokens=6, min_new_tokens=6, do_sample=False)
    texts = [Words().decode(x[0, 8:]) for x in (written, changed)]
    length = [len(x[0]) for x in experiment.texts]
    assert [x[0] for x in experiment.texts] == [
        text[:size] for text, size in zip(texts, length, strict=True)
    ]
    assert texts[0] != texts[1]
    assert "What it would have written" not in str(experiment)
    kept = seen.knock_out(3, regenerate=True)
    assert kept.before.sequences.shape[1] <= 8 + 6


def test_a_text_that_was_read_cannot_be_written_again():
    seen = seen_of(LLAMA.made())
    with pytest.raises(ArgumentError, match="regenerate=True needs a watched text that the model"):
        seen.ablate(1, 2, regenerate=True)
    with pytest.raises(ArgumentError, match="regenerate=True needs a watched text that the model"):
        regard.watch(LLAMA.made()).ablate(1, 2, regenerate=True)


def test_the_rollout_of_a_long_text_prints_the_last_words_row():
    rollout = seen_of(LLAMA.made()).rollout()
    lines = str(rollout).splitlines()
    assert lines[1] == "the last word, 29 (word 57), 1 % or more:"
    best = int(rollout.weights_qk[-1].argmax())
    assert any(rollout.keys.words[best] in line and "%" in line for line in lines[2:])
