"""Tokens grouped into words: marks alone, elisions apart when asked for."""

import pytest

from regard.errors import ArgumentError
from regard.text.subwords import UnigramModel
from regard.text.words import split_words, tokenized_text, word_groups
from regard.transformer.checkpoint import SHIPPED


class Letters:
    """Tokens of a test: one piece for each entry of a list."""

    def __init__(self, *pieces):
        self.pieces = ("pad", "unknown", "start", "end", *pieces)

    def encode(self, text):
        return list(range(4, len(self.pieces)))

    def decode(self, numbers):
        return "".join(self.pieces[n] for n in numbers).replace("\u2581", " ")

    def piece(self, number):
        return self.pieces[number]


@pytest.mark.parametrize(
    ("pieces", "elisions", "words"),
    [
        (["▁hung", "ry", "."], False, ["hungry", "."]),
        (["▁l", "'", "eau", "▁froid", "e"], True, ["l'", "eau", "froide"]),
        (["▁don", "'", "t"], False, ["don't"]),
        (["▁(", "▁a", ")", "▁?"], False, ["(", "a", ")", "?"]),
        (["a", "b"], False, ["ab"]),
        (["▁", "dog"], False, ["dog"]),
    ],
)
def test_pieces_are_put_together(pieces, elisions, words):
    tokens = Letters(*pieces)
    text = tokenized_text(tokens, [*tokens.encode(""), 3], elisions=elisions)
    assert text.words == (*words, "(end)")
    assert len(text.word_of_token) == len(pieces) + 1
    assert text.membership_wt.sum() == len(pieces) + 1


def test_start_and_end_stand_alone():
    assert word_groups(["<s>", "▁a", "b", "</s>"], [2, 10, 11, 3]) == [[0], [1, 2], [3]]


def test_tokens_inside_a_word_have_a_plus():
    tokens = Letters("▁hung", "ry")
    assert tokenized_text(tokens, [4, 5, 3]).tokens == ("hung", "+ry", "(end)")


def test_a_wrong_view_is_explained():
    text = tokenized_text(Letters("▁a"), [4])
    with pytest.raises(ArgumentError, match="by must be 'words' or 'tokens', got 'x'"):
        text.names("x")


SPLIT = [
    'He said, "Hello?!"... and didn\'t go (in 1,000.50 years) - a-t-il; aujourd\'hui "x".',
    "L'homme qu'on n'a pas vu: 'oui', dit-il...",
    "'Tis John's; the dogs' food.",
]


@pytest.mark.parametrize("text", SPLIT)
@pytest.mark.parametrize("elisions", [False, True])
def test_text_is_split_into_words_as_its_pieces_are(text, elisions):
    tokenizer = UnigramModel.from_file(SHIPPED / "tokens.txt")
    pieces = tokenized_text(tokenizer, tokenizer.encode(text), elisions=elisions)
    assert split_words(text, elisions=elisions) == list(pieces.words)
