"""Segments of tokens: joined they are the text, to the character."""

import pytest
from tests.helpers.small_tokenizers import TEXT, byte_level, sentence_piece, word_piece

from regard.text.words import tokenized_ids

KINDS = {"byte-level": byte_level, "sentencepiece": sentence_piece, "word-piece": word_piece}
TEXTS = (TEXT, " A dog", "dog\n", "\n\n\t", "👩‍🚀", "你好。世界", "a\u0301 e\u0301\u200b", "x" * 40)


def named(tokenizer, text, given=None, more=""):
    ids = tokenizer(text)["input_ids"] + tokenizer(more, add_special_tokens=False)["input_ids"]
    return tokenized_ids(tokenizer, ids, len(ids), given)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_text_comes_back_by_offsets(kind, text):
    made = named(KINDS[kind](), text, given=text)
    assert len(made.segments) == len(made.tokens)
    assert "".join(made.segments) == text
    assert len(made.tokens) == 1 or made.segments[0] == ""  # <s> writes nothing


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", ["byte-level", "sentencepiece"])
def test_the_text_comes_back_from_tokens_alone(kind, text):
    assert "".join(named(KINDS[kind](), text).segments) == text


def test_words_without_offsets_read_as_a_text():
    text = "the dog ate the food, because it was hungry. (x) x"
    assert "".join(named(word_piece(), text).segments) == text


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_generated_follows_the_given_text(kind):
    given, more = "The dog ate\n the food", " because it"
    made = named(KINDS[kind](), given, given, more)
    assert "".join(made.segments).startswith(given)
    assert "".join(made.segments)[len(given) :].split() == more.split()


@pytest.mark.parametrize("kind", KINDS)
def test_another_text_is_not_taken(kind):
    tokenizer = KINDS[kind]()
    assert named(tokenizer, "the dog", "the food") == named(tokenizer, "the dog")


def test_bytes_that_are_no_text():
    ids = byte_level()("日", add_special_tokens=False)["input_ids"][:1]
    (segment,) = tokenized_ids(byte_level(), ids, 1).segments
    assert set(segment) <= {"\ufffd", "日"}
