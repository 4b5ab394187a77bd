"""Alignment error rate: the formula by hand, the files, and tokens mapped to words and back."""

import re

import numpy as np
import pytest

from judge.alignment_error import (
    AlignedSentence,
    alignment_error,
    given_reading,
    read_aligned,
    reading_links,
    word_tokens,
)
from regard.errors import FileError
from regard.transformer.alignment import align


def aligned(sure=(), possible=(), source="a b c", target="x y z"):
    both = frozenset(sure) | frozenset(possible)
    return AlignedSentence(tuple(source.split()), tuple(target.split()), frozenset(sure), both)


def test_the_formula_by_hand():
    # A has 4 links: 2 sure, 1 only possible, 1 wrong; of 3 sure links one is missed.
    gold = [aligned([(0, 0), (1, 1)], [(2, 1)]), aligned([(2, 2)], [(1, 2)])]
    error = alignment_error([[(0, 0), (2, 1), (0, 2)], [(2, 2)]], gold)
    assert error.error_rate == 1 - (2 + 3) / (4 + 3)
    assert (error.precision, error.recall) == (3 / 4, 2 / 3)


def test_sure_links_alone_and_all_possible_ones_are_without_error():
    gold = [aligned([(0, 0)], [(1, 1), (2, 2)])]
    assert alignment_error([[(0, 0)]], gold).error_rate == 0
    assert alignment_error([[(0, 0), (1, 1), (2, 2)]], gold).error_rate == 0


def test_no_links_are_all_error():
    error = alignment_error([[]], [aligned([(0, 0)])])
    assert (error.error_rate, error.precision, error.recall) == (1, 0, 0)


def test_a_link_given_twice_counts_once():
    assert alignment_error([[(0, 0), (0, 0)]], [aligned([(0, 0)])]).links == 1


@pytest.mark.parametrize(
    ("words", "tokens", "expected"),
    [
        (["the", "dog"], ["the", "dog"], [[0], [1]]),
        (["d'", "abord"], ["d'", "abord"], [[0], [1]]),
        (["Speaker's", "house"], ["Speaker", "'s", "house"], [[0, 1], [2]]),
        (["over-all"], ["over", "-", "all"], [[0, 1, 2]]),
        (["Mr", ".", "Smith"], ["Mr.", "Smith"], [[0], [0], [1]]),
        (["dog", "\u2581", "."], ["dog", "."], [[0], [], [1]]),
        (["l'", "heure"], ["l\u2019heure"], [[0], [0]]),
    ],
)
def test_words_have_the_tokens_whose_letters_they_share(words, tokens, expected):
    assert word_tokens(words, tokens) == expected


def test_words_of_another_text_are_refused():
    message = re.escape(
        "a tokenised sentence needs the letters of its words, but 'a cat' was read as 'a dogs': "
        "normalise its characters."
    )
    with pytest.raises(FileError, match=message):
        word_tokens(["a", "dogs"], ["a", "cat"])


def test_files_are_read_with_links_from_zero(tmp_path):
    (tmp_path / "sentences.txt").write_text("2 . ||| 2 .\nhear , hear ! ||| bravo !\n")
    (tmp_path / "gold.txt").write_text("2-2 1-1\n3p1 4-2\n")
    assert read_aligned(tmp_path) == [
        aligned([(0, 0), (1, 1)], source="2 .", target="2 ."),
        aligned([(3, 1)], [(2, 0)], source="hear , hear !", target="bravo !"),
    ]


def test_a_missing_file_is_named(tmp_path):
    message = re.escape(
        f"hand-made alignments need the file {tmp_path / 'sentences.txt'}, but it is not there."
    )
    with pytest.raises(FileError, match=message):
        read_aligned(tmp_path)


def test_files_of_different_lengths_are_refused(tmp_path):
    (tmp_path / "sentences.txt").write_text("a ||| b\nc ||| d\n")
    (tmp_path / "gold.txt").write_text("1-1\n")
    message = re.escape(
        f"{tmp_path} needs one line of gold.txt for each line of sentences.txt, but they have 1 "
        "and 2: copy both again."
    )
    with pytest.raises(FileError, match=message):
        read_aligned(tmp_path)


@pytest.mark.parametrize(("text", "links"), [("a b", "1-1"), ("a ||| b", "1:1")])
def test_a_line_of_another_form_is_shown(tmp_path, text, links):
    (tmp_path / "sentences.txt").write_text(text)
    (tmp_path / "gold.txt").write_text(links)
    message = re.escape(
        "a hand-made alignment needs 'English ||| French' and links such as 3-4 and 3p4, but it "
        f"has {text!r} and {links!r}: correct the line."
    )
    with pytest.raises(FileError, match=message):
        read_aligned(tmp_path)


def test_the_given_translation_is_read_and_its_links_are_between_tokens(model):
    gold = aligned(source="The dog drank water", target="Le chien a bu de l' eau")
    reading = given_reading(model, gold)
    assert reading.words == ("The", "dog", "drank", "water", "(end)")
    assert reading.translation_words == gold.target
    links = reading_links(reading, gold)
    alignment = align(reading)
    expected = {(k, q) for q in range(len(gold.target)) for k in alignment.source_columns(q)}
    assert links == expected
    np.testing.assert_array_equal(alignment.weights_qk, reading.alignment.weights_qk)
