"""What the terminal shows: headings, elision, true shapes, 80 columns, no colour in a pipe."""

import numpy as np
import pytest

import regard
from regard.view.terminal.render import Sections, as_text
from regard.view.terminal.steps import (
    Matrix,
    Stage,
    draw_matrix,
    formulas,
    number_form,
    number_text,
)


def numbered(rows: int, columns: int) -> Matrix:
    array = np.arange(rows * columns, dtype=float).reshape(rows, columns)
    return Matrix(
        array, tuple(f"r{i}" for i in range(rows)), tuple(f"c{j}" for j in range(columns))
    )


def steps_of(words: int, width: int, **options) -> regard.Steps:
    random = np.random.default_rng(0)
    x = random.standard_normal((words, width))
    return regard.self_attention(x, *random.standard_normal((3, width, width)), **options)


def test_a_small_table_word_for_word():
    steps = regard.self_attention([[1, 0], [0, 1]], *[np.eye(2)] * 3, words=["yes", "no"])
    assert str(steps).endswith(
        "weights                     yes    no\n"
        "= softmax(scaled):    yes 0.670 0.330\n"
        "each row sums to 1    no  0.330 0.670\n"
        "2 × 2\n"
        "rows are queries,\n"
        "columns are keys\n"
        "\n"
        "output                        0     1\n"
        "= weights · value     yes 0.670 0.330\n"
        "2 × 2                 no  0.330 0.670"
    )


@pytest.mark.parametrize("width", [40, 60, 80, 132])
@pytest.mark.parametrize(("words", "features"), [(1, 1), (3, 512), (40, 8), (200, 64)])
def test_nothing_is_wider_than_the_page(words, features, width):
    text = as_text(steps_of(words, features), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert f"{words} × {features}" in text


def test_wide_and_long_matrices_keep_both_ends():
    text = as_text(steps_of(30, 64), width=80)
    headings = next(line for line in text.splitlines() if line.startswith("x "))
    assert headings.split()[1] == "0"
    assert headings.split()[-1] == "63"
    assert "…" in headings
    assert "\n                      29 " in text


def test_colour_only_where_asked_for(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    steps = steps_of(2, 2)
    assert "\x1b[" in as_text(steps, colour=True)
    assert "\x1b[" not in as_text(steps)


def test_words_are_text_and_never_markup():
    steps = regard.self_attention([[1.0], [2.0]], *[[[1.0]]] * 3, words=["[bold]", ":cat:"])
    assert "[bold]" in str(steps)
    assert ":cat:" in str(steps)


def test_batches_show_each_sentence_and_say_what_is_left_out():
    x = np.ones((6, 2, 8))
    text = str(regard.self_attention(x, *[np.eye(8)] * 3, heads=8))
    assert "sentence 3: 0 1" in text
    assert "sentence 4" not in text
    assert "weights, head 3" in text
    assert " ".join(text.split()).endswith(
        "Not shown: 2 more sentences and 4 more heads; --json or to_dict() has everything."
    )


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ([1.0, -0.0001], ["1.000", "0.000"]),
        ([1234.5678, 1.0], ["1234.57", "1.00"]),
        ([1e7, 1.0], ["1.00e+07", "1.00e+00"]),
        ([1e-5, 0.0], ["1.00e-05", "0.00e+00"]),
        ([0.5, -np.inf], ["0.500", "-inf"]),
    ],
)
def test_one_form_for_a_whole_matrix(numbers, texts):
    form = number_form(np.array([numbers]))
    assert [number_text(number, form) for number in numbers] == texts


def test_formulas_name_what_was_done():
    steps = steps_of(3, 16, heads=4, causal=True, w_output=np.eye(16))
    made = formulas(steps)
    assert made["scaled"] == "scores / √4 (= 2)"
    assert made["weights"] == "softmax(masked): each row sums to 1"
    assert made["output"] == "sums, heads side by side · w_output"


def test_a_stage_draws_its_formula_beside_its_matrix():
    from rich.text import Text

    first = as_text_of(Stage(Text("name\n= formula"), numbered(2, 2))).splitlines()
    assert first[0].split() == ["name", "c0", "c1"]
    assert first[1].split() == ["=", "formula", "r0", "0.000", "1.000"]


def test_in_a_notebook_steps_print_as_text(monkeypatch, capsys):
    """Rich displays by itself and returns nothing where it takes its surroundings for Jupyter."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    plain = str(steps_of(2, 2))
    assert "weights" in plain
    assert capsys.readouterr() == ("", "")


def test_control_characters_are_shown_and_not_sent():
    words = ["a\x1b[2J", "b\x07", "\u202ec"]
    steps = regard.self_attention(np.eye(3), *[np.eye(3)] * 3, words=words)
    text, plain = as_text(steps, colour=True), str(steps)
    assert "a\\x1b[2J" in plain
    assert "\\x07" in plain
    assert all(x.isprintable() or x == "\n" for x in plain)
    assert "\x1b[2J" not in text
    assert "\x07" not in text


def test_sections_line_up():
    drawn = as_text(Sections({"one": {"a": "x"}, "two": {"longer": "y\x1b[0m"}}))
    assert drawn == "one\n  a       x\ntwo\n  longer  y\\x1b[0m"


def as_text_of(stage: Stage) -> str:
    import io

    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=80).print(stage)
    return page.getvalue()


def test_only_the_shown_numbers_of_a_wide_matrix_are_written(monkeypatch):
    """Two thousand words took twelve seconds when every number was written."""
    calls = []

    def counting(number: float, form: str) -> str:
        calls.append(number)
        return number_text(number, form)

    monkeypatch.setattr("regard.view.terminal.steps.number_text", counting)
    names = tuple(str(i) for i in range(2000))
    text = as_text_of(draw_matrix(Matrix(np.eye(2000), names, names), 80))
    assert len(calls) <= 12 * 40
    heading = text.split("\n")[0].split()
    assert (heading[0], heading[6], heading[-1], len(heading)) == ("0", "…", "1999", 13)
