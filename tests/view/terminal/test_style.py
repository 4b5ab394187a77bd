"""Terminal style: one rule for colour, printable text, widths."""

import sys

import pytest

from regard.view.terminal.style import (
    TerminalStyle,
    cells,
    has_colour,
    pad,
    printable,
    shorten,
    terminal_style,
)


@pytest.fixture
def terminal(monkeypatch):
    """A standard output that is a terminal with colour."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize(
    ("name", "value", "colour"),
    [("NO_COLOR", "1", False), ("NO_COLOR", "", True), ("TERM", "dumb", False)],
)
def test_colour_is_declined_by_one_rule(terminal, monkeypatch, name, value, colour):
    assert has_colour()
    monkeypatch.setenv(name, value)
    assert has_colour() == colour


def test_a_pipe_has_no_colour(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert not has_colour()


def test_the_style_follows_the_terminal(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert terminal_style() == TerminalStyle(100, True)
    monkeypatch.setenv("COLUMNS", "100000")
    assert terminal_style().width == 120


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mangé 犬", "mangé 犬"),
        ("a\x1b]0;title\x07", "a\\x1b]0;title\\x07"),
        ("line\nline\tend", "line line end"),
        ("\u202eevil", "\\u202eevil"),
        ("\udc80", "\\udc80"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown


def test_short_words_are_printable_too():
    assert shorten("\x1b" * 9) == "\\x1b\\x1b\\x1…" == shorten("\x1b" * 9)


def test_padding_counts_columns():
    assert pad("犬", 4) == "犬  "
    assert pad("犬", 4, right=True) == "  犬"


@pytest.mark.parametrize("width", [40, 41, 80])
@pytest.mark.parametrize("text", ["犬 " * 60, "犬" * 120, "a犬" * 90, "犬 looks at dog: 84 % " * 9])
def test_wide_letters_take_two_columns_of_a_line(text, width):
    lines = TerminalStyle(width).wrap(text)
    assert all(cells(line) <= width for line in lines)
    assert cells(lines[0]) >= width - 10
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
