"""Names of tokens of a byte-level tokenizer: line breaks, and characters split into bytes."""

import pytest

from regard.text.words import tokenized_ids

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
hf = pytest.importorskip("transformers", reason="transformers is not installed")


@pytest.fixture(scope="module")
def byte_level():
    """A tokenizer of single bytes, with two words and a line break merged."""
    pre = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    vocabulary = {piece: n for n, piece in enumerate(sorted(pre.alphabet()))}
    merges = []
    for word in ("You", "Ġare", "ä½", "ĊĊ"):
        whole = word[0]
        for letter in word[1:]:
            merges.append((whole, letter))
            whole += letter
            vocabulary[whole] = len(vocabulary)
    plain = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    plain.pre_tokenizer, plain.decoder = pre, tokenizers.decoders.ByteLevel()
    return hf.PreTrainedTokenizerFast(tokenizer_object=plain)


def named(tokenizer, text):
    ids = tokenizer(text)["input_ids"]
    return tokenized_ids(tokenizer, ids, len(ids))


def test_a_line_break_is_its_own_word(byte_level):
    text = named(byte_level, "You are\nYou are.\n\nYou")
    assert text.words == ("You", "are", "\\n", "You", "are", ".", "\\n", "\\n", "You")
    assert text.tokens == text.words


def test_a_character_in_bytes_reads_as_text(byte_level):
    text = named(byte_level, "你好, You")
    assert text.words == ("你", "好", ",", "You")
    assert text.tokens[:5] == ("你", "+…", "好", "+…", "+…")


def test_a_broken_character_stays_what_it_is(byte_level):
    ids = byte_level("你")["input_ids"][:1]
    assert tokenized_ids(byte_level, ids, 1).tokens == ("\ufffd",)
