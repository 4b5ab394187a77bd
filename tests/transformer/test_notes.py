"""Notes on what people type, in the words of the shipped model, and where there is none."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from regard import read
from regard.transformer.alignment import Alignment
from regard.transformer.notes import DOUBTFUL_SCORE, left_out, notes
from regard.transformer.reading import read_all, shipped_model
from regard.transformer.translation import source_tokens

BELIEF = "The model does not believe this translation itself: "


def noted(sentence, french="Un chat", score=-0.1, finished=True):
    """The notes on a sentence and a translation that are given."""
    model = shipped_model()
    reading = read("A dog", beams=1)
    source = tuple(source_tokens(model, sentence))
    translated = replace(
        reading.translated, sentence=sentence, text=french, source=source, score=score,
        finished=finished,
    )  # fmt: skip
    from regard.text.words import tokenized_text

    return notes(model, translated, tokenized_text(model.tokenizer, source))


@pytest.mark.parametrize(
    ("sentence", "french", "expected"),
    [
        ("It costs 1,000,000 dollars", "1 000 dollars",
         "The numbers differ: the sentence has '1,000,000', the translation '1 000' instead."),
        ("I am in room 101", "Je suis dans la chambre",
         "The numbers differ: '101' cannot be found in the translation."),
        ("I have 3 cats", "J'ai 3 chats et 4 chiens",
         "The numbers differ: the translation has '4', the sentence has not."),
        ("I cant beleive you", "Je te crois",
         "The model has hardly met 'cant' and 'beleive' (fewer than 5 times in its training): it "
         "guesses what they mean. Check the spelling, or try commoner words."),
        ("idk what to do", "Que faire",
         "The model has hardly met 'idk' (fewer than 5 times in its training): it guesses what it "
         "means. Check the spelling, or try a commoner word."),
        ("I LOVE THIS SONG", "J'adore",
         "Read as 'I love this song': the model hardly knows words in capital letters."),
        ("I love you \u2764\ufe0f", "Je t'aime",
         "Read as 'I love you': training never met \u2764."),
        ("It costs \u00a35", "Cela coûte 5 livres",
         "Read as 'It costs 5 pounds': training never met \u00a3."),
        ("I live in Kakuzen", "J'habite à Kazen",
         "The model has hardly met 'Kakuzen' (fewer than 5 times in its training): it guesses what "
         "it means. Check the spelling, or try a commoner word."),
    ],
)  # fmt: skip
def test_one_note_each(sentence, french, expected):
    assert noted(sentence, french) == (expected,)


@pytest.mark.parametrize(
    ("sentence", "french"),
    [
        ("It costs 1,250.50 dollars at 8 pm", "1 250,50 dollars à 20 h"),
        ("The dog ate the food because it was hungry.", "Le chien"),
        ("I don't think he's coming to the party", "Je ne crois pas"),
        ("Tom isn't going to like it", "Tom"),
        ("We closed at 10 p.m. that night", "à 22 h"),
        ("I bought it at Kakuzen's", "chez Kakuzen"),
    ],
)
def test_ordinary_sentences_have_none(sentence, french):
    assert noted(sentence, french) == ()


@pytest.mark.parametrize(
    ("sentence", "likeliest", "shown"),
    [
        ("Version 3.11.4 is out.", "'3', '11' and '4' instead of '3.11.4'", "3.11.4 est épuisée."),
        ("He was born on 3.11.1987.", "'3', '11' and '1987' instead of '3.11.1987'", "3.11.1987."),
        ("She paid 2,500,000 euros for 3 1/2 acres.", "'3/12' instead of '3 1/2'", "3 1/2 acres."),
    ],
)
def test_a_translation_with_other_numbers_gives_way(sentence, likeliest, shown):
    reading = read(sentence)
    assert reading.translation.endswith(shown)
    assert reading.notes == (
        f"The likeliest translation has {likeliest}: shown is the likeliest one that keeps the "
        "numbers of the sentence.",
    )
    again = reading.rerun(lambda result: result)
    assert (again.translation, again.notes) == (reading.translation, reading.notes)
    assert read_all([sentence])[0].translation == reading.translation
    assert not read("I have 3 cats and one dog.").translated.instead_of


def test_a_translation_that_the_model_does_not_believe():
    below = noted("The dog is here", score=DOUBTFUL_SCORE - 0.01)
    assert [x.startswith(BELIEF) for x in below] == [True]
    assert "a probability of 60 % on average, and below 61 % " in below[0]
    assert noted("The dog is here", score=DOUBTFUL_SCORE + 0.01) == ()
    assert noted("Wonderful!", score=-2.0) == ()  # a word alone has many translations


def test_text_in_another_language_is_not_called_misspelled():
    (only,) = noted("Le chien a mangé la nourriture parce qu'il avait faim.")
    assert only.startswith("This does not look like English")


def test_capitals_are_read_as_the_sentence_in_plain_letters():
    shouted, plain = read("I LOVE THIS SONG"), read("I love this song")
    assert shouted.sentence == "I LOVE THIS SONG"
    assert (shouted.words, shouted.translation) == (plain.words, plain.translation)
    assert shouted.to_dict()["notes"] == list(shouted.notes) != []
    assert plain.notes == ()


def test_a_model_without_a_list_of_words_says_nothing_of_them(model):
    reading = read("A dawg ate teh food.", model=model, beams=1)
    assert not any("hardly met" in note for note in reading.notes)


WORDS = ("They", "walked", "without", "food", "or", "water", ".", "(end)")


def seen(received, sentence="They walked without food or water.", french="Ils marchaient."):
    """What left_out says where each English word is looked at with these weights."""
    weights_qk = np.zeros((2, len(received)))
    weights_qk[1] = received
    return [
        *left_out(
            SimpleNamespace(
                words=(*sentence.rstrip(".").split(), ".", "(end)"),
                sentence=sentence,
                translation=french,
                translation_words=tuple(french.split()),
                model=SimpleNamespace(
                    about={"source": "English"}, roles=SimpleNamespace(alignment_heads=((2, 3),))
                ),
                alignment=Alignment(("Ils", "marchaient"), WORDS, weights_qk, ((2, 3),)),
            )
        )
    ]


def test_a_phrase_that_no_french_word_looks_back_at_is_named():
    assert seen([0.9, 0.9, 0.1, 0.1, 0, 0.19, 0, 1]) == [
        "No French word looks back at 'food or water': the translation seems to leave it out."
    ]
    assert seen([0.9, 0.9, 0, 0.1, 0, 0.21, 0, 1]) == []  # one word alone
    assert seen([0.9, 0.1, 0.9, 0.9, 0, 0.1, 0, 1]) == []


@pytest.mark.parametrize(
    ("sentence", "french", "expected"),
    [
        ("He is not unlikely to win", "Il est peu probable qu'il gagne",
         "The translation has no negation for 'not unlikely': it may say the opposite."),
        ("He is not unlikely to win", "Il n'est pas improbable qu'il gagne", None),
        ("It is not under the table", "Elle se trouve sur la table", None),
        ("word " * 40, "mot", None),
        ("word " * 41, "mot", "This sentence has 41 words: of more than 40 the model often leaves "
         "a part out. Give it in shorter sentences."),
    ],
)  # fmt: skip
def test_negations_and_lengths(sentence, french, expected):
    assert seen([1] * 8, sentence.strip(), french) == ([expected] if expected else [])
