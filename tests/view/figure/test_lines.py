"""The card for sharing: its size, its sentence, its line and its number."""

import struct

import numpy as np
import pytest

import regard
from regard.errors import ArgumentError
from regard.transformer import Transformer
from regard.view.figure.drawing import ACCENT, Box, Curve, Label
from regard.view.figure.lines import ABOUT, strongest_pair
from regard.view.figure.picture import Picture

WORDS = ("A", "dog", "ate", "it")
WEIGHTS = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1],
                    [0.02, 0.83, 0.09, 0.06]])  # fmt: skip


def card(weights=WEIGHTS, words=WORDS, **options) -> Picture:
    return Picture(np.asarray(weights), (words, words), "card", "Layer 3, head 6", **options)


def marks(picture: Picture, kind: type) -> list:
    return [mark for mark in picture.drawing.marks if isinstance(mark, kind)]


def test_sentence_number_and_what_regard_is():
    texts = [label.text for label in marks(card(chosen=(3,)), Label)]
    assert texts == [*WORDS, "83 %", "it looks at dog", "Layer 3, head 6", ABOUT]


def test_the_strongest_line_goes_to_the_word_of_the_number():
    picture = card(chosen=(3,))
    spots = {label.text: (label.x, label.y) for label in marks(picture, Label)[:4]}
    line = marks(picture, Curve)[-1]  # the thickest is drawn last
    assert (line.x, line.to_x, line.colour) == (spots["it"][0], spots["dog"][0], ACCENT)
    assert line.width == pytest.approx(9 * 0.83)
    assert [round(x.width, 2) for x in marks(picture, Curve)] == [1.0, 7.47]  # 2 % is no line


def test_without_a_chosen_word_it_is_the_strongest_pair():
    assert strongest_pair(WEIGHTS) == (3, 1)
    assert card().drawing == card(chosen=(3,)).drawing


def test_1200_by_630_pixels():
    svg = card().svg()
    # 96 pixels an inch, as the web has it.
    assert (317.5 / 25.4 * 96, 166.6875 / 25.4 * 96) == (1200, 630)
    assert 'width="317.5mm" height="166.69mm" viewBox="0 0 900 472.5"' in svg
    pytest.importorskip("matplotlib", reason="a PNG needs matplotlib: pip install '.[picture]'")
    assert struct.unpack(">II", card().content(".png")[16:24]) == (1200, 630)


def test_words_stay_on_the_card_however_many():
    words = tuple(f"word{at}" for at in range(60))
    picture = card(np.full((60, 60), 1 / 60), words)
    for box in marks(picture, Box):
        assert 0 <= box.x <= 900 - box.width
        assert 0 <= box.y <= 330
    with pytest.raises(ArgumentError) as caught:
        _ = card(np.full((600, 600), 1 / 600), tuple(f"word{at}" for at in range(600))).drawing
    assert str(caught.value) == (
        "a card has no room for a sentence of 600 words: use kind='lines' or kind='heatmap'."
    )


def test_a_reading_as_card_and_what_has_none():
    text = "A dog ate the food"
    reading = regard.read(text, model=Transformer.random(text, layers=1, heads=2, width=8))
    picture = reading.picture(0, 1, word="food", kind="card")
    assert "food looks at" in picture.drawing.title
    with pytest.raises(ArgumentError) as caught:
        reading.picture(0, 1, part="cross", kind="card")
    assert str(caught.value) == (
        "a card shows weights within one sentence, but these rows and columns differ or are not "
        "weights: use kind='lines' or kind='heatmap'."
    )
