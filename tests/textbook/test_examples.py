"""The documents' examples: what is claimed, what is true, where they differ."""

import json

import numpy as np
import pytest

from regard.errors import ArgumentError
from regard.textbook.examples import EXAMPLES, run_example
from regard.textbook.examples.good import SCORES_QK, random_start, solve_query
from regard.textbook.examples.story import Claim, Example, rounds_to


def claims(example: Example) -> dict[str, Claim]:
    return {claim.about: claim for claim in example.claims}


@pytest.fixture(scope="module", params=list(EXAMPLES))
def example(request) -> Example:
    return run_example(request.param)


def test_json_holds_everything(example):
    plain = json.loads(json.dumps(example.to_dict(), allow_nan=False))
    assert plain["name"] == example.name
    assert len(plain["claims"]) == len(example.claims)
    np.testing.assert_array_equal(plain["steps"]["stages"]["weights"], example.steps.weights)


def test_shown_in_80_columns(example):
    text = str(example)
    assert max(map(len, text.splitlines())) <= 80
    assert example.title in text
    for claim in example.claims:
        assert f"{claim.about}: {'agrees' if claim.agrees else 'DIFFERS'}" in text


def test_every_disagreement_is_explained(example):
    assert all(claim.because for claim in example.claims if not claim.agrees)


def test_robots_row_and_weighted_sum():
    by_subject = claims(run_example("robots"))
    assert by_subject["scores of robots"].agrees
    assert by_subject["scaled scores of robots"].agrees
    weights = by_subject["weights of robots"]
    assert not weights.agrees
    np.testing.assert_allclose(weights.true, [0.098, 0.199, 0.199, 0.098, 0.404], atol=5e-4)
    total = by_subject["weighted sum (output) of robots"]
    assert total.printed == (0.19, 1.43)
    np.testing.assert_allclose(total.follows[1], [0.19, 1.62])
    np.testing.assert_allclose(total.true, [0.494, 1.208], atol=5e-4)
    assert not total.agrees


def test_robots_other_rows_by_hand():
    """Recomputed here without the package."""
    x = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]], float)
    e = np.exp(x @ x.T / np.sqrt(2))
    outputs = e @ x / e.sum(axis=1, keepdims=True)
    by_subject = claims(run_example("robots"))
    for row, word in ((0, "Smart"), (2, "perform"), (3, "complex"), (4, "tasks")):
        np.testing.assert_allclose(by_subject[f"output of {word}"].true, outputs[row])
        assert not by_subject[f"output of {word}"].agrees


def test_good_reaches_the_percentages():
    example = run_example("good")
    assert [claim.agrees for claim in example.claims] == [True] * 7 + [False]
    assert example.steps.x.shape == (3, 512)
    assert example.steps.query.shape == (3, 64)
    np.testing.assert_allclose(example.steps.scores, SCORES_QK)
    np.testing.assert_allclose(example.steps.output, example.steps.weights @ example.steps.value)
    assert claims(example)["the formula in its summary"].follows[1] == pytest.approx([1 / 8] * 3)


def test_good_changes_w_query_by_the_least_norm():
    """Any other change with the same scores is longer: what is added is orthogonal to it."""
    start = random_start()
    change = solve_query(start, SCORES_QK) - start.w_query
    key = start.x_te @ start.w_key
    other = np.random.default_rng(1).standard_normal(change.shape)
    without_effect = other - np.linalg.pinv(start.x_te) @ (start.x_te @ other @ key.T) @ (
        np.linalg.pinv(key.T)
    )
    np.testing.assert_allclose(start.x_te @ without_effect @ key.T, 0, atol=1e-6)
    assert abs((change * without_effect).sum()) < 1e-8


def test_cat_shapes():
    by_subject = claims(run_example("cat"))
    scores = by_subject["shape of the scores and weights"]
    assert (scores.printed, scores.follows[1], scores.true) == (
        "(1, 6, 1, 6)",
        "(1, 6, 1, 6)",
        "(1, 6, 6)",
    )
    output = by_subject["shape of the output"]
    assert (output.printed, output.follows[1], output.true) == (
        "(1, 6, 1, 8)",
        "(1, 6, 1, 1, 8)",
        "(1, 6, 8)",
    )


def test_cat_mixes_sentences_in_a_batch():
    example = run_example("cat")
    mixed = claims(example)["a batch of two sentences"]
    assert mixed.follows == (
        "its code gives",
        "scores (2, 6, 2, 6), output (2, 6, 2, 2, 8)",
    )
    assert mixed.because.endswith("done right it changes by 0.")
    weights = example.data["weights as written, two sentences"]
    np.testing.assert_allclose(weights[0, 1, 1].sum(), 1)
    np.testing.assert_allclose(weights[0, :, 0], example.steps.weights)


def test_unknown_example():
    with pytest.raises(ArgumentError) as error:
        run_example("dog")
    assert str(error.value) == "example must be one of robots, good, cat or all, got 'dog'."


def test_rounding_is_judged_by_the_digits_printed():
    assert rounds_to("0.87", [0.8749])
    assert not rounds_to("0.87", [0.8756])
