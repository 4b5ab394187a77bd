"""Function words: content words told from them, and text in another language noticed."""

import pytest

from regard.text.english import foreign_words, is_content
from regard.transformer.contrast import sentences_of
from regard.transformer.contrast_frames import contrasts

FOREIGN = {
    "French": "Le chien a mang\u00e9 la nourriture parce que il avait faim .",
    "German": "Der Hund hat das Essen gefressen , weil er hungrig war .",
    "Spanish": "El perro se comi\u00f3 la comida porque ten\u00eda hambre .",
    "Italian": "Il cane non ha mangiato il cibo che era per la festa .",
    "Portuguese": "O c\u00e3o n\u00e3o comeu a comida porque uma menina a levou .",
    "Dutch": "De hond heeft het eten niet op , maar de kat wel .",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_other_languages_are_noticed(text):
    assert len(foreign_words(text.split())) >= 2


def test_english_is_never_taken_for_another_language():
    for item in sentences_of(contrasts(400)):
        assert foreign_words(item.sentence.rstrip(".").split()) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Smart robots perform complex tasks",
        "Colorless green ideas sleep furiously",
        "Los Angeles",
        "Leonardo da Vinci",
        "Don Juan de la Vega was an actor in the film",
        "The van did not stop",
    ],
)
def test_names_and_short_texts_do_not_count_as_foreign(text):
    assert foreign_words(text.split()) == ()


def test_content_words():
    words = ["A", "dog", "ate", "the", "food", ",", "(end)"]
    assert [x for x in words if is_content(x)] == ["dog", "ate", "food"]
