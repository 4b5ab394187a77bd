"""Steps: the textbook on known numbers, and how it shows itself."""

import inspect
import json

import numpy as np
import pytest

import regard
from regard.errors import ArgumentError

WORDS = ["Smart", "robots", "perform", "complex", "tasks"]
X = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]])


def robots(**options) -> regard.Steps:
    return regard.self_attention(X, np.eye(2), np.eye(2), np.eye(2), words=WORDS, **options)


@pytest.mark.smoke
def test_weights_of_the_second_document():
    np.testing.assert_allclose(
        robots().weights[1], [0.0983, 0.1994, 0.1994, 0.0983, 0.4045], atol=5e-5
    )


def test_read_says_what_a_row_means():
    assert robots().read("robots") == (
        "robots looks at tasks 40 %, at itself 20 %, at perform 20 %, at Smart 10 %, "
        "at complex 10 %; its output is 0.40 of v(tasks) + 0.20 of v(robots) + 0.20 of v(perform) "
        "+ 0.10 of v(Smart) + 0.10 of v(complex)."
    )


def test_read_takes_the_rest_of_a_long_row_together():
    steps = regard.self_attention(np.zeros((10, 2)), *[np.eye(2)] * 3)
    assert steps.read(3).startswith(
        "3 looks at 0 10 %, at 1 10 %, at 2 10 %, at itself 10 %, at 4 10 %, "
        "at 5 others together 50 %; its output is "
    )
    assert steps.read("3").endswith("+ 0.50 of the 5 others.")


def test_read_names_the_head_and_leaves_out_what_is_hidden():
    steps = robots(heads=2, causal=True)
    assert steps.read("Smart", head=1) == (
        "In head 1, Smart looks at itself 100 %; its sum in this head is 1.00 of v(Smart)."
    )


def test_read_of_a_word_that_sees_nothing():
    assert robots(mask=np.zeros((5, 5), bool)).read(0) == (
        "Smart may look at nothing; its output is 0."
    )


def test_read_of_an_unknown_word():
    with pytest.raises(ArgumentError) as error:
        robots().read("robot")
    assert str(error.value) == (
        "row must be one of the words Smart, robots, perform, complex, tasks, got 'robot'."
    )


def test_as_dict_is_json_and_unrounded():
    steps = robots(causal=True)
    plain = json.loads(json.dumps(steps.to_dict(), allow_nan=False))
    assert plain["words"] == WORDS
    assert plain["stages"]["masked"][0][1] == "-inf"
    assert plain["shapes"]["weights"] == [5, 5]
    np.testing.assert_array_equal(plain["stages"]["weights"], steps.weights)
    np.testing.assert_array_equal(plain["parameters"]["w_query"], np.eye(2))


def test_to_dict_of_a_batch_has_the_words_of_each_sentence():
    steps = regard.self_attention(np.ones((2, 1, 1)), *[[[1.0]]] * 3, words=[["a"], ["b"]])
    assert steps.to_dict()["words"] == [["a"], ["b"]]


def test_str_shows_every_stage():
    text = str(robots(heads=2, causal=True))
    for stage in ("x", "query, head 1", "masked, head 0", "sums, head 1", "output"):
        assert f"\n{stage} " in text
    assert "= softmax(masked)" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ([[1, 0], [0]], {}, "x must be numbers in rows of equal length."),
        ([[1, np.nan]], {}, "x must be finite numbers, got nan at [0, 1]."),
        (X, {"words": ["a"]}, "words must be one word for each of the 5 rows of x, got 1 words."),
        (X, {"heads": 3}, "heads must divide the 2 columns of w_query, got 3."),
    ],
)
def test_errors(x, options, message):
    with pytest.raises(ArgumentError) as error:
        regard.self_attention(x, np.eye(2), np.eye(2), np.eye(2), **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: robots(is_causal=True),
            "self_attention() got an unexpected keyword 'is_causal'; did you mean 'causal'?",
        ),
        (
            lambda: robots().why("x", 0, 0, digit=2),
            "why() got an unexpected keyword 'digit'; did you mean 'digits'?",
        ),
        (
            lambda: robots().read(0, layer=2),
            "read() got an unexpected keyword 'layer': it takes row, head, sentence.",
        ),
        (
            lambda: robots().picture(sentences=2),
            "picture() got an unexpected keyword 'sentences'; did you mean 'sentence'?",
        ),
        (
            lambda: robots().worksheet(rows="all"),
            "worksheet() got an unexpected keyword 'rows'; did you mean 'row'?",
        ),
    ],
)
def test_unknown_keyword_names_the_function_and_the_nearest_keyword(call, message):
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == message


def test_signature_is_short_enough_to_read():
    assert len(str(inspect.signature(regard.self_attention))) < 300


def test_str_of_an_empty_sentence():
    assert str(regard.self_attention(np.zeros((0, 2)), *[np.eye(2)] * 3)).startswith("0 sentences")
