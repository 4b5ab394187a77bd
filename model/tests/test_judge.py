"""One head judged and changed: rows go where they are turned, and nothing else moves."""

import numpy as np
import pytest

from judge.frames import ContrastPair, ContrastSentence
from judge.judge import (
    PronounRow,
    generated_forms,
    judge,
    judge_cells,
    judge_model,
    pronoun_rows,
    without_antecedent,
)
from judge.sentences import MarkedNouns
from regard.transformer import read

HEAD = (1, 2)
DOG = ContrastSentence("A dog ate the food because it was hungry.", "dog", "food")
FOOD = ContrastSentence("A dog ate the food because it was cold.", "food", "dog")
DOGS = ContrastSentence("The dogs drank cold water and they were happy!", "dogs", "water", "they")


def test_rows_are_those_of_a_reading(model):
    for item, row in zip((DOG, DOGS), pronoun_rows(model, (DOG, DOGS), HEAD), strict=True):
        reading = read(item.sentence, model=model)
        query = reading.words.index(item.pronoun)
        expected = reading.weights(layer=1, head=2)[query]
        np.testing.assert_allclose(row.weights_k, expected, atol=1e-6)
        assert row.translation == reading.translation
        assert row.weight(item.right, item.wrong) <= 1 + 1e-6


@pytest.mark.parametrize("turn", ["right", "wrong"])
def test_a_turned_row_has_all_its_weight_on_that_noun(model, turn):
    items = (DOG, DOGS, FOOD)
    for item, row in zip(items, pronoun_rows(model, items, HEAD, turn), strict=True):
        assert row.weight(getattr(item, turn)) == pytest.approx(1, abs=1e-6)


def test_a_row_turned_to_the_end_and_a_head_switched_off(model):
    (end,) = pronoun_rows(model, (DOG,), HEAD, "end")
    assert end.weights_k[-1] == pytest.approx(1)
    (off,) = pronoun_rows(model, (DOG,), HEAD, "off")
    assert not off.weights_k.any()


def test_position_alone_is_right_in_half_and_in_no_pair(model):
    words = ("a", "dog", "ate", "the", "food", "because", "it", "(end)")
    always_dog = PronounRow(words, np.array([0, 0.7, 0, 0, 0.2, 0, 0, 0.1]), "Le chien.")
    pairs = [ContrastPair(DOG, FOOD)]
    figures = judge(model, pairs, HEAD, rows=[always_dog] * 2, most_turned=0)
    assert (figures["right"], figures["pairs_right"], figures["largest_of_the_row"]) == (
        0.5,
        0,
        0.5,
    )
    assert figures["mean_weight"] == {"right noun": 0.45, "wrong noun": 0.45, "(end)": 0.1}
    assert figures["french_pronoun"]["counts"] == {"noun unknown": 2}
    assert figures["changed"] == {"sentences": 0}
    assert "frames" not in figures


def test_the_weight_on_nouns_without_an_antecedent(model):
    sentence = "The dog ate because it was cold."
    figures = without_antecedent(model, [MarkedNouns(sentence, ("dog",))], HEAD)
    reading = read(sentence, model=model)
    row = reading.weights(layer=1, head=2)[reading.words.index("it")]
    assert figures["weight_on_nouns"] == pytest.approx(row[1], abs=1e-4)
    assert figures["weight_on_end"] == pytest.approx(row[-1], abs=1e-4)
    assert figures["sentences"] == 1


def test_the_generators_own_cells(model):
    figures = judge_cells(model, HEAD, 1)
    assert list(figures) == ["frame met, words met", "frame met, words new",
                             "frame new, words met", "frame new, words new"]  # fmt: skip
    assert {x["pairs"] for x in figures.values()} == {1}
    assert generated_forms("girl") == {"fille": "f"}
    assert generated_forms("girls") == {"filles": "f"}
    assert generated_forms("nonsense") == {}


def test_every_text_of_the_judge_is_named(model, monkeypatch):
    from judge import judge as contrast_judge

    monkeypatch.setattr(contrast_judge, "hand_written", lambda: [ContrastPair(DOG, FOOD)])
    monkeypatch.setattr(
        contrast_judge,
        "no_antecedent",
        lambda harder=False: [MarkedNouns("The dog, it was cold.", ("dog",))],
    )
    figures = judge_model(model, [ContrastPair(DOG, FOOD)], HEAD, cell_pairs=1)
    assert figures["head"] == {"layer": 1, "head": 2}
    texts = {name: figures[name]["text"] for name in ("contrast_pairs", "no_antecedent", "by_hand")}
    assert texts["contrast_pairs"].startswith("1 contrast pairs of model/judge/tables/frames.txt")
    assert len({*texts.values(), figures["generator_cells"]["text"]}) == 4
    assert figures["contrast_pairs"]["kinds"]["it"]["sentences"] == 2
    assert [x["stands_for"] for x in figures["by_hand"]["sentences"]] == ["dog", "food"]
    changed = figures["contrast_pairs"]["changed"]
    assert set(changed) == {"sentences", "row turned to right", "row turned to wrong",
                            "row turned to end", "head switched off"}  # fmt: skip
