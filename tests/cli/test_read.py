"""The command: a page for people, JSON for programs, one line for what cannot be read."""

import io
import json

import pytest

from regard.cli import main
from regard.transformer.checkpoint import SHIPPED

SENTENCE = "A dog ate the food because it was hungry"


def test_a_sentence_gets_a_page_that_fits_a_pipe(run):
    status, out, _ = run(SENTENCE)
    assert status == 0
    assert out.startswith(SENTENCE)
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert "it looks at " in out
    assert "Attention is evidence, not explanation" in out


def test_the_head_that_was_asked_for_is_shown(run):
    _, out, _ = run(SENTENCE, "--layer", "2", "--head", "1", "--from", "dog")
    assert "dog looks at" in out
    assert "Layer 2, head 1, in %: row looks at column" in out


def test_tokens_are_shown_when_asked_for(run):
    _, out, _ = run("The unknowable dog", "--tokens")
    assert "+" in out.split("in %")[1]


def test_json_is_strict_and_whole(run):
    _, out, _ = run(SENTENCE, "--json")
    told = json.loads(out)
    assert told["sentence"] == SENTENCE
    assert len(told["weights"]["encoder"]) == 3
    assert told["words"][-1] == "(end)"


def test_weights_are_shown_times_what_they_carry(run):
    status, out, _ = run(SENTENCE, "--weighted", "norm")
    assert status == 0
    assert "norm-weighted (weight times the length of what it carries)" in " ".join(out.split())
    _, plain, _ = run(SENTENCE, "--json")
    _, weighted, _ = run(SENTENCE, "--json", "--weighted", "norm")
    assert json.loads(weighted)["weighted"] == "norm"
    assert json.loads(weighted)["weights"] != json.loads(plain)["weights"]


def test_a_long_sentence_becomes_bars(run):
    _, out, _ = run("the cold water was good and " * 6 + "it was happy")
    assert max(map(len, out.splitlines())) <= 80
    assert "#" in out


MISTAKES = {
    "nothing": (("\n",), "error: a sentence must have at least one word"),
    "no such word": (
        (SENTENCE, "--from", "cat"),
        "error: the word must be one of the words read, got 'cat'",
    ),
    "no such layer": ((SENTENCE, "--layer", "3"), "error: layer must be a number from 0 to 2"),
    "head alone": ((SENTENCE, "--head", "0"), "error: head needs a layer"),
    "too long": (("dog " * 10_000,), "error: a sentence must have at most 256 tokens"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_one_line_and_status_2(run, mistake):
    arguments, message = mistake
    status, out, error = run(*arguments)
    assert (status, out) == (2, "")
    assert error.startswith(message)
    assert error.count("\n") == 1


STARTS = {"svg": "<svg", "json": "{", "csv": ",", "html": "<!doctype html>"}


@pytest.mark.parametrize("ending", STARTS)
def test_each_ending_is_saved_as_what_it_says(run, tmp_path, ending):
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


def test_tokens_are_saved(run, tmp_path):
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


SAVING_MISTAKES = {
    "kind alone": (
        ("--kind", "lines"),
        "error: --kind lines applies to a saved picture: add --save FILE.",
    ),
    "ending": (("--save", "it.bmp"), "error: a picture's file name must end in .svg, .png, "),
    "no ending": (("--save", "it"), "error: a picture's file name must end in .svg, .png, "),
    "kind": (
        ("--save", "it.svg", "--kind", "pie"),
        "error: kind must be 'lines', 'heatmap' or",
    ),
    "folder": (
        ("--save", "absent/it.svg"),
        "error: absent/it.svg cannot be written: its folder does not exist. Make the folder, ",
    ),
}


@pytest.mark.parametrize("mistake", SAVING_MISTAKES.values(), ids=SAVING_MISTAKES)
def test_mistakes_in_saving_are_one_line_and_status_2(run, mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, message = mistake
    status, out, error = run(SENTENCE, *arguments)
    assert (status, out) == (2, "")
    assert error.startswith(message)
    assert error.count("\n") == 1


def run_shipped(capsys, *arguments):
    with pytest.raises(SystemExit) as leaving:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(leaving.value.code or 0), captured.out, captured.err


def test_the_page_is_that_of_the_command_with_options(capsys):
    plain = run_shipped(capsys, SENTENCE)
    assert plain == run_shipped(capsys, "read", SENTENCE)
    assert plain == run_shipped(capsys, SENTENCE, "--model", str(SHIPPED))
    assert plain[0] == 0


@pytest.mark.parametrize("sentence", ["", "   ", "word " * 300], ids=["empty", "blank", "long"])
def test_the_errors_are_those_of_the_command_with_options(capsys, sentence):
    plain = run_shipped(capsys, "read", sentence)
    assert plain == run_shipped(capsys, sentence, "--model", str(SHIPPED))
    assert plain[:2] == (2, "")
    assert plain[2].startswith("error: a sentence must have at ")


@pytest.mark.parametrize("argument", ["inf", "chekc", "worksheets", "check it", "surveyed"])
def test_a_misspelled_command_is_no_sentence(capsys, argument):
    status, _, error = run_shipped(capsys, argument)
    assert status == 2
    assert f"error: there is no command {argument!r}; did you mean" in error


def test_an_option_alone_is_refused_as_one(capsys):
    status, _, error = run_shipped(capsys, "--nonsense")
    assert status == 2
    assert "No such option: --nonsense" in error


def test_a_hyphen_reads_the_sentence_from_the_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{SENTENCE}\n".encode())))
    assert run("-") == run(SENTENCE)


@pytest.mark.parametrize(("content", "message"), [
    (b"", "a sentence must have at least one word"),
    (b"caf\xe9", "the standard input must be text in UTF-8."),
    (b"dog " * 2**20, "the standard input must be a sentence, got more than 1,048,576 bytes."),
], ids=["empty", "latin-1", "endless"])  # fmt: skip
def test_a_standard_input_that_is_no_sentence(run, monkeypatch, content, message):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    status, out, err = run("-")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {message}")
