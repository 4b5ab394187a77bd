"""Numbers worked by hand: the first step that does not follow is named, rounding never is."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FileError
from regard.sheets import Interval, check_sheet, claimed_row
from regard.textbook.stages import softmax
from regard.textbook.steps import self_attention

ROBOTS = Path(__file__).parents[2] / "examples" / "robots_sheet.toml"
X = [[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]]
WORDS = ["Smart", "robots", "perform", "complex", "tasks"]
TRUE = self_attention(X, np.eye(2), np.eye(2), np.eye(2), words=WORDS)


def sheet(folder, **claimed):
    """A sheet about the robots, as JSON; numbers are written as they are given."""
    path = folder / "sheet.json"
    eye = [[1, 0], [0, 1]]
    fields = {"words": WORDS, "x": X, "w_query": eye, "w_key": eye, "w_value": eye}
    rows = json.dumps(claimed).replace('"<', "").replace('>"', "")
    path.write_text(json.dumps(fields)[:-1] + f', "claimed": {rows}}}')
    return path


def written(array, digits, cut=False):
    """Every number of a matrix with so many digits, for ``sheet`` to put in as it is."""
    shift = 10**digits
    rows = np.trunc(np.asarray(array) * shift + 1e-9) / shift if cut else np.asarray(array)
    return {word: [f"<{x:.{digits}f}>" for x in row] for word, row in zip(WORDS, rows, strict=True)}


def by_stage_and_word(report):
    return {(step.stage, step.word): step for step in report.steps}


def test_the_robots_are_judged_step_by_step():
    report = check_sheet(ROBOTS)
    steps = by_stage_and_word(report)
    assert report.verdict == "wrong"
    assert report.status == 1
    assert (report.first_wrong.stage, report.first_wrong.word) == ("weights", "robots")
    assert steps["scores", "robots"].right
    assert steps["scaled", "robots"].right
    assert steps["weights", "robots"].follows is False
    assert "e^0 is 1" in steps["weights", "robots"].instead
    assert steps["weights", "robots"].arithmetic.endswith("= 4.096 / 10.164 = 0.403, not 0.62")
    output = steps["output", "robots"]
    assert output.follows is False
    assert output.due == pytest.approx((0.19, 1.62))
    assert output.arithmetic == "0.19·1 + 0.19·1 + 0.62·2 = 1.62, not 1.43"
    assert output.instead == "the term of 'robots' was left out of the sum"
    assert steps["output", "perform"].right
    assert steps["output", "perform"].cut
    for word in ("Smart", "complex", "tasks"):
        assert steps["output", word].follows is None
        assert not steps["output", word].is_true


def test_the_report_says_it_in_words():
    text = str(check_sheet(ROBOTS))
    assert "The first wrong step is the weights of" in text.replace("\n", " ")
    assert "output of perform: right (digits cut off, not rounded)" in text
    assert "Diagnosis: the term of 'robots' was left out of the sum." in text
    assert max(map(len, text.splitlines())) <= 80
    plain = json.dumps(check_sheet(ROBOTS).to_dict(), allow_nan=False)
    assert json.loads(plain)["first wrong"] == {"stage": "weights", "word": "robots"}


@settings(max_examples=30, deadline=None)
@given(digits=st.integers(1, 6), cut=st.booleans())
def test_right_numbers_at_any_rounding_are_never_called_wrong(tmp_path_factory, digits, cut):
    stages = {x: written(getattr(TRUE, x), digits, cut)
              for x in ("scores", "scaled", "weights", "output")}  # fmt: skip
    report = check_sheet(sheet(tmp_path_factory.mktemp("sheet"), **stages))
    assert report.verdict == "right", str(report)


def test_a_chain_from_rounded_numbers_follows(tmp_path):
    scaled = np.round(TRUE.scaled, 1)
    e = np.exp(scaled)
    weights = np.round(e / e.sum(axis=1, keepdims=True), 2)
    report = check_sheet(
        sheet(tmp_path, scaled=written(scaled, 1), weights=written(weights, 2),
              output=written(weights @ np.array(X), 2))
    )  # fmt: skip
    assert all(step.right for step in report.steps), str(report)


@pytest.mark.parametrize(
    ("row", "instead"),
    [
        ([0.07, 0.18, 0.18, 0.07, 0.5], "the softmax was taken of the unscaled scores"),
        ([0.0, 0.25, 0.25, 0.0, 0.5], "the scaled scores were divided by their sum"),
        ([0.0, 0.248, 0.248, 0.0, 0.503], "words with a score of 0 were left out of the softmax"),
    ],
)
def test_a_known_slip_is_named(tmp_path, row, instead):
    scaled = {"robots": [0, 0.707, 0.707, 0, 1.414]}
    report = check_sheet(sheet(tmp_path, scaled=scaled, weights={"robots": row}))
    assert report.first_wrong.instead.startswith(instead)


def test_scaling_by_the_width_is_named(tmp_path):
    report = check_sheet(sheet(tmp_path, scores={"robots": [0, 1, 1, 0, 2]},
                               scaled={"robots": [0, 0.5, 0.5, 0, 1.0]}))  # fmt: skip
    first = report.first_wrong
    assert first.instead == "the scores were divided by 2, not by its square root"
    assert first.arithmetic == "2 / √2 = 1.414, not 1"


ONE_AND_TWO = {"w_query": [[1, 0], [1, 2]], "w_key": [[2, 1], [0, 1]], "w_value": [[1, 3], [2, 0]]}
OTHERS = self_attention(X, *ONE_AND_TWO.values(), words=WORDS)
UNEQUAL = softmax(OTHERS.scaled)


@pytest.mark.parametrize(
    ("stage", "rows", "instead"),
    [
        ("query", OTHERS.key, "w_key took the place of w_query"),
        ("value", np.array(X) @ np.array(ONE_AND_TWO["w_value"]).T, "w_value was transposed"),
        ("scores", OTHERS.key @ OTHERS.query.T, "query and key swapped"),
        ("weights", softmax(OTHERS.scaled.T).T, "softmax over queries"),
        ("weights", UNEQUAL[:, [1, 0, 2, 3, 4]], "numbers 0 and 1 were exchanged"),
        ("weights", softmax(OTHERS.scaled * np.log(2)), "powers of 2 took the place of powers"),
        ("output", UNEQUAL @ OTHERS.key, "key used as value"),
    ],
)
def test_the_names_of_the_catalogue_serve_sheets(tmp_path, stage, rows, instead):
    path = sheet(tmp_path, **{stage: written(rows, 3)})
    fields = json.loads(path.read_text()) | ONE_AND_TWO
    path.write_text(json.dumps(fields))
    report = check_sheet(path)
    assert report.first_wrong.instead.startswith(instead), str(report)


def test_an_output_worked_from_cut_digits_is_no_error(tmp_path):
    weights = written(TRUE.weights, 2, cut=True)
    numbers = np.array([[float(x.strip("<>")) for x in row] for row in weights.values()])
    report = check_sheet(sheet(tmp_path, weights=weights, output=written(numbers @ X, 2)))
    assert not all(step.is_true for step in report.steps)
    assert (report.verdict, report.status) == ("right", 0), str(report)
    assert "(from the digits of its weights)" in str(report)


def test_a_wrong_entry_has_its_line(tmp_path):
    text = ROBOTS.read_text().replace("tasks   = [0.12, 1.64]", "tasks   = [0.12]")
    path = tmp_path / "sheet.toml"
    path.write_text(text)
    line = next(i for i, x in enumerate(text.splitlines(), 1) if x.startswith("tasks "))
    with pytest.raises(FileError) as caught:
        check_sheet(path)
    assert (
        str(caught.value) == f"{path} line {line}: claimed.output.tasks must have 2 numbers, got 1."
    )


def test_wrong_weights_and_a_sum_that_follows_from_them(tmp_path):
    report = check_sheet(sheet(tmp_path, weights={"robots": [0.0, 0.2, 0.2, 0.0, 0.6]},
                               output={"robots": [0.2, 1.6]}))  # fmt: skip
    output = by_stage_and_word(report)["output", "robots"]
    assert output.follows
    assert not output.is_true
    assert "follows from its weights, which went wrong before" in str(report)


def test_a_causal_sheet_is_judged_by_what_each_word_may_see(tmp_path):
    path = sheet(tmp_path, scaled=written(TRUE.scaled, 2), weights={
        "Smart": [1, 0, 0, 0, 0], "robots": [0.33, 0.67, 0, 0, 0], "perform": [0.2, 0.2, 0.6, 0, 0]
    })  # fmt: skip
    path.write_text(path.read_text().replace('{"words"', '{"causal": true, "words"'))
    steps = by_stage_and_word(check_sheet(path))
    assert steps["weights", "Smart"].right
    assert steps["weights", "robots"].right
    assert not steps["weights", "perform"].right
    assert steps["weights", "perform"].arithmetic.startswith("e^1.41 / (e^0.71 + e^0.71 + e^1.41)")


def test_a_claim_stands_for_what_rounds_to_it():
    row = claimed_row([Decimal("0.19"), Decimal("0.70")])
    np.testing.assert_allclose(row.rounded.low, [[0.185, 0.695]])
    np.testing.assert_allclose(row.cut.high, [[0.20, 0.71]])
    sure = Interval.exactly(np.array([[1.0, 2.0]])).softmax(np.array([True, True]))
    np.testing.assert_allclose(sure.low, sure.high)
    np.testing.assert_allclose(sure.low, [[0.26894142, 0.73105858]])


@pytest.mark.parametrize(
    ("claimed", "words"),
    [
        ({"weight": {}}, "claimed.weight is unknown; there are query, key, value, scores"),
        (
            {"weights": {"robot": [1]}},
            "claimed.weights.robot must be one of the words Smart, robots",
        ),
        ({"weights": {"robots": "0.1"}}, "claimed.weights.robots must be a row of numbers"),
        ({"weights": {"robots": [0.5, 0.5]}}, "claimed.weights.robots must have 5 numbers, got 2."),
        (
            {"weights": 5},
            "claimed.weights must be rows by word, or a list of 5 rows, one for each ",
        ),
        ({"weights": [[1]]}, "claimed.weights must be rows by word, or a list of 5 rows, one for "),
        ({"weights": {"robots": ["<NaN>"]}}, "claimed.weights.robots must be a row of numbers"),
        ({"weights": {"robots": ["<1e400>"]}}, "claimed.weights.robots must be a row of numbers"),
        (
            {"weights": {"robots": ["<1e-99999999999999999999>"]}},
            "must be a row of numbers, such as",
        ),
        ({"weights": {"robots": [10**400]}}, "claimed.weights.robots must be a row of numbers"),
        ({"weights": {"robots": [True]}}, "claimed.weights.robots must be a row of numbers"),
    ],
)
def test_a_wrong_sheet_is_an_error_that_says_where(tmp_path, claimed, words):
    with pytest.raises(FileError) as caught:
        check_sheet(sheet(tmp_path, **claimed))
    assert words in str(caught.value)


def test_a_sheet_without_claims_says_what_is_missing():
    with pytest.raises(FileError, match=r"robots.toml: table claimed is missing; it holds any of"):
        check_sheet(ROBOTS.with_name("robots.toml"))


def test_an_error_names_the_line_of_the_sheet_itself(tmp_path):
    path = tmp_path / "sheet.toml"
    text = ROBOTS.read_text(encoding="utf-8")
    path.write_text(text.replace("[[1, 0], [0, 1]]", "[[1, 0], [0, nan]]", 1), encoding="utf-8")
    line = path.read_text(encoding="utf-8")[: path.read_text(encoding="utf-8").index("nan")]
    with pytest.raises(FileError) as caught:
        check_sheet(path)
    field = line[: line.rindex("=")].split()[-1]
    assert str(caught.value) == (
        f"{path} line {line.count(chr(10)) + 1}: field {field} must have finite numbers, got nan "
        "in row 1."
    )


@pytest.mark.parametrize("name", ["deep.json", "deep.toml"])
def test_a_sheet_that_is_nested_too_deeply(tmp_path, name):
    path = tmp_path / name
    nested = "[" * 100_000 + "]" * 100_000
    path.write_text(f'{{"x": {nested}}}' if name.endswith("json") else f"x = {nested}")
    with pytest.raises(FileError) as caught:
        check_sheet(path)
    assert str(caught.value) == f"{path} is nested too deeply: it must hold lists of rows."


def test_every_digit_counts_whatever_the_file(tmp_path):
    """0.40 stands for 0.395 to 0.405, 0.400 for 0.3995 to 0.4005: the weight is 0.4042."""
    weights = TRUE.weights[1]
    rows = {n: [f"<{x:.{n}f}>" for x in weights[:4]] for n in (2, 3)}
    right = check_sheet(sheet(tmp_path, weights={"robots": [*rows[2], "<0.40>"]}))
    wrong = check_sheet(sheet(tmp_path, weights={"robots": [*rows[3], "<0.400>"]}))
    assert (right.verdict, wrong.verdict) == ("right", "wrong")
