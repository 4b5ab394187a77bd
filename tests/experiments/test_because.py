"""Decomposition of scores: terms that sum to the score, at every level, in every attention."""

import json

import numpy as np
import pytest

from regard.errors import ArgumentError

KINDS = ("head", "feed-forward")


@pytest.mark.parametrize(
    ("part", "word", "other"), [("encoder", "it", "dog"), ("decoder", 1, 0), ("cross", 1, "dog")]
)
@pytest.mark.parametrize("layer", [0, 2])
def test_the_terms_sum_to_the_score(word_reading, part, word, other, layer):
    result = word_reading.because(word, other, layer, 1, part=part)
    assert result.total == pytest.approx(result.score, rel=1e-10, abs=1e-11)
    expected = word_reading.weights(part=part, layer=layer, head=1, by="tokens")[result.positions]
    assert result.weight == pytest.approx(expected, abs=1e-6)


def test_the_number_of_terms_is_that_of_all_pairs_of_components(word_reading):
    """Embedding, position, four heads and a feed-forward layer for each layer, and the bias."""
    assert len(word_reading.because("it", "dog", 2, 1).terms) == (2 + 2 * 5 + 1) ** 2
    assert len(word_reading.because(1, "dog", 1, 1, part="cross").terms) == (2 + 9 + 4 + 1) * (
        2 + 3 * 5 + 1
    )


def test_terms_are_sorted_by_size_and_summed_by_side(word_reading):
    result = word_reading.because("it", "dog", 2, 1)
    sizes = [abs(term.value) for term in result.terms]
    assert sizes == sorted(sizes, reverse=True)
    for side in ("query", "key"):
        assert sum(result.by(side).values()) == pytest.approx(result.score, rel=1e-10)


@pytest.mark.parametrize("side", ["query", "key"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_a_term_opened_sums_to_that_term_and_so_on_down(word_reading, part, kind, side):
    word, other = {"encoder": ("it", "dog"), "decoder": (1, 0), "cross": (1, "dog")}[part]
    result = word_reading.because(word, other, 2, 1, part=part)
    depth = 0
    while True:
        terms = [x for x in result.terms if getattr(x, side).component.kind == kind]
        if not terms:
            break
        latest = max(terms, key=lambda term: getattr(term, side).component.layer)
        opened = result.because(latest, side)
        assert opened.total == pytest.approx(latest.value, rel=1e-8, abs=1e-12)
        assert opened.path[-1] == str(latest)
        result, depth = opened, depth + 1
    assert depth >= 2


def test_the_largest_term_that_can_be_opened_is_opened(word_reading):
    result = word_reading.because("it", "dog", 2, 1)
    opened = result.because()
    assert opened.total == pytest.approx(
        next(
            x.value for x in result.terms
            if x.query.component.kind in KINDS or x.key.component.kind in KINDS
        )
    )  # fmt: skip


@pytest.mark.parametrize("side", ["query", "key"])
def test_against_a_third_word_the_terms_sum_to_the_difference(word_reading, side):
    one, other = (word_reading.because("it", x, 2, 1) for x in ("dog", "food"))
    result = word_reading.because("it", "dog", 2, 1, against="food")
    assert (result.score, result.score_against) == (one.score, other.score)
    assert result.total == pytest.approx(one.score - other.score, rel=1e-9, abs=1e-11)
    assert len(result.terms) == 2 * len(one.terms)
    term = next(
        x
        for x in result.terms
        if x.key.word == "food" and getattr(x, side).component.kind == "head"
    )
    opened = result.because(term, side)
    assert opened.total == pytest.approx(term.value, rel=1e-8, abs=1e-12)
    text = f"({100 * one.weight:.0f} %), minus {other.score:.3f} on food."
    assert text in " ".join(str(result).split())


def test_a_head_changed_by_hand_shows_what_was_changed(word_reading):
    after = word_reading.ablate(0, 1).after
    result = after.because("it", "dog", 2, 1)
    assert result.total == pytest.approx(result.score, rel=1e-10)
    term = next(
        x for x in result.terms if str(x.query.component) == "head 0.1" and x.query.word == "it"
    )
    assert term.value == 0
    opened = result.because(term, "query")
    assert opened.total == pytest.approx(0, abs=1e-12)
    assert any(str(x.query.component) == "change by hand" for x in opened.terms)


def test_a_decomposition_is_json_and_text(word_reading):
    result = word_reading.because("it", "dog", 2, 1)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert sum(x["value"] for x in data["terms"]) == pytest.approx(data["score"])
    text = str(result)
    assert text.startswith(f"Score of it on {result.key} in encoder layer 2, head 1: ")
    assert "the other 157 terms together" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_cannot_be_opened_is_explained(word_reading):
    result = word_reading.because("it", "dog", 1, 1)
    term = next(x for x in result.terms if x.query.component.kind == "embedding")
    with pytest.raises(ArgumentError) as error:
        result.because(term, "query")
    assert str(error.value) == (
        "because needs a head or a feed-forward layer to go further down, but it: embedding is "
        "where it begins: take another term."
    )
    term = next(
        x for x in result.terms if {x.query.component.kind, x.key.component.kind} == {"head"}
    )
    opened = result.because(term, "query")
    with pytest.raises(ArgumentError) as error:
        opened.because(0, "key")
    assert str(error.value) == (
        f"because needs a component on the side that was opened, but {term.key} is on the other: "
        "open that one first, in the decomposition before."
    )
    with pytest.raises(ArgumentError) as error:
        result.because(0, "value")
    assert str(error.value) == "side must be 'query' or 'key', got 'value'."
    with pytest.raises(ArgumentError) as error:
        word_reading.because("it", "dog", 0, 1).because()
    assert str(error.value) == (
        "because needs a term with a head or a feed-forward layer in it, but none is left: "
        "this is where the score begins."
    )


def test_bad_words_and_heads_are_explained(word_reading):
    with pytest.raises(ArgumentError, match="head must be a number from 0 to 3"):
        word_reading.because("it", "dog", 0, 9)
    with pytest.raises(ArgumentError, match="the word must be one of the words read, got 'cat'"):
        word_reading.because("it", "cat", 0, 0)
    with pytest.raises(ArgumentError, match="the decoder cannot see what it has not written yet"):
        word_reading.because(0, 1, 0, 0, part="decoder")


def test_directions_are_linear_in_what_was_written(word_reading):
    """A larger embedding of the key changes the score by the terms of the embedding alone."""
    result = word_reading.because("it", "dog", 0, 1)
    by_key = result.by("key")
    own = [x for x in result.terms if x.key.component.kind == "embedding"]
    assert by_key["dog: embedding"] == pytest.approx(np.sum([x.value for x in own]))
