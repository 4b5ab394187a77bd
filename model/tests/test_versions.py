"""Translations of test sets are scored as sacrebleu does, and compared in pairs."""

import json

import pytest
import sacrebleu

from judge.versions import compare, main, table
from train.run import group

ENGLISH = [f"Sentence {i}." for i in range(40)]
FRENCH = [f"Le chat numéro {i} dort dans la grande maison rouge." for i in range(40)]
EXPECTED = group([*zip(ENGLISH, FRENCH, strict=True), (ENGLISH[0], "Un chat dort.")])
WORSE = [x if i % 4 else x.replace("grande maison", "ville") for i, x in enumerate(FRENCH)]


def test_scores_are_those_of_sacrebleu():
    figures = compare({"one": WORSE}, EXPECTED)
    columns = [FRENCH, ["Un chat dort.", *[None] * 39]]
    shown = figures["models"]["one"]
    assert shown["bleu"] == round(sacrebleu.corpus_bleu(WORSE, columns).score, 2)
    assert shown["chrf"] == round(sacrebleu.corpus_chrf(WORSE, columns).score, 2)
    assert (figures["sentences"], figures["references"]) == (40, 41)


def test_the_first_model_is_compared_with_each_other():
    models = compare({"new": FRENCH, "same": FRENCH, "worse": WORSE}, EXPECTED)["models"]
    assert models["same"]["bleu_gained"] == [0, 0, 0]
    difference, low, high = models["worse"]["bleu_gained"]
    assert 0 < low < difference < high
    assert difference == pytest.approx(models["new"]["bleu"] - models["worse"]["bleu"], abs=0.011)
    assert "bleu_gained" not in models["new"]


def test_the_command_names_models_by_checksum_and_needs_sets(folder, tmp_path, capsys):
    arguments = [str(tmp_path), "--model", f"tiny={folder}"]
    assert main(arguments) == 1
    assert "a folder with .tsv files" in capsys.readouterr().err
    (tmp_path / "greetings.tsv").write_text("Go.\tVa.\nHi.\tSalut.\n", encoding="utf-8")
    assert main([*arguments, "--out", str(tmp_path / "figures.json")]) == 0
    assert "greetings, tiny" in capsys.readouterr().out
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert len(figures["models"]["tiny"]) == 8
    assert table(figures).count("\n") == 1
