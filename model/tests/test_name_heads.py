"""Heads are named by what they do more than chance, from planted weights."""

from types import SimpleNamespace

import numpy as np
import pytest

from judge.name_heads import ENGLISH, FRENCH, MIN_QUERIES, behaviour, behaviours, kinds

SENTENCE = "I saw the old dog and she ate a big cake in the garden . (end)"
WORDS = tuple(SENTENCE.split())
TRANSLATION = "(start) Je vis le chien et elle mangea un gâteau ."
FRENCH_WORDS = tuple(TRANSLATION.split())
SOURCES = [[0], [1], [2], [4], [5], [6], [7], [8], [10], [14]]  # of each French word


def planted(part, keys_qk, rest=0.5):
    """One head that puts half on the resting key and half on these keys; on all, without any."""
    queries = len(WORDS if part == "encoder" else FRENCH_WORDS)
    keys = len(FRENCH_WORDS if part == "decoder" else WORDS)
    weights_qk = np.zeros((queries, keys))
    for row in range(queries):
        looks = keys_qk.get(row) or range(1, row + 1 if part == "decoder" else keys)
        for key in looks:
            weights_qk[row, key] += (1 - rest) / len(looks)
        weights_qk[row, 0 if part == "decoder" else -1] += 1 - weights_qk[row].sum()
    texts = {"encoder": (WORDS, WORDS), "decoder": (FRENCH_WORDS,) * 2}
    sides = tuple(SimpleNamespace(words=x) for x in texts.get(part, (FRENCH_WORDS, WORDS)))
    alignment = SimpleNamespace(source_columns=lambda row: SOURCES[row], heads=((9, 9),))
    return SimpleNamespace(
        texts=lambda _: sides, weights=lambda **_: weights_qk[None, None], alignment=alignment
    )


def named(part, keys_qk, rest=0.5):
    return behaviour(behaviours([planted(part, keys_qk, rest)] * MIN_QUERIES, part), (0, 0))


def test_kinds_of_words_by_function_words():
    told = kinds(WORDS, ENGLISH)
    assert [WORDS[i] for i in np.flatnonzero(told.noun)] == ["dog", "cake", "garden"]
    assert [WORDS[i] for i in np.flatnonzero(told.verb)] == ["saw", "ate"]
    assert [FRENCH_WORDS[i] for i in np.flatnonzero(kinds(FRENCH_WORDS, FRENCH).noun)] == [
        "chien", "gâteau",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "keys", "name"),
    [
        ("encoder", {i: [i - 1] for i in range(1, 15)}, "looks at the word before"),
        ("encoder", {i: [i + 1] for i in range(14)}, "looks at the word after"),
        ("encoder", {2: [4], 8: [10], 12: [13]}, "looks from a determiner to its noun"),
        ("encoder", {1: [4], 7: [10]}, "looks from a verb to its object"),
        ("encoder", {i: [x for x in (2, 8, 12) if x != i] for i in range(15)},
         "looks at determiners"),
        ("decoder", {i: [i - 1] for i in range(2, 11)}, "looks at the word before"),
        ("decoder", {4: [3], 9: [8]}, "looks from a noun to its determiner"),
        ("cross", {i: SOURCES[i] for i in range(10)},
         "finds the English of the next word to write"),
        ("cross", {i + 1: SOURCES[i] for i in range(10)},
         "finds the English of the word just read"),
    ],
)  # fmt: skip
def test_a_planted_behaviour_is_named_with_share_and_chance(part, keys, name):
    found = named(part, keys)
    assert found["name"] == name
    assert found["share"] == pytest.approx(1.0)
    assert 0 < found["chance"] < 0.5
    assert found["aside"] == ("(start)" if part == "decoder" else "(end)")


def test_what_is_said_of_a_kind_of_words_is_measured_on_them():
    nouns = [4, 10, 13]
    found = named("encoder", {i: [i] if i in nouns else [i, i, i, 0, 14] for i in range(14)})
    assert found["name"] == "looks at the word itself, above all at nouns"
    assert (found["share"], found["queries"]) == (1.0, len(nouns) * MIN_QUERIES)


def test_a_head_that_rests_is_named_by_that_and_an_even_one_by_nothing():
    rests = named("encoder", {}, rest=1.0)
    assert (rests["name"], rests["share"], rests["aside"]) == (
        "rests on the end of the sentence", 1.0, "",
    )  # fmt: skip
    assert rests["chance"] == pytest.approx(1 / len(WORDS), abs=1e-4)
    even = np.full((1, 1, len(WORDS), len(WORDS)), 1 / len(WORDS))
    reading = SimpleNamespace(**(vars(planted("encoder", {})) | {"weights": lambda **_: even}))
    found = behaviours([reading] * MIN_QUERIES, "encoder")
    assert behaviour(found, (0, 0)) is None
    for measured in found.values():
        share = measured.weight_lh / measured.looking_lh
        assert share[0, 0] == pytest.approx(measured.chance / measured.queries, rel=1e-9)
