"""regard worksheet, as a user meets it."""

import json
from pathlib import Path

import pytest

from regard.cli import main

MATRICES = {"w_query": [[1]], "w_key": [[1]], "w_value": [[1]]}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Status, what was printed, and what was said on the error line."""
    with pytest.raises(SystemExit) as left:
        main(["worksheet", *arguments])
    printed = capsys.readouterr()
    return left.value.code or 0, printed.out, printed.err


def test_a_sentence_becomes_a_file(capsys, tmp_path):
    path = tmp_path / "sheet.html"
    status, out, err = run(capsys, "I am good", "--save", str(path))
    assert (status, err) == (0, "")
    said = f"Wrote {path}: 21 blanks, with its key. Open it in a browser and print it."
    assert " ".join(out.split()) == said
    html = path.read_text(encoding="utf-8")
    assert "<h1>Key</h1>" in html
    assert "who looks at whom means nothing" in html


def test_the_key_can_be_left_out(capsys):
    _, html, _ = run(
        capsys, "--example", "robots", "--no-answers", "--out", "-"
    )  # the earlier spelling
    assert html.startswith("<!DOCTYPE html>")
    assert "<h1>Key</h1>" not in html


def test_a_head_of_the_shipped_model(capsys):
    _, html, _ = run(capsys, "I am good", "--head", "4.1", "--save", "-")
    assert "layer 4, head 1 of the shipped model" in html
    assert run(capsys, "I am good", "--layer", "4", "--head", "1", "--save", "-")[1] == html


def test_own_numbers_and_every_row(capsys):
    robots = Path(__file__).parents[2] / "examples" / "robots.toml"
    _, html, _ = run(capsys, "--vectors", str(robots), "--all", "--save", "-")
    assert html.count('class="box"') == 5 * 29


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [],
            "error: worksheet takes one of: a sentence, --example NAME, --vectors FILE; try regard "
            'worksheet "I am good".',
        ),
        (
            ["--example", "all"],
            "error: --example must be one of robots, good, cat, got 'all'.",
        ),
        (
            ["I am good", "--layer", "4"],
            "error: worksheet needs a layer and a head, such as --head 3.6.",
        ),
        (
            ["a b", "--word", "b", "--all"],
            "error: worksheet takes --word or --all, not both.",
        ),
        (
            ["a b", "--save", "sheet.pdf"],
            "error: --save must end in .html or .htm, got 'sheet.pdf'.",
        ),
        (
            ["a b", "--save", "absent/sheet.html"],
            "error: absent/sheet.html cannot be written: its folder does not exist. Make the "
            "folder, or choose another path.",
        ),
        (
            ["I am good", "--word", "bad"],
            "error: row must be one of the words I, am, good, got 'bad'.",
        ),
    ],
    ids=["nothing", "all examples", "half a head", "both", "ending", "folder", "no such word"],
)
def test_wrong_options_are_one_line(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *arguments) == (2, "", message + "\n")


@pytest.mark.parametrize("options", [[], ["--head", "3.6"]], ids=["by hand", "of the model"])
def test_words_are_counted_before_anything_is_computed(capsys, monkeypatch, options):
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr("regard.view.worksheet.worksheet.self_attention", computed)
    monkeypatch.setattr("regard.transformer.reading.read", computed)
    message = "a worksheet has room for 12 words, got 30000: choose a shorter sentence."
    arguments = ["word " * 30_000, *options, "--save", "-"]
    assert run(capsys, *arguments) == (2, "", f"error: {message}\n")


def test_words_of_a_sheet_are_counted_before_anything_is_computed(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("regard.cli.steps.self_attention", None)
    sheet = {"words": ["a"] * 13, "x": [[1]] * 13, **MATRICES}
    (tmp_path / "own.json").write_text(json.dumps(sheet))
    message = "a worksheet has room for 12 words, got 13: choose a shorter sentence."
    arguments = ["--vectors", str(tmp_path / "own.json"), "--save", "-"]
    assert run(capsys, *arguments) == (2, "", f"error: {message}\n")


def test_control_characters_of_words_are_printed_as_escapes(capsys, tmp_path):
    sheet = {"words": ["a\x1b[2Jb", "c\x9b"], "x": [[1], [2]], **MATRICES}
    (tmp_path / "own.json").write_text(json.dumps(sheet))
    status, out, _ = run(capsys, "--vectors", str(tmp_path / "own.json"), "--out", "-")
    assert status == 0
    assert r"a\x1b[2Jb" in out
    assert r"c\x9b" in out
    assert not {"\x1b", "\x9b"} & set(out)
