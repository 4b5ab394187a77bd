"""Sentences that teach a head by what is said of nouns: links, groups, words kept out, no loss."""

import pytest

from anaphora import preferences
from anaphora.nouns import NOUNS, TEST_ACTIONS, TEST_NOUNS
from anaphora.predicates import ADJECTIVES
from anaphora.preferences import preference_pairs
from grammar.english import participle
from judge.frames import OBJECT_VERBS, RESERVED_VERBS
from regard.text.words import split_words
from train.data import (
    NO_TARGET,
)

ANIMALS = ("dog", "puppy", "wolf", "fox", "lion", "bear")
THINGS = ("door", "window", "box", "drawer", "gate", "bottle")
TEXT = [
    *(f"The {x} was barking at me all night." for x in ANIMALS),
    *(f"I have just opened the {x} with a key." for x in THINGS),
    *(f"The {x}s were barking." for x in ANIMALS),
    *(f"Tom opened the {x}s yesterday." for x in THINGS if x not in ("box", "wolf")),
]


@pytest.fixture(scope="module")
def made():
    return preference_pairs(TEXT, seed=3)


def test_the_pronoun_stands_for_the_noun_of_the_real_sentence(made):
    assert len(made) > 60
    for pair in made:
        words = [word.lower() for word in split_words(pair.source)]
        (link,) = pair.links
        kind = ANIMALS if "barking" in words else THINGS
        singular = {x.english_plural: x.english for x in NOUNS.values()}
        antecedent = words[link.first]
        assert link.first == link.last
        assert singular.get(antecedent, antecedent) in kind
        number = ("they", "them") if antecedent in singular else ("it",)
        assert words[link.query] in number
        assert pair.target == NO_TARGET


def test_the_noun_beside_it_is_of_another_group(made):
    """A group of which the same is said would leave the pronoun undecided."""
    for pair in made:
        words = [word.lower() for word in split_words(pair.source)]
        living = set(ANIMALS if "opened" in words else ())
        assert living.isdisjoint(words[pair.links[0].query :])
    sentences = {pair.source for pair in made}
    assert len(sentences) == len(made)


def test_the_same_seed_gives_the_same_sentences():
    assert preference_pairs(TEXT, seed=5) == preference_pairs(TEXT, seed=5)
    assert preference_pairs(TEXT, seed=5) != preference_pairs(TEXT, seed=6)


@pytest.mark.parametrize(
    "sentence",
    [
        "The dog was chasing the car.",  # a verb of the judge
        "The dog was hungry because Tom repairs the car.",  # of which a pronoun is the object there
        "The goat was barking at me.",  # a noun that is kept out of training
        "The dog was coughing all night.",  # a phrase that is
        "The dog saw it in the garden.",  # a pronoun already
        "The dog barked, and I was happy.",
        "Was the dog barking at me?",
    ],
)
def test_sentences_that_are_left_out(sentence):
    assert preferences._statements(sentence) == []


def test_no_sentence_with_a_word_that_is_kept_out_is_used():
    for adjective in (x for x in ADJECTIVES if not x.in_training):
        assert preferences._statements(f"The dog was {adjective.english}.") == [], adjective
    forms = {form for verb in RESERVED_VERBS.values() for form in verb}
    forms |= {*OBJECT_VERBS, *map(participle, OBJECT_VERBS - set(RESERVED_VERBS)), *TEST_ACTIONS}
    forms |= {"woke", "woken", "drove", "driven", "rebuilt", "stroking", "publishes"}
    for form in forms:
        assert preferences._statements(f"The dog was very {form}.") == [], form
    for noun in TEST_NOUNS:
        assert preferences._statements(f"The dog saw the {noun}.") == [], noun
    assert len(preferences._statements("The dog was tired.")) == 1
