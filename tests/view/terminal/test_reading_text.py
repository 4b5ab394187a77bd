"""A reading on paper: shaded only where there is colour, never wider than the paper."""

import numpy as np
import pytest

from regard.text.words import TokenizedText
from regard.transformer import Transformer, read
from regard.transformer.combine import Mixed
from regard.view.terminal.reading_text import Paper, Wanted, cells, page

SENTENCE = "A dog ate the food because it was hungry"


@pytest.fixture(scope="module")
def reading():
    return read(SENTENCE, model=Transformer.random(SENTENCE, layers=2, heads=2, width=16))


def test_colour_only_where_there_is_colour(reading):
    assert "\x1b[48;5;" in page(reading, paper=Paper(colour=True))
    assert "\x1b" not in page(reading)
    assert str(reading) == page(reading)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_paper(reading, width):
    lines = page(reading, Wanted(word="it"), Paper(width=width)).splitlines()
    assert max(map(cells, lines)) <= width


def test_dark_shades_have_light_ink():
    paper = Paper(colour=True)
    assert paper.shaded("x", 0.05) == "x"
    assert "38;5;255m" in paper.shaded("x", 0.15)
    assert "38;5;16m" in paper.shaded("x", 0.95)


def test_narrow_paper_gets_bars(reading):
    assert "#" in page(reading, paper=Paper(width=40))


def test_the_row_that_is_spoken_of_is_marked(reading):
    assert "\n>it " in page(reading, Wanted(word="it"))
    assert "\n>dog " in page(reading, Wanted(word="dog", by="tokens"))


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
