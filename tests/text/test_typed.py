"""What people type is read in the letters that the shipped vocabulary knows."""

import pytest

from regard.text.subwords import UnigramModel
from regard.text.typed import plain_text
from regard.transformer.checkpoint import SHIPPED, TOKENS


@pytest.fixture(scope="module")
def tokens():
    return UnigramModel.from_file(SHIPPED / TOKENS)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("I LOVE THIS SONG", "I love this song"),
        ("THE DOG ATE A BONE. IT WAS HUNGRY!", "The dog ate a bone. It was hungry!"),
        ("I LIVE IN PARIS, NOT IN THE USA", "I live in Paris, not in the USA"),
        ("I'M HERE AND I DON'T CARE", "I'm here and I don't care"),
        ("WE HAVE 2 DOGS", "We have 2 dogs"),
        ("IT IS FAR FROM THE US TO US", "It is far from the US to us"),
        ("The TV is BROKEN", "The TV is broken"),
        ("THE dog is hungry", "The dog is hungry"),
        ("Do NOT do that", "Do not do that"),
        ("wHat ArE yOu DoInG", "what are you doing"),
        ("tHe sQuIrReLs aRe hErE", "the squirrels are here"),
        # Left as they are: abbreviations, single letters, and what has no capitals.
        ("NASA launched a rocket", "NASA launched a rocket"),
        ("He works in IT in the US", "He works in IT in the US"),
        ("Plan B is better", "Plan B is better"),
        ("I", "I"),
        ("A dog ate the food", "A dog ate the food"),
        ("My iPhone, JavaScript and McDonald", "My iPhone, JavaScript and McDonald"),
        # Signs that the vocabulary lacks.
        ("I love you \u2764\ufe0f\U0001f602", "I love you"),
        ("Good \U0001f44d\U0001f3fd job!", "Good job!"),
        ("It cost \u00a31,250.50.", "It cost 1,250.50 pounds."),
        ("I paid \u00a32 million in 20 \u00b0C", "I paid 2 million pounds in 20 \u00b0C"),
        ("\U0001f602", "\U0001f602"),
        ("It costs 5 \u20ac", "It costs 5 \u20ac"),
    ],
)
def test_what_is_typed(tokens, given, read):
    assert plain_text(given, tokens) == read
