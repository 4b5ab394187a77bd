"""The contrast pairs: enough of them, fair to both nouns, every frame with a reserved verb."""

import re

import pytest

from judge.frames import (
    FRAMES,
    NOUNS,
    RESERVED_VERBS,
    _all,
    contrasts,
    forms,
    plural,
)

PAIRS = [pair for frame in FRAMES for pair in _all(frame)]


def words(sentence):
    return re.findall(r"[\w-]+", sentence.lower())


def test_there_are_enough_and_all_differ():
    pairs = contrasts()
    sentences = [item.sentence for pair in pairs for item in pair.items]
    assert len(pairs) == 1200
    assert len(set(sentences)) == len(sentences) == 2400
    assert len(FRAMES) >= 24
    assert {item.frame for pair in pairs for item in pair.items} == {x.name for x in FRAMES}


def test_each_noun_is_right_once_and_has_its_french():
    for pair in PAIRS:
        first, second = pair.items
        assert (first.right, first.wrong) == (second.wrong, second.right)
        assert set(forms(first.right).values()) <= {"m", "f"}
        assert forms(first.right)
        assert forms(first.wrong)


def test_nouns_and_pronoun_stand_in_the_sentence_once_and_in_this_order():
    for pair in PAIRS:
        item = pair.of_first
        found = words(item.sentence)
        assert [found.count(x) for x in (item.right, item.wrong, item.pronoun)] == [1, 1, 1], item
        order = [found.index(x) for x in (item.right, item.wrong, item.pronoun)]
        assert order == sorted(order), item


def test_the_two_sentences_of_a_pair_differ_in_their_ending_alone():
    for frame in FRAMES:
        assert frame.text.count("{x}") == 1
        assert frame.text.index("{x}") > max(frame.text.index("{a}"), frame.text.index("{b}"))
        assert not set(frame.of_first) & set(frame.of_second)


def test_every_frame_has_a_reserved_verb():
    reserved = {form for verb in RESERVED_VERBS.values() for form in verb}
    for frame in FRAMES:
        text = words(" ".join((frame.text, *frame.of_first, *frame.of_second)))
        assert reserved & set(text), frame.name


def test_half_of_the_pairs_have_nouns_of_different_gender():
    main = [{next(iter(forms(x).values())) for x in (p.of_first.right, p.of_first.wrong)}
            for p in contrasts()]  # fmt: skip
    assert 0.45 < sum(len(x) == 2 for x in main) / len(main) < 0.6


@pytest.mark.parametrize(("pronoun", "least"), [("it", 600), ("they", 180)])
def test_every_pronoun_has_its_share(pronoun, least):
    assert sum(pair.of_first.pronoun == pronoun for pair in contrasts()) >= least


def test_it_is_an_object_in_some():
    assert sum(pair.of_first.of_object for pair in contrasts()) >= 150


def test_every_noun_is_used():
    used = {x for pair in PAIRS for x in (pair.of_first.right, pair.of_first.wrong)}
    # The farmer of one frame is neither of its two nouns, but has to be known as a noun.
    assert {noun for noun in NOUNS if not {noun, plural(noun)} & used} == {"farmer"}
