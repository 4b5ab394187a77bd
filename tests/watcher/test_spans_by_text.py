"""Spans of a text by what stands in them, and names of tokens without a model."""

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES
from tests.helpers.planted_model import WORDS, planted_tokenizer

import regard
from regard.errors import ArgumentError

LLAMA = next(family for family in FAMILIES if family.name == "llama").made()
IDS = torch.arange(2, 18)[None]


@pytest.fixture(scope="module")
def seen():
    with torch.no_grad(), regard.watch(LLAMA, tokenizer=planted_tokenizer()) as seen:
        LLAMA(IDS)
    return seen


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
