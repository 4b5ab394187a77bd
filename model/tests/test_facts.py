"""Sentences that teach a head by what is typical of nouns and persons."""

from collections import Counter

import pytest

from anaphora.facts import TABLES, fact_pairs
from regard.text.words import split_words
from train.data import NO_TARGET
from word_tables import read_table

REAL = ["Tom put the kettle on the table.", "My dog chased the bicycle.", "It was the dog's bone.",
        "She sat down on the kitchen table.", "He likes dogs."]  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return fact_pairs(REAL, seed=3, patterns=300)


def test_a_clause_follows_the_noun_that_it_is_typical_of(made):
    clauses = {row[0]: row[2].split("; ") for row in read_table(TABLES / "facts.txt")["facts"]}
    real = [x for x in made if x.source.startswith("Tom put the kettle on the table")]
    assert len(real) > 4
    for pair in real:
        words = split_words(pair.source)
        (link,) = pair.links
        assert words[link.query].lower() == "it"
        noun = words[link.first]
        assert any(x[3:].split()[-1] in pair.source for x in clauses[noun])
        ending = pair.source.lower().removesuffix(".")
        assert any(ending.endswith(x) for x in clauses[noun])


def test_only_sentences_with_two_nouns_are_used(made):
    starts = Counter(next((y for y in REAL if x.source.startswith(y[:12])), "") for x in made)
    assert starts[REAL[0]]
    assert not starts[REAL[2]] + starts[REAL[3]] + starts[REAL[4]]


def test_pronouns_rest_on_both_nouns_equally_often(made):
    first = Counter()
    for pair in made:
        words = [x.lower() for x in split_words(pair.source)]
        (link,) = pair.links
        assert words[link.query] in {"it", "its", "they", "them", "their", "he", "she"}
        assert link.first == link.last < link.query
        assert pair.target == NO_TARGET
        first[words[link.query]] += 1
    assert min(first[x] for x in ("it", "they", "he", "she")) > 50
    starts = Counter(tuple(split_words(x.source)[: x.links[0].first + 1]) for x in made)
    assert max(starts.values()) < len(made) / 20


def test_the_same_seed_gives_the_same_sentences(made):
    assert fact_pairs(REAL, seed=3, patterns=300) == made
