"""The contrast pairs and what is counted on them: fair to both nouns, none of them trained on."""

import numpy as np
import pytest

from regard.transformer.contrast import (
    ContrastSentence,
    contrasts,
    forms,
    gender,
    right_heads,
    unseen,
)


def test_there_are_enough_and_all_differ():
    sentences = [item.sentence for pair in contrasts() for item in pair.items]
    assert len(set(sentences)) == len(sentences) >= 600


def test_each_noun_is_right_once_and_has_its_french():
    for pair in contrasts():
        first, second = pair.items
        assert (first.right, first.wrong) == (second.wrong, second.right)
        words = first.sentence.lower().split()
        assert words.index(first.right) < words.index(first.wrong) < words.index("it")
        assert set(forms(first.right).values()) <= {"m", "f"}


def test_pairs_that_were_trained_on_are_left_out():
    pairs = contrasts(10)
    met = pairs[3].of_second.sentence.upper().rstrip(".")
    assert unseen(pairs, ["Something else.", met]) == pairs[:3] + pairs[4:]


def test_always_the_first_noun_is_half_right_and_never_in_a_whole_pair():
    weights = np.array([[0.7, 0.2], [0.2, 0.7]]).reshape(2, 1, 1, 2)
    shares = {name: float(share[0, 0]) for name, share in right_heads(weights).items()}
    assert shares == {
        "pronouns": 0.5, "pronoun_pairs": 0.0, "pronoun_shift": 0.0,
        "pronoun_weight": pytest.approx(0.9),
    }  # fmt: skip


def test_a_head_that_follows_the_last_word_is_right():
    weights = np.array([[0.5, 0.2], [0.4, 0.3]]).reshape(2, 1, 1, 2)
    shares = right_heads(weights)
    assert shares["pronouns"] == shares["pronoun_pairs"] == shares["pronoun_shift"] == 1


@pytest.mark.parametrize(
    ("french", "verdict"),
    [
        ("Le chien a mangé la viande parce qu'il avait faim.", "right"),
        ("Le chien a mangé la viande parce qu'elle avait faim.", "wrong"),
        ("Le chien a mangé la viande par faim.", "other"),
        ("Le chien a mangé le truc parce qu'il avait faim.", "noun unknown"),
    ],
)
def test_the_gender_of_the_french_pronoun(french, verdict):
    item = ContrastSentence("", right="dog", wrong="meat")
    assert gender(french, item) == verdict


def test_nouns_of_one_gender_tell_less():
    item = ContrastSentence("", right="dog", wrong="bread")
    french = "Le chien a mangé le pain parce qu'il avait faim."
    assert gender(french, item) == "alike, right"
