"""How sure a pronoun's head is, and whether the French pronoun agrees with it."""

from types import SimpleNamespace

import pytest

from regard.heads.links import Link
from regard.transformer.accuracy import PronounAccuracy
from regard.transformer.highlight import Highlight, disagreement, reliability, why_shown
from regard.transformer.roles import HeadRoles, Role

JUDGE = {
    "everyday": {
        "sentences": 860,
        "pronouns": {
            "it": {"right": 0.742, "range": [0.702, 0.778]},
            "she": {"right": 0.5375, "range": [0.429, 0.643]},
        },
        "he and she": {"sentences": 160, "right": 0.5438, "range": [0.466, 0.619]},
        "certainty": {
            "sure_from": 0.999,
            "pronouns": {
                "it": {"sure": {"right": 0.865, "range": [0.814, 0.904]},
                       "in doubt": {"right": 0.644, "range": [0.586, 0.698]}},
                "she": {"sure": {"right": 0.53, "range": [0.37, 0.68]},
                        "in doubt": {"right": 0.55, "range": [0.4, 0.68]}},
            },
        },
    },
    "contrast_pairs": {"right": 0.9977, "kinds": {
        "it": {"right": 0.9565, "sentences": 1640}, "it, object": {"right": 0.8, "sentences": 340},
    }},
    "no_antecedent": {"sentences": 64, "weight_on_end": 0.93, "sure_of_a_word": 2},
}  # fmt: skip
TAUGHT = HeadRoles(pronoun_heads=((3, 6),), measured={"pronouns": {"taught": True}, "judge": JUDGE})
IT = "In sentences that people wrote with 'it' it is right in 74 % (95 % range 70 to 78)"
GENERATED = f"{IT}; in generated ones with 'it', in 96 %."
IN_DOUBT = (
    "Here it is in doubt (less than 99.9 % on any one word), and where it is in doubt it is right "
    "in 64 % (59 to 70)."
)


def link(query_word, key_word, query=6, key=1, weight=0.9, head=6):
    return Link("encoder", 3, head, query, key, query_word, key_word, weight, 0.0)


@pytest.mark.parametrize(
    ("pronoun", "weight", "after", "doubt", "accuracy", "brief"),
    [
        ("it", 0.9, "was", "in doubt", f"{GENERATED} {IN_DOUBT}",
         "Then it is right in 64 % of sentences that people wrote."),
        ("It's", 0.98, "hungry", "in doubt", f"{GENERATED} {IN_DOUBT}",
         "Then it is right in 64 % of sentences that people wrote."),
        ("it", 0.9, ".", "in doubt",
         f"{IT}; in generated ones with 'it' as an object, in 80 %. {IN_DOUBT}",
         "Then it is right in 64 % of sentences that people wrote."),
        ("it", 0.995, "was", "in doubt", f"{GENERATED} {IN_DOUBT}",
         "Then it is right in 64 % of sentences that people wrote."),
        ("it", 0.9991, "was", "sure", f"{GENERATED} Here it is sure (99.9 % or more on one word), "
         "and where it is sure it is right in 86 % (81 to 90) of sentences in which 'it' stands "
         "for one of two nouns. Of 64 sentences in which 'it' stands for nothing, it was sure of a "
         "word in 2.",
         "Then it is right in 86 % of sentences that people wrote."),
        ("she", 1.0, "was", "in doubt", "In sentences that people wrote with 'she' it is no better "
         "than chance, 54 % (95 % range 43 to 64). So it is in doubt here, though it puts nearly "
         "everything on one word.",
         "Then it is right in 53 % of sentences that people wrote, no better than chance."),
        ("its", 1.0, "bone", "not measured", "How often it is right with 'its' has not been "
         "measured.", ""),
    ],
)  # fmt: skip
def test_a_taught_head_says_how_often_it_is_right_and_whether_it_is_sure(
    pronoun, weight, after, doubt, accuracy, brief
):
    words = ("A", "dog", "ate", "the", "food", "because", pronoun, after)
    told = reliability(TAUGHT, link(pronoun, "dog", weight=weight), words)
    assert told == {"doubt": doubt, "accuracy": accuracy, "brief": brief}


def test_a_pronoun_that_stands_for_nothing():
    told = reliability(TAUGHT, link("it", "(end)", weight=0.999), ("it",))
    assert told["doubt"] == "sure"
    assert told["accuracy"].endswith("In 64 such sentences it puts 93 % there.")


@pytest.mark.parametrize(
    ("roles", "of"),
    [(TAUGHT, link("it", "dog", head=5)), (TAUGHT, link("cat", "dog")),
     (HeadRoles(pronoun_heads=((3, 6),)), link("it", "dog"))],
    ids=["another head", "no pronoun", "not taught"],
)  # fmt: skip
def test_nothing_is_said_of_what_was_not_judged(roles, of):
    assert reliability(roles, of, ("it",)) == {}


def test_the_sentence_says_sure_or_in_doubt():
    row = (("food", 0.1),)
    assert Highlight(link("it", "dog"), row, "", doubt="in doubt").sentence == (
        "it looks at dog: 90 % in layer 3, head 6; at food: 10 % (in doubt)"
    )
    assert Highlight(link("it", "dog"), (), "", doubt="sure").sentence.endswith(" (sure)")
    assert Highlight(link("its", "dog"), (), "", doubt="not measured").sentence.endswith("head 6")


def test_the_summary_leads_with_what_people_wrote_and_never_says_100_percent():
    accuracy = TAUGHT.accuracy
    assert accuracy.summary.startswith("In 860 sentences that people wrote")
    assert "with 'he' and 'she' no better than chance, 54 % (47 to 62)" in accuracy.summary
    assert "Of 64 sentences in which 'it' stands for nothing, it was sure of a word in 2. In" in (
        accuracy.summary
    )
    assert accuracy.summary.endswith("it is right in over 99 %, all pronouns together.")
    assert accuracy.short == (
        "right in 74 % of sentences that people wrote with 'it', in 54 % with 'he' or 'she'; "
        "in over 99 % of generated ones"
    )


def test_a_model_that_was_judged_on_generated_sentences_alone():
    accuracy = PronounAccuracy.from_measured({"judge": {"contrast_pairs": {"right": 0.9}}})
    assert accuracy.short == "right in 90 % of generated sentences"
    assert accuracy.summary.endswith("on sentences that people wrote it has not been measured.")
    assert accuracy.doubt("it", 1.0) == "not measured"
    assert "has not been measured" in PronounAccuracy().summary


def test_heads_that_were_not_taught_say_so():
    roles = HeadRoles(
        encoder={(3, 6): Role(3, 6, {}, 1.0, pronouns=0.5)}, pronoun_heads=((3, 6), (0, 2))
    )
    assert why_shown(roles, link("it", "dog")) == (
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
