"""The everyday pairs as they were set aside, and shares with ranges as worked out by hand."""

import json
import re
from collections import Counter

import numpy as np
import pytest

from judge import everyday
from judge.everyday import everyday_pairs, main, measure_everyday, number_sentences, wilson
from judge.frames import ContrastPair, ContrastSentence, all_sentences
from judge.judge import PronounRow

WORDS = ("a", "dog", "ate", "the", "food", "because", "it", "was", "(end)")
DOG = ContrastSentence("A dog ate the food because it was hungry.", "dog", "food", frame="word")
FOOD = ContrastSentence("A dog ate the food because it was cold.", "food", "dog", frame="word")


def row(dog, food):
    weights = np.zeros(len(WORDS))
    weights[[1, 4, 8]] = dog, food, 1 - dog - food
    return PronounRow(WORDS, weights, "")


def test_what_was_set_aside():
    pairs = everyday_pairs()
    assert Counter((x.of_first.pronoun, x.of_first.frame) for x in pairs) == {
        **{("it", kind): 50 for kind in ("word", "phrase", "part", "acting", "mixed")},
        ("they", "things"): 50, ("they", "people"): 50, ("he", "person"): 40, ("she", "person"): 40,
    }  # fmt: skip
    for item in all_sentences(pairs):
        words = re.findall(r"[\w'-]+", item.sentence.lower())
        assert [words.count(x) for x in (item.right, item.wrong, item.pronoun)] == [1, 1, 1]
    sentences = number_sentences()
    assert len(set(sentences)) == 500
    assert all(re.search(r"\d", x) for x in sentences)


@pytest.fixture
def measured(model, monkeypatch):
    """Four pairs: both right and sure, one of two right, both right in doubt, both wrong."""
    rows = [row(1, 0), row(0, 1), row(0.6, 0.3), row(0.6, 0.3),
            row(0.7, 0.2), row(0.1, 0.4), row(0, 1), row(1, 0)]  # fmt: skip
    monkeypatch.setattr(everyday, "everyday_pairs", lambda: [ContrastPair(DOG, FOOD)] * 4)
    monkeypatch.setattr(everyday, "pronoun_rows", lambda *given, **options: rows)
    return measure_everyday(model, (1, 2))


def test_shares_of_sentences_and_of_pairs(measured):
    assert (measured["pairs"], measured["sentences"]) == (4, 8)
    assert (measured["right"], measured["pairs_right"]) == (5 / 8, 1 / 2)
    assert measured["largest_of_the_row"] == 4 / 8  # (end) has the most once
    assert measured["pronouns"]["it"] == measured["kinds"]["it, word"]
    assert measured["he and she"] == {"sentences": 0}


def test_sure_is_99_percent_on_one_word(measured):
    certainty = measured["certainty"]
    assert (certainty["sure"]["sentences"], certainty["in doubt"]["sentences"]) == (4, 4)
    assert (certainty["sure"]["right"], certainty["in doubt"]["right"]) == (0.5, 0.75)
    assert certainty["pronouns"]["it"]["sure"] == certainty["sure"]


def test_two_sentences_of_a_pair_that_fail_together_count_less(measured):
    # The four sure sentences are two pairs, one all right and one all wrong: two cases, not four.
    assert measured["certainty"]["sure"]["range"] == wilson(0.5, 2)


def test_the_range_at_the_edges():
    assert wilson(1.0, 20) == pytest.approx([20 / (20 + everyday.Z**2), 1], abs=1e-4)
    assert wilson(0.0, 20)[0] == 0


def test_the_command_measures_the_model_of_a_folder(folder, monkeypatch, capsys):
    sentences = ["The dog ate 3 dogs."]
    monkeypatch.setattr(everyday, "everyday_pairs", lambda: [ContrastPair(DOG, FOOD)])
    monkeypatch.setattr(everyday, "number_sentences", lambda: sentences)
    assert main([str(folder), "--head", "1.2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["everyday"]["head"] == {"layer": 1, "head": 2}
    assert printed["numbers"]["copied"] == 0
    assert main([str(folder), "--head", "1.2"]) == 0
    assert "numbers copied" in capsys.readouterr().out
    assert main([str(folder / "missing")]) == 1
    assert "missing" in capsys.readouterr().err
