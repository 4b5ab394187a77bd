"""The table of answers as a static site uses it, in this Python: files, pasted code, no files."""

import json

import numpy as np
import pytest

import regard
from regard.view.page.in_browser import BrowserPage

ATTENTION = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
def attention(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2){}) @ v
"""


def asked(page, path, **fields):
    status, _, content = page.answer(path, json.dumps(fields))
    return status, json.loads(content)


@pytest.mark.parametrize(
    ("divided", "verdict", "mistakes"),
    [(" / np.sqrt(q.shape[-1])", "right", []), ("", "wrong", ["no scaling"])],
)
def test_the_last_pasted_function_is_checked(divided, verdict, mistakes):
    status, report = asked(BrowserPage(), "/api/check", code=ATTENTION.format(divided))
    assert (status, report["function"]) == (200, "attention")
    assert (report["verdict"], report["mistakes"]) == (verdict, mistakes)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import numpy as np", "the code must define a function such as def attention(q, k, v)"),
        ("def attention(q, k, v)", "the code must run, got SyntaxError: expected ':'"),
        ("1 / 0", "the code must run, got ZeroDivisionError: division by zero"),
        ("import sys; sys.exit('bye')", "the code must run, got SystemExit: bye"),
        (5, "code must be text, got 5."),
    ],
)
def test_code_that_cannot_be_checked_is_told(code, sentence):
    status, answer = asked(BrowserPage(), "/api/check", code=code)
    assert status == 400
    assert answer["error"].startswith(sentence)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        *[(f"/api/{x}", "no .regard file is open here: run regard open FILE.regard")
          for x in ("map/about", "map/heads", "map/row", "export/map")],
        *[(f"/api/monitor/{x}", "no training is open here: run regard open FOLDER")
          for x in ("about", "measure")],
    ],
)  # fmt: skip
def test_what_needs_a_file_or_a_folder_names_the_command(path, sentence):
    status, answer = asked(BrowserPage(), path, file=0)
    assert status == 400
    assert answer["error"].startswith(sentence)


def test_a_dropped_file_is_opened_and_a_damaged_one_removed(tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 2, 8, 4))
    regard.observe(*x).save(tmp_path / "eight.regard")
    (tmp_path / "damaged.regard").write_bytes(b"nothing of the kind")
    page = BrowserPage()
    status, _, content = page.open_file(str(tmp_path / "damaged.regard"))
    assert status == 400
    assert "is not a complete .regard file" in json.loads(content)["error"]
    assert not (tmp_path / "damaged.regard").exists()
    status, _, content = page.open_file(str(tmp_path / "eight.regard"))
    assert (status, json.loads(content)) == (200, {"file": 0})
    assert asked(page, "/api/map/about", file=0)[0] == 200
    assert asked(page, "/api/page")[1]["files"] == ["eight.regard"]


def test_an_unknown_path_and_a_defect_are_answers_too(monkeypatch, capsys):
    page = BrowserPage()
    assert asked(page, "/api/nothing") == (404, {"error": "There is no answer /api/nothing."})
    monkeypatch.setitem(page.answers, "/api/page", lambda fields, stop: 1 / 0)
    status, answer = asked(page, "/api/page")
    assert status == 500
    assert "this is a defect" in answer["error"]
    assert "ZeroDivisionError" in capsys.readouterr().err
