"""Sentences that teach a head by what would be said next of one of two nouns."""

from collections import Counter

import pytest

from anaphora.preferences import is_reserved
from anaphora.stories import stories, story_pairs
from regard.text.words import split_words
from train.data import NO_TARGET


@pytest.fixture(scope="module")
def told():
    return stories()[:300]


def test_a_pronoun_is_linked_to_the_noun_that_its_clause_is_about(told):
    for story in told:
        nouns = {story.words[i] for i in story.at}
        for pair in story_pairs([story], seed=2, draws=2):
            words, (link,) = split_words(pair.source), pair.links
            assert words[link.query].lower() in story.pronouns
            assert link.first == link.last < link.query
            assert words[link.first] in nouns or words[link.first][0].isupper()
            assert pair.target == NO_TARGET
            of_first = words[link.first] == story.words[story.at[0]]
            ending = " ".join(words[link.query + 1 : -1])
            said = [" ".join(split_words(x)) for x in story.clauses[not of_first]]
            if words[link.first] in nouns:
                assert any(x.endswith(ending) for x in said)


def test_both_nouns_are_meant_equally_often(told):
    meant = Counter()
    for story in told:
        first = story.words[story.at[0]]
        for pair in story_pairs([story], seed=5, draws=4):
            meant[split_words(pair.source)[pair.links[0].first] == first] += 1
    # Equal but for the sentences that were drawn twice, and names that were exchanged.
    assert 0.45 < meant[True] / meant.total() < 0.55


def test_words_out_of_training_are_left_out():
    for story in stories():
        assert not is_reserved([x.lower() for x in story.words])
        assert not any(is_reserved(x.split()) for both in story.clauses for x in both)


def test_some_stories_are_kept_out_of_training():
    kept = sum(x.is_kept_back for x in stories())
    assert 0.05 < kept / len(stories()) < 0.12


def test_the_same_seed_gives_the_same_sentences(told):
    assert story_pairs(told[:20], 3, 4) == story_pairs(told[:20], 3, 4)
    assert story_pairs(told[:20], 3, 4) != story_pairs(told[:20], 4, 4)
