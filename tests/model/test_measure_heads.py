"""Heads measured and written beside the model, so that its readings know their roles."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from judge import judge as contrast_judge
from judge.measure_heads import main, taught_head, usual_shares
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
        monkeypatch.setattr(contrast_judge, name, lambda few=few: few)


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
