"""How sure a pronoun's head is, and whether the French pronoun agrees with it."""

from types import SimpleNamespace

import pytest

from regard.heads.links import Link
from regard.transformer.highlight import disagreement, how_sure
from regard.transformer.roles import HeadRoles, Role

JUDGE = {
    "contrast_pairs": {"kinds": {
        "it": {"right": 0.971, "sentences": 1640}, "it, object": {"right": 0.8, "sentences": 340},
    }},
    "by_hand": {"kinds": {"it": {"right": 0.75, "sentences": 40}, "he": {"right": 0.5,
                                                                     "sentences": 8}}},
}  # fmt: skip
TAUGHT = HeadRoles(pronoun_heads=((3, 6),), measured={"pronouns": {"taught": True}, "judge": JUDGE})


def link(query_word, key_word, query=6, key=1):
    return Link("encoder", 3, 6, query, key, query_word, key_word, 0.9, 0.0)


@pytest.mark.parametrize(
    ("pronoun", "key", "after", "measured"),
    [
        ("it", "dog", "was", "measured right in 97 % of 1,640 held-out sentences with it (chance: "
         "50 %) and in 30 of 40 harder ones written by hand"),
        ("It's", "dog", "hungry", "measured right in 97 % of 1,640 held-out sentences with it "
         "(chance: 50 %) and in 30 of 40 harder ones written by hand"),
        ("it", "dog", ".", "measured right in 80 % of 340 held-out sentences with it, object "
         "(chance: 50 %)"),
        ("he", "dog", "was", "measured right in 4 of 8 sentences written by hand"),
        ("its", "dog", "bone", "not measured with its"),
        ("it", "(end)", "(end)", "measured right in 80 % of 340 held-out sentences with it, object "
         "(chance: 50 %); it rests on (end) where it takes a pronoun to stand for nothing"),
    ],
)  # fmt: skip
def test_a_taught_head_says_how_often_it_is_right(pronoun, key, after, measured):
    words = ("A", "dog", "ate", "the", "food", "because", pronoun, after)
    assert how_sure(TAUGHT, link(pronoun, key), words) == (
        f"the head taught, on generated sentences, to put a pronoun on its antecedent; {measured}"
    )


def test_heads_that_were_not_taught_say_so():
    roles = HeadRoles(
        encoder={(3, 6): Role(3, 6, {}, 1.0, pronouns=0.5)}, pronoun_heads=((3, 6), (0, 2))
    )
    assert how_sure(roles, link("it", "dog"), ("it",)) == (
        "the surest of the 2 heads through which a pronoun looks at nouns; none was taught to, and "
        "in measured contrast pairs it leans to the right noun in 50 % (chance: 50 %)"
    )


ENGLISH = ("A", "dog", "ate", "the", "food", "because", "it", "was", "hungry", "(end)")


def reading(french, sources):
    """A reading of ENGLISH whose French words came from these English ones; None: from none."""
    at = [[] if x is None else [ENGLISH.index(x)] for x in sources]
    alignment = SimpleNamespace(source_columns=at.__getitem__)
    return SimpleNamespace(translation_words=tuple(french), alignment=alignment, words=ENGLISH)


SOURCES = ["A", "dog", None, "ate", "the", "food", "because", "because", "it", "was", "hungry"]


@pytest.mark.parametrize(
    ("french", "key", "expected"),
    [
        ("Un chien a mangé la nourriture parce qu' il avait faim", 1, ""),
        ("Un chien a mangé la nourriture parce qu' elle avait faim", 1,
         "the translation disagrees with this head: elle is feminine, chien is masculine"),
        ("Un chien a mangé la nourriture parce qu' il était bon", 4,
         "the translation disagrees with this head: il is masculine, nourriture is feminine"),
        ("Un chien a mangé la nourriture parce qu' elle était bonne", 4, ""),
        ("Un chien a mangé la nourriture parce que c'était bon", 4, ""),
        ("Mon amie a mangé l' xyz parce qu' il avait faim", 1, ""),
        ("Ton chat a mangé l' herbe parce qu' elle avait faim", 1,
         "the translation disagrees with this head: elle is feminine, chat is masculine"),
        ("Un chien a mangé l' herbe parce qu' il était bon", 4,
         "the translation disagrees with this head: il is masculine, herbe is feminine"),
        ("", 1, ""),
    ],
)  # fmt: skip
def test_the_french_pronoun_against_the_noun_of_the_head(french, key, expected):
    words = french.split()
    one = reading(words, SOURCES[: len(words)])
    assert disagreement(one, link("it", ENGLISH[key], key=key)) == expected


def test_the_end_has_no_gender():
    one = reading(["Il", "pleut"], ["it", None])
    assert disagreement(one, link("it", "(end)", key=9)) == ""
