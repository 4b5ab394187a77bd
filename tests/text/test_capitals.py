"""Words in capitals are read in the letters that the shipped vocabulary knows."""

import pytest

from regard.text.capitals import plain_capitals
from regard.text.subwords import UnigramModel
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
        ("The TV is BROKEN", "The TV is broken"),
        ("THE dog is hungry", "The dog is hungry"),
        ("Do NOT do that", "Do not do that"),
        # Left as they are: abbreviations, single letters, and what has no capitals.
        ("NASA launched a rocket", "NASA launched a rocket"),
        ("He works in IT in the US", "He works in IT in the US"),
        ("Plan B is better", "Plan B is better"),
        ("I", "I"),
        ("A dog ate the food", "A dog ate the food"),
    ],
)
def test_capitals(tokens, given, read):
    assert plain_capitals(given, tokens) == read
