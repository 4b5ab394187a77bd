"""Sentences written by hand: nouns and pronouns are where the marks say, and follow no frame."""

import re

from judge.frames import FRAMES, contrasts
from judge.measure_heads import normal
from judge.sentences import (
    hand_written,
    hand_written_forms,
    no_antecedent,
)


def words(sentence):
    return re.findall(r"[\w-]+", sentence.lower())


def test_it_stands_for_nothing_beside_nouns():
    sentences = no_antecedent()
    assert len({x.sentence for x in sentences}) == len(sentences) >= 60
    for marked in sentences:
        assert "*" not in marked.sentence
        assert words(marked.sentence).count("it") == 1
        assert set(marked.nouns) <= set(words(marked.sentence))
        before = marked.sentence.lower().split(" it ")[0]
        assert any(noun in before for noun in marked.nouns)


def test_there_are_thirty_pairs_by_hand():
    pairs = hand_written()
    assert len(pairs) >= 30
    assert {pair.of_first.pronoun for pair in pairs} == {"it", "they", "he", "she"}
    for item in (item for pair in pairs for item in pair.items):
        text = words(item.sentence)
        assert [text.count(x) for x in (item.right, item.wrong, item.pronoun)] == [1, 1, 1], item
        if item.pronoun in ("it", "they"):
            assert set(hand_written_forms(item.right).values()) <= {"m", "f"}
            assert hand_written_forms(item.right), item


def test_none_of_them_follows_a_frame():
    shapes = [
        re.compile(re.escape(normal(re.sub(r"\{\w\}", "gap", frame.text))).replace("gap", ".+"))
        for frame in FRAMES
    ]
    sentences = [normal(item.sentence) for pair in hand_written() for item in pair.items]
    assert not [x for x in sentences if any(shape.fullmatch(x) for shape in shapes)]
    made = {normal(item.sentence) for pair in contrasts() for item in pair.items}
    assert not made & set(sentences)
    assert any(shape.fullmatch(next(iter(made))) for shape in shapes)
