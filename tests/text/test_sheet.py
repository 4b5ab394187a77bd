"""The reader's own numbers: a wrong file is told by line and field."""

import json
from pathlib import Path

import numpy as np
import pytest

from regard.errors import FileError
from regard.text.sheet import SheetFile, load_sheet

GOOD = """\
words = ["a", "b"]
x = [[1, 0],
     [0, 1]]
w_query = [[1], [2]]
w_key = [[1], [2]]
w_value = [[1], [2]]
"""
ROBOTS = Path(__file__).parents[2] / "examples" / "robots.toml"


def written(folder: Path, text: str, name: str = "own.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_toml_and_json_hold_the_same(tmp_path):
    sheet = load_sheet(written(tmp_path, GOOD + "heads = 1\ncausal = true\nw_output = [[1, 2]]"))
    matrices = {f"w_{name}": [[1], [2]] for name in ("query", "key", "value")}
    fields = {"words": ["a", "b"], "x": [[1, 0], [0, 1]], **matrices, "causal": True}
    again = load_sheet(written(tmp_path, json.dumps(fields), "own.json"))
    assert sheet.words == again.words == ("a", "b")
    assert sheet.causal
    assert again.causal
    np.testing.assert_array_equal(sheet.x, again.x)
    np.testing.assert_array_equal(sheet.w_output, [[1, 2]])


def test_the_shipped_sheet():
    assert load_sheet(ROBOTS).words == ("Smart", "robots", "perform", "complex", "tasks")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0, 1]]", "[0, 1, 5]]", "line 2: field x must have rows of equal length, got 2 "
         "numbers in row 0 and 3 in row 1."),
        ("[0, 1]]", "[0, 'one']]", "line 2: field x must have finite numbers, got 'one' in row 1."),
        ("[0, 1]]", "[0, nan]]", "line 2: field x must have finite numbers, got nan in row 1."),
        ("x = [[1, 0],\n     [0, 1]]", "x = 5", "line 2: field x must be rows such as "
         "[[1, 0], [0, 1]], got 5."),
        ('["a", "b"]', '"a b"', 'line 1: field words must be a list such as ["I", "am"], '
         "got 'a b'."),
        ('["a", "b"]', '["a"]', "line 2: field x must have 1 row, one for each word, got 2."),
        ("w_key = [[1], [2]]", "w_key = [[1]]", "line 5: field w_key must have 2 rows, one for "
         "each column of x, got 1."),
        ("w_key = [[1], [2]]", "w_key = [[1, 1], [2, 2]]", "line 5: field w_key must have 1 "
         "column, as w_query has, got 2."),
        ("w_key", "w_keys", "line 5: field w_keys is unknown; the fields are words, x, w_query, "
         "w_key, w_value, w_output, heads, causal, mask."),
        ("w_value = [[1], [2]]\n", "", ": field w_value is missing (looked to line 5); required "
         "are words, x, w_query, w_key, w_value."),
        ("w_value = [[1], [2]]", "w_value = [[1], [2]]\nheads = 2", "line 4: field w_query must "
         "have columns that 2 heads divide, got 1."),
        ("w_value = [[1], [2]]", "w_value = [[1], [2]]\nheads = 0.5", "line 7: field heads must be "
         "a whole number from 1 up, got 0.5."),
        ("w_value = [[1], [2]]", "w_value = [[1], [2]]\ncausal = 1", "line 7: field causal must "
         "be true or false, got 1."),
        ("w_value = [[1], [2]]", "w_value = [[1], [2]]\nw_output = [[1], [2]]", "line 7: field "
         "w_output must have 1 row, one for each column of w_value, got 2."),
        ("w_key = ", "w_key ", " is not TOML: line 5, column 7: Expected '=' after a key in a "
         "key/value pair."),
    ],
)  # fmt: skip
def test_wrong_toml(tmp_path, old, new, message):
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(FileError) as error:
        load_sheet(path)
    start = "" if message[0] in ": " else " "
    assert str(error.value) == f"{path}{start}{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"words": ["a"],\n "x": [[1]\n', " is not JSON: line 3, column 1: "
         "Expecting ',' delimiter."),
        ("[1, 2]", " line 1: must be an object with words, x, w_query, w_key, w_value, "
         "got [1, 2]."),
        ('{"words": ["a"],\n "x": 3, "w_query": [[1]], "w_key": [[1]], "w_value": [[1]]}',
         " line 2: field x must be rows such as [[1, 0], [0, 1]], got 3."),
    ],
)  # fmt: skip
def test_wrong_json(tmp_path, text, message):
    path = written(tmp_path, text, "own.json")
    with pytest.raises(FileError) as error:
        load_sheet(path)
    assert str(error.value) == f"{path}{message}"


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "none.toml"
    with pytest.raises(FileError) as error:
        load_sheet(path)
    assert str(error.value) == f"{path} cannot be read: No such file or directory."
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError) as error:
        load_sheet(binary)
    assert str(error.value) == f"{binary} must be a text file in UTF-8, TOML or JSON."


def test_a_number_that_float64_cannot_hold(tmp_path):
    path = written(tmp_path, GOOD.replace("[0, 1]]", f"[0, {10**400}]]"))
    with pytest.raises(FileError) as error:
        load_sheet(path)
    shown = "1" + "0" * 36 + "..."
    assert str(error.value) == (
        f"{path} line 2: field x must have finite numbers, got {shown} in row 1."
    )


def test_a_number_keeps_its_digits(tmp_path):
    fields = SheetFile.read(written(tmp_path, "x = [0.20, 1e400, 3]")).fields()
    assert [getattr(x, "text", None) for x in fields["x"]] == ["0.20", "1e400", None]
    assert fields["x"] == [0.2, float("inf"), 3]
