"""Heads measured on contrast pairs and written to heads.json, so that readings know their roles."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from judge import everyday
from judge import judge as contrast_judge
from judge.frames import ContrastSentence, contrasts
from judge.measure_heads import (
    aligned,
    item_facts,
    main,
    mean_aligned,
    right_heads,
    rule,
    taught_head,
    unseen,
    usual_shares,
)
from regard.transformer import load_model, read
from regard.transformer.roles import HEADS


def test_usual_shares_are_those_of_the_relative_positions():
    weights = np.zeros((1, 1, 4, 4))
    weights[0, 0, [1, 2, 3], [0, 1, 2]] = 1
    weights[0, 0, 0, 0] = 1
    reading = SimpleNamespace(weights=lambda part: weights)
    measured = usual_shares([reading], "encoder")
    shares = {name: round(float(share[0, 0]), 3) for name, share in measured.items()}
    assert shares == {
        "first": 0.667, "end": 0.0, "same": 0.333, "previous": 1.0, "next": 0.0, "entropy": 0.0,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch):
    """The untrained model translates to the limit of every sentence: two of a kind are enough."""
    for name in ("hand_written", "no_antecedent"):
        few = getattr(contrast_judge, name)()[:1]
        monkeypatch.setattr(contrast_judge, name, lambda few=few, **_: few)
    for name in ("everyday_pairs", "number_sentences"):
        few = getattr(everyday, name)()[:1]
        monkeypatch.setattr(everyday, name, lambda few=few, **_: few)


@pytest.fixture
def own_folder(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_the_command_writes_what_a_model_is_loaded_with(own_folder, capsys):
    valid = own_folder / "valid.tsv"
    valid.write_text("the dog ate the food because it was\tle chien\n" * 2, encoding="utf-8")
    assert main([str(own_folder), "--valid", str(valid), "--pairs", "4", "--cells", "0"]) == 0
    assert capsys.readouterr().out.endswith(f"written to {own_folder / HEADS}\n")
    measured = json.loads((own_folder / HEADS).read_text(encoding="utf-8"))
    assert (measured["sentences"], measured["pronouns"]["pairs"]) == (1, 4)
    assert measured["judge"]["head"] == measured["pronouns"]["heads"][0]
    assert measured["judge"]["contrast_pairs"]["pairs"] == 4
    assert (measured["judge"]["everyday"]["pairs"], measured["numbers"]["sentences"]) == (1, 1)
    roles = load_model(own_folder).roles
    assert len(roles.encoder) == len(roles.cross) == 12
    assert read("the dog ate", model=load_model(own_folder)).links("dog").links[0].role


def test_the_taught_heads_of_the_recipe_are_the_pronoun_head_and_the_alignment_head(own_folder):
    recipe = '[[taught]]\npart = "cross"\nlayer = 0\nhead = 1\nof = "alignment"\n'
    (own_folder / "recipe.toml").write_text(recipe, encoding="utf-8")
    assert (taught_head(own_folder), taught_head(own_folder, "alignment")) == (None, (0, 1))
    recipe += '[[taught]]\npart = "encoder"\nlayer = 2\nhead = 3\nof = "anaphora"\n'
    (own_folder / "recipe.toml").write_text(recipe, encoding="utf-8")
    assert main([str(own_folder), "--pairs", "2", "--cells", "0"]) == 0
    measured = json.loads((own_folder / HEADS).read_text(encoding="utf-8"))
    assert measured["pronouns"]["taught"] is True
    assert measured["judge"]["head"] == {"layer": 2, "head": 3}
    assert measured["alignment"]["taught"] is True
    roles = load_model(own_folder).roles
    assert (roles.pronoun_heads, roles.alignment_heads) == (((2, 3),), ((0, 1),))


def test_pairs_of_the_training_text_are_left_out(own_folder, capsys):
    from judge.frames import contrasts

    training = own_folder / "training.tsv"
    sentence = contrasts(3)[1].of_first.sentence
    training.write_text(f"{sentence}\tune phrase\n", encoding="utf-8")
    assert main([str(own_folder), "--pairs", "3", "--cells", "0", "--training", str(training)]) == 0
    measured = json.loads((own_folder / HEADS).read_text(encoding="utf-8"))
    assert measured["pronouns"]["pairs"] == 2
    assert measured["text"] == "the contrast sentences"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/nothing"], "error: {}/nothing/heads.json cannot be written: its folder does not"),
        (["{}", "--valid", "{}/none.tsv"], "error: training needs the file {}/none.tsv, but it is"),
    ],
    ids=["no model", "no file"],
)
def test_what_is_missing_is_named(own_folder, capsys, arguments, message):
    assert main([x.format(own_folder) for x in arguments]) == 1
    assert capsys.readouterr().err.startswith(message.format(own_folder))


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
    weights_lhk = reading.weights(part="encoder")[:, :, 6]
    np.testing.assert_array_equal(facts.weights_lhk, weights_lhk)
    np.testing.assert_array_equal(facts.noun_weights_lhn, weights_lhk[..., [4, 1]])
    nouns = weights_lhk[1, 2, [1, 2, 4]]
    assert rule([facts], ((1, 2),))[0] == {0: -1, 1: 0, 2: 1}[int(nouns.argmax())]


def test_french_nouns_are_sent_back_to_their_english_ones(model):
    from dataclasses import replace

    from judge.measure_heads import NounRow

    item = ContrastSentence("A dog ate the food because it was hungry.", "food", "dog")
    facts = item_facts(read(item.sentence, model=model), item)
    right, wrong = np.zeros((3, 4, 9)), np.zeros((3, 4, 9))
    right[..., 4], wrong[..., 1] = 1, 1
    some = [replace(facts, nouns=(NounRow(4, right, wrong), NounRow(4, wrong, right)))]
    assert (aligned(some) == 0.5).all()
    assert (aligned(some, earlier=True) == 0.5).all()
    assert mean_aligned(some, [(0, 0), (1, 1)]) == 0.5
    assert not aligned([replace(facts, nouns=())]).any()
