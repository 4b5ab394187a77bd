"""Tokenizers: vocabularies of words and of sub-words, and characters that neither has."""

import pytest

from regard.errors import FileError
from regard.text.subwords import UnigramModel
from regard.text.tokens import WordTokenizer, unknown_characters


def test_word_tokenizer_knows_only_its_words():
    tokens = WordTokenizer.from_text("I am good , I am")
    assert tokens.words[4:] == ("I", "am", "good", ",")
    assert tokens.encode("I am bad") == [4, 5, 1]


def test_characters_spelled_in_bytes_are_named():
    assert unknown_characters(["▁é", "<0xF0>", "<0x9F>"], "é🍕🍕") == "🍕"
    assert unknown_characters(["▁é"], "é") == ""


def test_missing_tokens_are_explained(tmp_path):
    with pytest.raises(FileError, match=r"^no pieces at"):
        UnigramModel.from_file(tmp_path / "tokens.txt")
