"""A reading in a terminal: shaded only where there is colour, never wider than it."""

import numpy as np
import pytest

from regard.text.words import TokenizedText
from regard.transformer import Transformer, read
from regard.transformer.combine import Mixed
from regard.view.terminal.reading import Selection, page
from regard.view.terminal.style import TerminalStyle, cells

SENTENCE = "A dog ate the food because it was hungry"


@pytest.fixture(scope="module")
def reading():
    return read(SENTENCE, model=Transformer.random(SENTENCE, layers=2, heads=2, width=16))


def test_colour_only_where_there_is_colour(reading):
    assert "\x1b[48;5;" in page(reading, style=TerminalStyle(colour=True))
    assert "\x1b" not in page(reading)
    assert str(reading) == page(reading)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_paper(reading, width):
    lines = page(reading, Selection(word="it"), TerminalStyle(width=width)).splitlines()
    assert max(map(cells, lines)) <= width


def test_dark_shades_have_light_ink():
    style = TerminalStyle(colour=True)
    assert style.shaded("x", 0.05) == "x"
    assert "38;5;255m" in style.shaded("x", 0.15)
    assert "38;5;16m" in style.shaded("x", 0.95)


def test_narrow_paper_gets_bars(reading):
    assert "#" in page(reading, style=TerminalStyle(width=40))


def test_the_row_that_is_spoken_of_is_marked(reading):
    assert "\n>it " in page(reading, Selection(word="it"))
    assert "\n>dog " in page(reading, Selection(word="dog", by="tokens"))


def test_a_mixed_table_says_what_it_is():
    side = TokenizedText(("a", "b"), ("a", "b"), ("a", "b"), (0, 1))
    mixed = Mixed("mean", "What it is.", side, side, np.array([[0.25, 0.75], [0.004, 0.996]]))
    assert str(mixed).splitlines() == [
        "mean, in %",
        "      a   b",
        " a   25  75",
        " b    . 100",
        "What it is.",
    ]
