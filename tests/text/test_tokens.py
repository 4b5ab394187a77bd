"""Pieces become words: marks alone, elisions apart when asked, strange characters spelled."""

import pytest

from regard.errors import ArgumentError, FileError
from regard.text.tokens import (
    SentencePieces,
    WholeWords,
    side_of,
    unknown_characters,
    word_groups,
)


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
    side = side_of(tokens, [*tokens.encode(""), 3], elisions=elisions)
    assert side.words == (*words, "(end)")
    assert len(side.word_of_token) == len(pieces) + 1
    assert side.membership_wt.sum() == len(pieces) + 1


def test_start_and_end_stand_alone():
    assert word_groups(["<s>", "▁a", "b", "</s>"], [2, 10, 11, 3]) == [[0], [1, 2], [3]]


def test_tokens_inside_a_word_have_a_plus():
    tokens = Letters("▁hung", "ry")
    assert side_of(tokens, [4, 5, 3]).tokens == ("hung", "+ry", "(end)")


def test_whole_words_know_only_their_own():
    tokens = WholeWords.of("I am good , I am")
    assert tokens.words[4:] == ("I", "am", "good", ",")
    assert tokens.encode("I am bad") == [4, 5, 1]


def test_characters_spelled_in_bytes_are_named():
    assert unknown_characters(["▁é", "<0xF0>", "<0x9F>"], "é🍕🍕") == "🍕"
    assert unknown_characters(["▁é"], "é") == ""


def test_missing_tokens_are_explained(tmp_path):
    with pytest.raises(FileError, match=r"^the tokens need a SentencePiece model at"):
        SentencePieces(tmp_path / "tokens.model")


def test_a_wrong_view_is_explained():
    side = side_of(Letters("▁a"), [4])
    with pytest.raises(ArgumentError, match="by needs to be 'words' or 'tokens', but it is 'x'"):
        side.names("x")
