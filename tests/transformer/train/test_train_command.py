"""regard train, as it is called."""

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")
pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu: pip install 'regard[train]'")

from regard.cli import app_for


def test_the_command_trains_a_model_and_says_where_it_is(toy, tmp_path):
    train, out, valid = toy[0], tmp_path / "out", tmp_path / "valid.tsv"
    valid.write_text("The big dog.\tLe chien grand.\n", encoding="utf-8")
    command = ["train", str(train), "--out", str(out), "--valid", str(valid), "--steps", "3"]
    result = CliRunner().invoke(app_for("train"), [*command, "--size", "tiny", "--device", "cpu"])
    assert result.exit_code == 0, result.output
    assert f"The model is in {out / 'model'}." in result.output.replace("\n", "")
    assert "int8: BLEU" in result.output
    assert (out / "model" / "parameters.safetensors").is_file()
