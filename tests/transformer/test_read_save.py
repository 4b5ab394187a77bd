"""regard "..." --save: the ending says what is written, and what cannot be written is one line."""

import json

import pytest

SENTENCE = "A dog ate the food because it was hungry"


STARTS = {"svg": "<svg", "json": "{", "csv": ",", "html": "<!doctype html>"}


@pytest.mark.parametrize("ending", STARTS)
def test_each_ending(run, tmp_path, ending):
    path = tmp_path / f"it.{ending}"
    status, out, error = run(SENTENCE, "--layer", "1", "--head", "2", "--save", str(path))
    assert (status, error) == (0, "")
    assert out.startswith("Layer 1, head 2")
    assert out.endswith(f"Saved as {path}.\n")
    assert path.read_text(encoding="utf-8").startswith(STARTS[ending])


def test_the_word_and_the_kind_that_were_asked_for(run, tmp_path):
    path = tmp_path / "it.svg"
    _, out, _ = run(SENTENCE, "--from", "dog", "--kind", "heatmap", "--save", str(path))
    assert "dog looks at" in out
    assert "<path" not in path.read_text(encoding="utf-8")


def test_tokens(run, tmp_path):
    path = tmp_path / "it.json"
    run("The unknowable dog", "--tokens", "--save", str(path))
    assert any(name.startswith("+") for name in json.loads(path.read_text())["queries"])


def test_json_beside_a_saved_file(run, tmp_path):
    path = tmp_path / "it.json"
    status, out, error = run(SENTENCE, "--json", "--save", str(path))
    assert status == 0
    assert json.loads(out)["sentence"] == SENTENCE
    assert error.endswith(f"Saved as {path}.\n")
    assert json.loads(path.read_text(encoding="utf-8"))["what"] == "weights"


MISTAKES = {
    "kind alone": (("--kind", "lines"), "error: --kind lines needs --save FILE: it says how to"),
    "ending": (("--save", "it.bmp"), "error: a picture's name needs to end in .svg, .png, "),
    "no ending": (("--save", "it"), "error: a picture's name needs to end in .svg, .png, "),
    "kind": (("--save", "it.svg", "--kind", "pie"), "error: kind needs to be 'lines' or 'heatmap'"),
    "folder": (
        ("--save", "/nowhere/it.svg"),
        "error: /nowhere/it.svg cannot be written: its folder does not exist. Make the folder, ",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_one_line_and_status_2(run, mistake):
    arguments, message = mistake
    status, out, error = run(SENTENCE, *arguments)
    assert (status, out) == (2, "")
    assert error.startswith(message)
    assert error.count("\n") == 1
