"""The link most worth showing: the largest weight of its row, and never one shown as 0 %."""

from dataclasses import replace

import numpy as np
import pytest

from regard.display import percent
from regard.transformer import read
from regard.transformer.highlight import MIN_SHOWN_WEIGHT, _pronoun
from regard.transformer.roles import HeadRoles, Role

SENTENCE = "The hungry dog ate the cold food because it was happy."


@pytest.mark.parametrize(
    ("sentence", "pronoun"),
    [
        ("A dog ate the food because it was hungry", "it"),
        ("The dog ate the food; it's hungry", "it's"),
        ("The dogs ate the food since they were hungry", "they"),
        ("The man saw the boy and he was glad", "he"),
        ("The dog ate its food and its bone", "its"),
        ("The dog ate its food because it was hungry", "it"),
        ("It is raining", None),
        ("The cat sat on the mat", None),
    ],
)
def test_the_pronoun_that_is_shown_first(sentence, pronoun):
    words = tuple(sentence.replace(";", " ;").split())
    position = _pronoun(words)
    assert (None if position is None else words[position]) == pronoun


def test_a_head_that_is_asked_for_leads_with_its_largest_weight(model):
    reading = read(SENTENCE, model=model)
    for head in range(model.config.heads):
        shown = reading.highlight("food", layer=1, head=head)
        row = reading.weights(layer=1, head=head)[reading.words.index("food")]
        assert shown.link.weight == row.max()
        assert shown.reason == "the head you asked for"


def test_shown_shares_never_round_to_zero(model):
    roles = HeadRoles(
        encoder={(1, 2): Role(1, 2, {}, 1.0, pronouns=0.5)}, pronoun_heads=((1, 2),),
        measured={"pronouns": {"taught": False}},
    )  # fmt: skip
    reading = read(SENTENCE, model=replace(model, roles=roles))
    for shown in (reading.highlight(word) for word in (None, "dog", "it", "food")):
        assert shown.link.weight >= MIN_SHOWN_WEIGHT
        assert percent(shown.link.weight) not in (percent(0), percent(1e-9))
        assert all(weight >= MIN_SHOWN_WEIGHT for _, weight in shown.others)
        row_k = reading.weights(layer=shown.link.layer, head=shown.link.head)[shown.link.query]
        rest = sorted(np.delete(row_k, shown.link.key), reverse=True)[: len(shown.others)]
        assert [weight for _, weight in shown.others] == pytest.approx(rest)
    told = reading.highlight().to_dict()
    assert told["sentence"] == reading.highlight().sentence
    assert set(told) >= {"weight", "reason", "disagreement"}
