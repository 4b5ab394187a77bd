"""The contrast pairs and what is counted on them: fair to both nouns, none of them trained on."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module", params=[("contrast", "head_measures")])
def scripts(request):
    """The modules of benchmarks/, imported as the script imports them."""
    sys.path.insert(0, str(BENCHMARKS))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in request.param})
    sys.path.remove(str(BENCHMARKS))
    for name in request.param:
        del sys.modules[name]


@pytest.fixture(scope="module")
def contrast(scripts):
    return scripts.contrast


@pytest.fixture(scope="module")
def measures(scripts):
    return scripts.head_measures


def test_there_are_enough_and_all_differ(contrast):
    sentences = [item.sentence for pair in contrast.contrasts() for item in pair.items]
    assert len(set(sentences)) == len(sentences) >= 600


def test_each_noun_is_right_once_and_has_its_french(contrast):
    for pair in contrast.contrasts():
        first, second = pair.items
        assert (first.right, first.wrong) == (second.wrong, second.right)
        words = first.sentence.lower().split()
        assert words.index(first.right) < words.index(first.wrong) < words.index("it")
        assert set(contrast.forms(first.right).values()) <= {"m", "f"}


def test_pairs_that_were_trained_on_are_left_out(contrast):
    pairs = contrast.contrasts(10)
    met = pairs[3].of_second.sentence.upper().rstrip(".")
    assert contrast.unseen(pairs, ["Something else.", met]) == pairs[:3] + pairs[4:]


def test_always_the_first_noun_is_half_right_and_never_in_a_whole_pair(measures):
    weights = np.array([[0.7, 0.2], [0.2, 0.7]]).reshape(2, 1, 1, 2)
    found = {name: float(share[0, 0]) for name, share in measures.right_heads(weights).items()}
    assert found == {
        "pronouns": 0.5, "pronoun_pairs": 0.0, "pronoun_shift": 0.0,
        "pronoun_weight": pytest.approx(0.9),
    }  # fmt: skip


def test_a_head_that_follows_the_last_word_is_right(measures):
    weights = np.array([[0.5, 0.2], [0.4, 0.3]]).reshape(2, 1, 1, 2)
    found = measures.right_heads(weights)
    assert found["pronouns"] == found["pronoun_pairs"] == found["pronoun_shift"] == 1


@pytest.mark.parametrize(
    ("french", "verdict"),
    [
        ("Le chien a mangé la viande parce qu'il avait faim.", "right"),
        ("Le chien a mangé la viande parce qu'elle avait faim.", "wrong"),
        ("Le chien a mangé la viande par faim.", "other"),
        ("Le chien a mangé le truc parce qu'il avait faim.", "noun unknown"),
    ],
)
def test_the_gender_of_the_french_pronoun(contrast, measures, french, verdict):
    item = contrast.Item("", right="dog", wrong="meat")
    assert measures.gender(french, item) == verdict


def test_nouns_of_one_gender_tell_less(contrast, measures):
    item = contrast.Item("", right="dog", wrong="bread")
    french = "Le chien a mangé le pain parce qu'il avait faim."
    assert measures.gender(french, item) == "alike, right"


def test_usual_shares_are_those_of_the_places(measures):
    weights = np.zeros((1, 1, 4, 4))
    weights[0, 0, [1, 2, 3], [0, 1, 2]] = 1
    weights[0, 0, 0, 0] = 1
    reading = SimpleNamespace(weights=lambda part: weights)
    found = measures.usual_shares([reading], "encoder")
    shares = {name: round(float(share[0, 0]), 3) for name, share in found.items()}
    assert shares == {
        "first": 0.667, "end": 0.0, "same": 0.333, "previous": 1.0, "next": 0.0, "entropy": 0.0,
    }  # fmt: skip
