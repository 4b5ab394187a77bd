"""Spans of a text by what stands in them, and names of tokens without a model."""

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES
from tests.helpers.planted_model import WORDS, planted_tokenizer
from tests.helpers.watching import seen_by

import regard
from regard.errors import ArgumentError
from regard.text.words import TokenizedText

LLAMA = next(family for family in FAMILIES if family.name == "llama").made()
IDS = torch.arange(2, 18)[None]


@pytest.fixture(scope="module")
def seen():
    return seen_by(LLAMA, IDS, tokenizer=planted_tokenizer())


def test_a_span_of_a_layer_by_its_text(seen):
    expected = seen[1].weights[:, 9:12, 1:4].sum(-1).mean(-1)
    text, other = " ".join(WORDS[11:14]), " ".join(WORDS[3:6])
    np.testing.assert_allclose(seen[1].span(text, other), expected, rtol=1e-6)
    np.testing.assert_array_equal(seen[1].span((9, 12), (1, 4)), seen[1].span(text, other))


def test_sources_by_text_are_those_by_tokens(seen):
    by_tokens = seen.sources({"a": (0, 4), "b": (4, 8)}, of=(10, 14))
    by_text = seen.sources({"a": " ".join(WORDS[2:6]), "b": "\n".join(WORDS[6:10])}, of=(10, 14))
    np.testing.assert_array_equal(by_text.attention_sn, by_tokens.attention_sn)
    np.testing.assert_array_equal(by_text.effect_sn, by_tokens.effect_sn)
    np.testing.assert_allclose(by_text.attention_sn.sum(axis=1), 1, rtol=1e-5)


def test_a_text_that_was_not_read_is_refused(seen):
    with pytest.raises(ArgumentError) as error:
        seen.sources({"a": "another text"})
    assert str(error.value) == (
        "a span must be (start, stop) in tokens or a text that was read once, got 'another text', "
        "which was read 0 times."
    )


def test_tokens_have_names_without_a_model():
    """Also where their numbers count up, as positions do."""
    with torch.no_grad(), regard.watch(tokenizer=planted_tokenizer()) as seen:
        LLAMA(IDS)
    assert seen.words == WORDS[2:18]


def test_the_row_of_a_word(seen):
    word = WORDS[5]
    np.testing.assert_array_equal(seen[1].row(word), seen[1].row(3))
    np.testing.assert_array_equal(seen[1, 2].row(word), seen[1, 2].weights[3])
    with pytest.raises(ArgumentError, match="tie"):
        seen[1].row("tie")


def test_a_block_takes_spans_by_text_and_by_message(seen):
    messages = [
        {"role": "system", "content": " ".join(WORDS[2:5])},
        {"role": "user", "content": " ".join(WORDS[6:9])},
        {"role": "user", "content": " ".join(WORDS[9:14])},
    ]
    in_tokens = {"system": (0, 3), "user": (4, 7), "user 2": (7, 12)}
    by_text = {name: x["content"] for name, x in zip(in_tokens, messages, strict=True)}
    for spans in (in_tokens, by_text, messages):
        watching = regard.watch(LLAMA, tokenizer=planted_tokenizer(), spans=spans, map=0)
        with torch.no_grad(), watching as block:
            LLAMA(torch.cat([IDS, IDS]))
        for sentence in range(2):
            one = block.sentence(sentence)[1]
            for name in in_tokens:
                expected = seen[1].span(in_tokens["user 2"], in_tokens[name])
                np.testing.assert_allclose(one.span("user 2", name), expected, rtol=1e-5)


def test_spans_of_each_sentence_are_its_own():
    spans, others = {"three": " ".join(WORDS[4:7])}, torch.roll(IDS, 3, dims=1)
    seen = seen_by(LLAMA, torch.cat([IDS, others]), tokenizer=planted_tokenizer(), spans=spans)
    for sentence, start in enumerate((2, 5)):
        one = seen.sentence(sentence)[0]
        expected = one.weights[:, start : start + 3, start : start + 3].sum(-1).mean(-1)
        np.testing.assert_allclose(one.span("three", "three"), expected, rtol=1e-6)


def test_generated_tokens_follow_the_spans_of_the_prompt():
    spans = {"prompt": " ".join(WORDS[4:7])}
    with torch.no_grad(), regard.watch(LLAMA, tokenizer=planted_tokenizer(), spans=spans) as seen:
        LLAMA.generate(IDS, max_new_tokens=3, do_sample=False, pad_token_id=0)
    expected = seen[0].weights[:, 2:5, 2:5].sum(-1).mean(-1)
    np.testing.assert_allclose(seen[0].span("prompt", "prompt"), expected, rtol=1e-6)


def test_steps_know_spans_by_text():
    shares = []
    take = lambda step: shares.append(step.share("three"))  # noqa: E731
    spans = {"three": " ".join(WORDS[4:7])}
    with (
        torch.no_grad(),
        regard.watch(LLAMA, tokenizer=planted_tokenizer(), spans=spans, on_step=take),
    ):
        LLAMA(IDS)
    seen = seen_by(LLAMA, IDS)
    np.testing.assert_allclose(shares[0][0, 0], seen[0].weights[:, -1, 2:5].sum(-1), rtol=1e-5)


def test_lines_are_spans():
    pieces = ("Hi", "Ċ", "Ċ", "You", "Ġare", "Ċ", "Bye")
    text = TokenizedText(pieces, pieces, pieces, tuple(range(7)))
    assert text.lines() == {"line 1": (0, 1), "line 2": (3, 5), "line 3": (6, 7)}


def test_spans_by_text_need_a_tokenizer():
    with pytest.raises(ArgumentError, match="spans by text need the model's tokenizer"):
        regard.watch(LLAMA, spans={"a": "some words"})
