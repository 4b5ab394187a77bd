"""The gender of the French pronoun, on translations written by hand."""

import pytest

from judge.frames import ContrastSentence
from judge.french_gender import gender, gender_shares, may_differ

DOG_MEAT = ContrastSentence("", right="dog", wrong="meat")
TREES_WALLS = ContrastSentence("", right="girls", wrong="walls", pronoun="they")
LETTER_DRAWER = ContrastSentence("", right="letter", wrong="drawer", of_object=True)
MILK_CUP = ContrastSentence("", right="milk", wrong="cup", of_object=True)
COW_WALL = ContrastSentence("", right="cow", wrong="wall", of_object=True)


@pytest.mark.parametrize(
    ("item", "french", "verdict"),
    [
        (DOG_MEAT, "Le chien a mangé la viande parce qu'il avait faim.", "right"),
        (DOG_MEAT, "Le chien a mangé la viande parce qu'elle avait faim.", "wrong"),
        (DOG_MEAT, "La chienne a mangé la viande parce qu'elle avait faim.", "alike, right"),
        (DOG_MEAT, "Le chien a mangé la viande par faim.", "other"),
        (DOG_MEAT, "Le chien a mangé la viande. C'était bon.", "other"),
        (DOG_MEAT, "Le chien a mangé le truc parce qu'il avait faim.", "noun unknown"),
        (TREES_WALLS, "Les filles se cachent derrière les murs car elles ont peur.", "right"),
        (TREES_WALLS, "Les filles se cachent derrière les murs car ils sont hauts.", "wrong"),
        (TREES_WALLS, "Les filles se cachent derrière les murs car il fait noir.", "other"),
        (LETTER_DRAWER, "J'ai laissé la lettre dans le tiroir et je veux la lire.", "right"),
        (LETTER_DRAWER, "J'ai laissé la lettre dans le tiroir et je veux le lire.", "wrong"),
        (LETTER_DRAWER, "J'ai laissé la lettre dans le tiroir et je veux l'ouvrir.", "other"),
        (LETTER_DRAWER, "J'ai laissé la lettre dans le tiroir, et je la lis.", "right"),
        (LETTER_DRAWER, "La lettre est dans le tiroir.", "other"),
        (MILK_CUP, "Le lait est dans la tasse. Le garçon va le boire.", "right"),
        (MILK_CUP, "Le lait est dans la tasse. Le garçon va la boire.", "wrong"),
        (MILK_CUP, "Le lait est dans la tasse. Le garçon ne la boit pas.", "wrong"),
        (COW_WALL, "La vache se cache derrière le mur et le fermier veut la nourrir.", "right"),
        (COW_WALL, "La vache se cache derrière le mur et le fermier veut le nourrir.", "wrong"),
        (COW_WALL, "La vache se cache derrière le mur et le fermier veut nourrir.", "other"),
    ],
)
def test_the_gender_of_the_french_pronoun(item, french, verdict):
    assert gender(french, item) == verdict


def test_nouns_of_one_gender_tell_less():
    item = ContrastSentence("", right="dog", wrong="bread")
    french = "Le chien a mangé le pain parce qu'il avait faim."
    assert gender(french, item) == "alike, right"
    assert may_differ(DOG_MEAT)
    assert not may_differ(ContrastSentence("", right="bread", wrong="cheese"))


def test_he_and_she_show_nothing_of_the_noun():
    item = ContrastSentence("", right="farmer", wrong="soldier", pronoun="he")
    assert gender("Le fermier aime le soldat parce qu'il est bon.", item) == "not shown"


def test_other_nouns_have_their_own_forms():
    item = ContrastSentence("", right="moon", wrong="sun")
    french = "La lune suit le soleil parce qu'elle est belle."
    known = {"moon": {"lune": "f"}, "sun": {"soleil": "m"}}
    assert gender(french, item) == "noun unknown"
    assert gender(french, item, known.__getitem__) == "right"


def test_shares_of_nothing_are_none():
    verdicts = ["right", "right", "wrong", "alike, wrong", "other"]
    assert gender_shares(verdicts) == {
        "right": 0.5,
        "right_where_genders_differ": 0.6667,
        "sentences_where_genders_differ": 3,
        "counts": {"alike, wrong": 1, "other": 1, "right": 2, "wrong": 1},
    }
    assert gender_shares(["other"])["right_where_genders_differ"] is None
