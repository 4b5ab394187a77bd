"""Sheets with several heads, a mask, steps left out; sheets as tables of every usual form."""

import json
from pathlib import Path

import numpy as np
import pytest

from regard.errors import FileError
from regard.sheets import check_sheet
from regard.text.sheet import load_sheet
from regard.textbook.steps import self_attention

EXAMPLES = Path(__file__).parents[2] / "examples"
WORDS = ["I", "am", "good"]
X = np.array([[1, 0, 2, 1], [0, 1, 1, 2], [1, 1, 0, 1]])
RANDOM = np.random.default_rng(5)
MATRICES = {f"w_{x}": RANDOM.integers(-1, 3, (4, 4)) / 2 for x in ("query", "key", "value")}
W_OUTPUT = RANDOM.integers(-1, 3, (4, 4)) / 2
MASK = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]


def rows(array, digits=3):
    """Rows as JSON writes them, with so many digits; minus infinity as a string."""
    return [[float(f"{x:.{digits}f}") if np.isfinite(x) else "-inf" for x in row] for row in array]


def written(folder, claimed, **options):
    """A sheet of the three words, as JSON."""
    fields = {"words": WORDS, "x": X.tolist()} | {k: v.tolist() for k, v in MATRICES.items()}
    path = folder / "sheet.json"
    path.write_text(json.dumps(fields | options | {"claimed": claimed}))
    return path


def steps(**options):
    return self_attention(X, **MATRICES, words=WORDS, **options)


def of_heads(true):
    """Everything that two heads give, as a table of claims."""
    names = ("query", "key", "value", "scores", "scaled", "weights", "sums")
    tables = {f"head_{h}": {x: rows(getattr(true, x)[h]) for x in names} for h in range(2)}
    return tables | {"output": rows(true.output)}


@pytest.mark.parametrize("w_output", [None, W_OUTPUT])
def test_several_heads_are_right_step_by_step(tmp_path, w_output):
    true = steps(heads=2, w_output=w_output)
    options = {"heads": 2} | ({} if w_output is None else {"w_output": w_output.tolist()})
    report = check_sheet(written(tmp_path, of_heads(true), **options))
    assert report.verdict == "right", str(report)
    assert len(report.steps) == 2 * 7 * 3 + 3
    assert "weights of am, head 1: right" in str(report)


def test_the_head_of_a_wrong_step_is_named(tmp_path):
    true = steps(heads=2, w_output=W_OUTPUT)
    claimed = of_heads(true)
    e = np.exp(true.scores[1])
    claimed["head_1"]["weights"] = rows(e / e.sum(axis=1, keepdims=True))
    report = check_sheet(written(tmp_path, claimed, heads=2, w_output=W_OUTPUT.tolist()))
    first = report.first_wrong
    assert (first.stage, first.word, first.head) == ("weights", "I", 1)
    assert first.instead == "the softmax was taken of the unscaled scores"
    assert "The first wrong step is the weights of 'I', head 1." in str(report).replace("\n", " ")
    assert report.to_dict()["first wrong"] == {"stage": "weights", "word": "I", "head": 1}


@pytest.mark.parametrize(
    ("change", "instead"),
    [
        (lambda sums: np.concatenate(sums, 1), "w_output was left out"),
        (lambda sums: np.concatenate(sums, 1) @ W_OUTPUT.T, "w_output was transposed"),
        (lambda sums: np.concatenate(sums[::-1], 1) @ W_OUTPUT,
         "the heads were joined in the opposite order"),
    ],
)  # fmt: skip
def test_a_slip_in_joining_the_heads_is_named(tmp_path, change, instead):
    true = steps(heads=2, w_output=W_OUTPUT)
    claimed = of_heads(true) | {"output": rows(change(true.sums))}
    first = check_sheet(written(tmp_path, claimed, heads=2, w_output=W_OUTPUT.tolist())).first_wrong
    assert (first.stage, first.source) == ("output", "the sums of the heads")
    assert first.instead == instead


def masked_claims(true, **changed):
    stages = ("scaled", "masked", "weights", "output")
    return {x: rows(getattr(true, x)) for x in stages} | changed


def test_a_mask_is_taken_from_the_sheet(tmp_path):
    true = steps(mask=np.array(MASK, bool))
    right = check_sheet(written(tmp_path, masked_claims(true), mask=MASK))
    assert right.verdict == "right", str(right)
    large = np.where(np.isfinite(true.masked), true.masked, -1e9)
    right = check_sheet(written(tmp_path, masked_claims(true, masked=rows(large)), mask=MASK))
    assert right.verdict == "right", str(right)
    json.dumps(right.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("hidden", "instead"),
    [
        (lambda s: s, "the mask was not applied"),
        (lambda s: np.where(MASK, -np.inf, s), "the mask was applied the other way round"),
        (lambda s: np.where(MASK, s, 0), "hidden scores became 0, not minus infinity: e^0 is 1"),
    ],
)
def test_a_slip_with_a_mask_is_named(tmp_path, hidden, instead):
    true = steps(mask=np.array(MASK, bool))
    scores = hidden(true.scaled)
    e = np.exp(scores)
    weights = rows(e / e.sum(axis=1, keepdims=True))
    claimed = {"scaled": rows(true.scaled), "masked": rows(scores)}
    assert check_sheet(written(tmp_path, claimed, mask=MASK)).first_wrong.instead == instead
    claimed = {"scaled": rows(true.scaled), "weights": weights}
    assert check_sheet(written(tmp_path, claimed, mask=MASK)).first_wrong.instead == instead


def test_a_mask_after_the_softmax_is_named(tmp_path):
    claimed = {"weights": rows(steps().weights * np.array(MASK))}
    first = check_sheet(written(tmp_path, claimed, mask=MASK)).first_wrong
    assert first.instead == "the mask was applied after the softmax"


def test_steps_left_out_are_worked_out(tmp_path):
    """From scores that went wrong the author's output follows, two steps further."""
    true = steps()
    scores = true.scores.copy()
    scores[0, 0] += 2
    e = np.exp(scores / 2)
    output = e / e.sum(axis=1, keepdims=True) @ true.value
    report = check_sheet(written(tmp_path, {"scores": rows(scores), "output": rows(output)}))
    by_name = {step.name: step for step in report.steps}
    assert not by_name["scores of I"].right
    assert by_name["output of I"].source == "its scores"
    assert by_name["output of I"].follows
    assert not by_name["output of I"].is_true
    assert by_name["output of am"].is_true


def test_an_output_follows_from_the_claimed_vectors_alone(tmp_path):
    true = steps()
    value = true.value.copy()
    value[1] += 1
    claimed = {"value": rows(value), "output": rows(true.weights @ value)}
    report = check_sheet(written(tmp_path, claimed))
    wrong = [step.name for step in report.steps if not step.right]
    assert wrong == ["value of am"]
    assert {step.source for step in report.steps if step.stage == "output"} == {"the vectors"}


def test_a_word_that_comes_twice_has_two_rows(tmp_path):
    path = tmp_path / "sheet.json"
    words = ["the", "cat", "the"]
    true = steps()
    fields = {"words": words, "x": X.tolist()} | {k: v.tolist() for k, v in MATRICES.items()}
    path.write_text(json.dumps(fields | {"claimed": {"weights": rows(true.weights)}}))
    report = check_sheet(path)
    assert [step.row for step in report.steps] == [0, 1, 2]
    assert report.verdict == "right"


def table(separator, start="", end=""):
    """The robots' CSV with other separators."""
    lines = (EXAMPLES / "robots_sheet.csv").read_text(encoding="utf-8").splitlines()
    return "\n".join(start + line.replace(",", separator) + end if line else "" for line in lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", table(",")),
        ("a.tsv", table("\t")),
        ("a.csv", table(";").replace("0.", "0,").replace("1.4", "1,4")),
        ("a.md", table(" | ", "| ", " |").replace("scaled |", "scaled |\n|---|---|")),
        ("a.txt", table("   ").replace("   Smart   robots   perform", "Smart robots perform")),
        ("a.txt", table("  ").replace("w_query", "W_Q:").replace("0.19", "\N{MINUS SIGN}0.19")
         .replace("\N{MINUS SIGN}", "")),
    ],
)  # fmt: skip
def test_a_table_of_any_usual_form_is_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    table_report = check_sheet(path)
    assert (table_report.first_wrong.stage, table_report.first_wrong.word) == ("weights", "robots")
    output = table_report.steps[-1]
    assert output.instead == "the term of 'robots' was left out of the sum"
    assert output.arithmetic == "0.19·1 + 0.19·1 + 0.62·2 = 1.62, not 1.43"


def test_a_table_with_heads_words_and_a_mask(tmp_path):
    true = steps(heads=2, mask=np.array(MASK, bool), w_output=W_OUTPUT)
    blocks = {"x": X, **MATRICES, "w_output": W_OUTPUT, "mask": np.array(MASK)}
    for h in range(2):
        blocks |= {f"head {h} masked": true.masked[h], f"weights, head {h}": true.weights[h]}
    blocks["output"] = true.output
    lines = ["words, I, am, good", "heads, 2"]
    for name, array in blocks.items():
        lines += [name, *(", ".join(f"{x:g}" for x in np.round(row, 3)) for row in array)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    report = check_sheet(path)
    assert report.verdict == "right", str(report)
    assert len(report.steps) == 15


def test_a_table_serves_the_steps_too(tmp_path):
    path = tmp_path / "a.csv"
    text = (EXAMPLES / "robots_sheet.csv").read_text(encoding="utf-8")
    path.write_text(text.partition("scaled")[0], encoding="utf-8")
    sheet = load_sheet(path)
    assert sheet.words == ("Smart", "robots", "perform", "complex", "tasks")
    assert sheet.x.shape == (5, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1, 2", " line 1: a table must begin with a title, one of x, w_query, w_key, w_value, "
         "w_output, mask, query, key, value, scores, scaled, masked, weights, sums, output, "
         "got '1, 2'."),
        ("x\nI, 1, b", " line 2: a row must have numbers after its word, got 'b'."),
        ("x\nI, 1\nweights\nI, 1", ": field w_query is missing (looked to line 4); required are "
         "words, x, w_query, w_key, w_value."),
    ],
)  # fmt: skip
def test_a_wrong_table_is_an_error_that_names_the_line(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        check_sheet(path)
    assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize(
    ("options", "claimed", "message"),
    [
        ({"heads": 2}, {"weights": [[1, 0, 0]] * 3},
         " line 1: claimed.weights must name a head, such as [claimed.head_0.weights]: there are 2 "
         "heads."),
        ({"heads": 2}, {"head_2": {}},
         " line 1: claimed.head_2 is no head: the sheet has 2 heads, from 0."),
        ({"heads": 2}, {"head_0": []},
         " line 1: claimed.head_0 must hold tables, such as head_0.weights."),
        ({"heads": 2}, {"head_0": {"output": []}},
         " line 1: claimed.head_0.output is unknown; there are query, key, value, scores, scaled, "
         "masked, weights, sums, output."),
        ({"mask": [[1, 2, 0]] * 3}, {},
         " line 1: field mask must be rows of true and false, true where a word may look, got 2 "
         "in row 0."),
        ({"mask": [[1, 1]] * 2}, {},
         " line 1: field mask must have 3 rows, one for each word, got 2."),
        ({"mask": 5}, {}, " line 1: field mask must be rows of true and false, true where a word "
         "may look, got 5."),
        ({"mask": [[True, False]]}, {}, " line 1: field mask must have a row and a column for each "
         "word, got 2 columns in row 0 of 1."),
    ],
)  # fmt: skip
def test_wrong_heads_and_masks_are_errors(tmp_path, options, claimed, message):
    path = written(tmp_path, claimed, **options)
    with pytest.raises(FileError) as caught:
        check_sheet(path)
    assert str(caught.value) == f"{path}{message}"
