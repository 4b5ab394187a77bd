"""What is counted on contrast pairs, for all heads."""

import numpy as np
import pytest

from regard.transformer import read
from regard.transformer.contrast import (
    aligned,
    item_facts,
    mean_aligned,
    right_heads,
    rule,
    unseen,
)
from regard.transformer.contrast_frames import ContrastSentence, contrasts


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


def test_facts_are_the_rows_of_the_reading(model):
    item = ContrastSentence("A dog ate the food because it was hungry.", "food", "dog")
    reading = read(item.sentence, model=model)
    facts = item_facts(reading, item)
    weights_lhk = reading.weights()[:, :, 6]
    np.testing.assert_array_equal(facts.weights_lhk, weights_lhk)
    np.testing.assert_array_equal(facts.noun_weights_lhn, weights_lhk[..., [4, 1]])
    nouns = weights_lhk[1, 2, [1, 2, 4]]
    assert rule([facts], ((1, 2),))[0] == {0: -1, 1: 0, 2: 1}[int(nouns.argmax())]


def test_french_nouns_are_sent_back_to_their_english_ones(model):
    from dataclasses import replace

    from regard.transformer.contrast import NounRow

    item = ContrastSentence("A dog ate the food because it was hungry.", "food", "dog")
    facts = item_facts(read(item.sentence, model=model), item)
    right, wrong = np.zeros((3, 4, 9)), np.zeros((3, 4, 9))
    right[..., 4], wrong[..., 1] = 1, 1
    some = [replace(facts, nouns=(NounRow(4, right, wrong), NounRow(4, wrong, right)))]
    assert (aligned(some) == 0.5).all()
    assert (aligned(some, earlier=True) == 0.5).all()
    assert mean_aligned(some, [(0, 0), (1, 1)]) == 0.5
    assert not aligned([replace(facts, nouns=())]).any()
