"""Alignment: read at the step where a word is the decoder's input, by the heads measured for it."""

from dataclasses import replace

import numpy as np
import pytest

from regard.transformer import read
from regard.transformer.alignment import Alignment
from regard.transformer.roles import HeadRoles


@pytest.fixture(scope="module")
def reading(model):
    return read("A dog ate the food.", model=model)


def test_rows_are_the_words_of_the_translation_without_start(reading):
    alignment = reading.alignment
    assert alignment.words == reading.translation_words
    wanted = reading.weights(part="cross", layer=1).mean(axis=0)[1:]
    np.testing.assert_allclose(alignment.weights_qk, wanted)
    assert alignment.heads == tuple((1, head) for head in (0, 1, 2, 3))


def test_heads_that_were_measured_are_taken(model):
    known = replace(model, roles=HeadRoles(alignment_heads=((2, 1),)))
    reading = read("A dog ate the food.", model=known)
    wanted = reading.weights(part="cross", layer=2, head=1)[1:]
    np.testing.assert_allclose(reading.alignment.weights_qk, wanted)


def test_pairs_are_the_best_and_what_comes_near_it():
    weights = np.array([[0.6, 0.35, 0.05], [0.1, 0.2, 0.7], [0.05, 0.05, 0.9]])
    alignment = Alignment(("le", "chien", "."), ("the", "dog", "(end)"), weights, ((1, 1),))
    assert [(x.word, x.source) for x in alignment.pairs] == [("le", "the"), ("le", "dog")]
    assert str(alignment).splitlines() == [
        "le    <- the 60 %, dog 35 %",
        "chien <- no word in particular",
        ".     <- no word in particular",
    ]


def test_a_word_that_others_rest_on_more_is_no_source():
    weights = np.array([[0.9, 0.05, 0.05], [0.5, 0.3, 0.2], [0.74, 0.1, 0.16]])
    alignment = Alignment(("chien", "a", "dormi"), ("dog", "slept", "(end)"), weights, ((1, 1),))
    assert [alignment.source_columns(row) for row in range(3)] == [[0], [1], [0]]


def test_a_small_weight_makes_no_link_although_it_is_the_largest():
    weights = np.array([[0.24, 0.2, 0.2, 0.2, 0.16]])
    alignment = Alignment(("chien",), ("a", "dog", "slept", ".", "(end)"), weights, ((1, 1),))
    assert alignment.pairs == ()
