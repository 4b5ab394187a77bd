"""The command: what it runs apart, its limits, exit statuses, JSON, 80 columns without colour."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.command_line import command_here, run_each

import regard
from regard.checker.mistakes import CATALOGUE, STRUCTURAL
from regard.checker.report import Report, WrongAttentionError
from regard.checker.suite import run_suite

ROOT = Path(__file__).parents[2]
MINE = """
import os
import numpy as np
print("a file may print")

def softmax(x):
    e_x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e_x / np.sum(e_x, axis=-1, keepdims=True)

def document(X, w_q, w_k, w_v):
    d_k = w_q.shape[1]
    Q = np.dot(X, w_q)
    K = np.dot(X, w_k)
    V = np.dot(X, w_v)
    scores = np.dot(Q, np.transpose(K, (0, 2, 1))) # Query with key
    scaled_scores = scores / np.sqrt(d_k)
    attention_weights = softmax(scaled_scores)
    output = np.dot(attention_weights, V)
    return output

def right(q, k, v):
    print("and so may a function")
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v

def for_ever(q, k, v):
    while True:
        pass

def too_much(q, k, v):
    return np.ones((200, 2**30))

def crash(q, k, v):
    os.abort()

def refuses(q, k, v):
    raise RuntimeError("only on Sundays")

def strange(q, k, v, flavour, colour):
    return q.flavoured(flavour)

class NoAttention:
    def __init__(self, width):
        self.matrix = np.ones((width, width))

    def forward(self, vectors):
        return vectors @ self.matrix
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    path = tmp_path_factory.mktemp("mine") / "mine.py"
    path.write_text(MINE)
    return path


def run(*arguments):
    return command_here("check", *map(str, arguments))


def run_in_a_fresh_process(*arguments):
    environment = {**os.environ, "COLUMNS": "80", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "regard", "check", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_third_documents_code_is_diagnosed(mine):
    done = run_in_a_fresh_process(f"{mine}:document")
    assert done.returncode == 1
    assert done.stdout.startswith("WRONG: ")
    assert "Diagnosis: np.dot across the batch" in done.stdout
    assert "output = weights @ value" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


SCHEME = """
import numpy as np
class Attention:
    def __init__(self, width):
        self.w_q, self.w_k, self.w_v = np.random.default_rng(0).standard_normal((3, width, width))
    def __call__(self, x, context, scheme):
        assert scheme == "exact"
        q, k, v = x @ self.w_q, context @ self.w_k, context @ self.w_v
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v
"""
EXAMPLE = """
def example():
    return Attention(12), np.ones((2, 7, 12)), np.ones((2, 9, 12)), {"scheme": "exact"}
"""


def test_an_example_call_names_arrays_by_their_shapes(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SCHEME)
    call = ("--call", "Attention(12)(x, context=c, scheme='exact')", "--x", "2,7,12")
    done = run(path, *call, "--c", "2,9,12")
    assert done.returncode == 0, done.stdout
    assert "1 head of 12; queries from `x`, keys and values from `context`" in " ".join(
        done.stdout.split()
    )
    assert run(path, *call, "--c", "2,x").returncode == 2
    assert run(path, "--x", "2,7,12").returncode == 2
    path.write_text(SCHEME + EXAMPLE)
    assert run(f"{path}:Attention").returncode == 0


def test_right_code_is_status_0_and_json_is_json(mine):
    done = run(f"{mine}:right", "--json")
    assert done.returncode == 0
    fields = json.loads(done.stdout)
    assert fields["verdict"] == "right"
    assert fields["mistakes"] == []
    assert Report.from_dict(fields).right


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("for_ever", ("--seconds", "2"), "took longer than 2 s"),
        ("too_much", ("--memory", "2"), "MemoryError"),
        ("crash", (), "was ended by signal 6"),
        ("refuses", (), "RuntimeError: only on Sundays"),
        ("strange", (), "the function requires 'flavour', whose name does not say what it is, and"),
        (
            "strange",
            (),
            "Add this line to the file and check attention: def attention(q, k, v): "
            "return strange(q=q, k=k, v=v, flavour=..., colour=...)",
        ),
        ("NoAttention", (), "no attention was found in NoAttention"),
        ("NoAttention", (), "def attention(x): return NoAttention(...)(vectors=x)"),
        ("nobody", (), "has no 'nobody'; it has softmax, document, right"),
    ],
)
def test_a_target_that_cannot_be_checked_is_status_2(mine, name, options, message):
    done = run(f"{mine}:{name}", *options)
    assert done.returncode == 2, done.stdout
    assert done.stdout.startswith("NOT JUDGED: ")
    assert message in re.sub(r"\s+", " ", done.stdout)


def test_a_file_that_imports_from_its_package_is_loaded_as_a_part_of_it(tmp_path):
    (tmp_path / "package" / "inner").mkdir(parents=True)
    for folder in (tmp_path / "package", tmp_path / "package" / "inner"):
        (folder / "__init__.py").touch()
    (tmp_path / "package" / "tools.py").write_text(MINE)
    path = tmp_path / "package" / "inner" / "mine.py"
    path.write_text("from ..tools import right\n")
    assert run(f"{path}:right").returncode == 0


def test_an_import_that_takes_too_long_is_called_one(tmp_path):
    path = tmp_path / "training.py"
    path.write_text("def attention(q, k, v):\n    return v\n\nwhile True:\n    pass\n")
    text = re.sub(r"\s+", " ", run(f"{path}:attention", "--seconds", "2").stdout)
    assert "importing its file took longer than 2 s (--seconds N for more): put what" in text


def test_the_sheet_and_the_help():
    done = run(ROOT / "examples" / "robots_sheet.toml")
    assert done.returncode == 1
    assert "weights of robots: does not follow from its scaled scores" in done.stdout
    text = run("--help").stdout
    assert "EXECUTED" in text
    assert run("nothing.toml").returncode == 2
    assert run("x.py:f", "--suite", "other").returncode == 2


def test_a_saved_file_is_compared_with_its_checksums(tmp_path):
    path = tmp_path / "run.regard"
    x = np.eye(4, dtype=np.float32)
    regard.observe(x, x, x).save(path)
    done = run(path)
    assert (done.returncode, done.stderr) == (0, "")
    expected = f"RIGHT: {path}. Every array has the checksum that was saved with it.\n"
    assert done.stdout == expected
    assert json.loads(run(path, "--json").stdout) == {"file": str(path), "verdict": "right"}
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    done = run(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path} is damaged: the numbers of " in done.stderr
    assert run(tmp_path / "nothing.regard").returncode == 2


def test_a_file_whose_header_says_other_numbers_is_damaged(tmp_path):
    path = tmp_path / "seen.regard"
    x = np.eye(4, dtype="f4")
    regard.observe(x, x, x, scale=0.25).save(path, query_and_key=True)
    content = path.read_bytes()
    assert content.count(b"0.25") == 1
    path.write_bytes(content.replace(b"0.25", b"0.35"))
    done = run(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "its header is not the one that was saved" in done.stderr


def test_grades_that_cannot_be_saved_are_refused_before_the_work(tmp_path):
    mark = tmp_path / "ran"
    path = tmp_path / "marks.py"
    path.write_text(f"open({str(mark)!r}, 'w')\ndef f(q, k, v): return v\n")
    done = run(f"{path}:f", "--gradescope", tmp_path / "absent/r.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path}/absent/r.json cannot be written: its folder does not exist." in done.stderr
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["observation", "run"])
def test_every_array_of_a_saved_file_is_compared(tmp_path, kind):
    path = tmp_path / "whole.regard"
    x = np.eye(6, dtype=np.float32)
    if kind == "observation":
        regard.observe(x, x, x).save(path)
    else:
        tensor = torch.from_numpy(x)[None, None]
        with regard.watch() as seen:
            for _ in range(2):
                torch.nn.functional.scaled_dot_product_attention(tensor, tensor, tensor)
        seen.save(path)
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")  # safetensors: the header's length first
    for at in np.linspace(start, len(content) - 1, 40).astype(int):
        damaged = bytearray(content)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        done = run(path)
        assert (done.returncode, done.stdout) == (2, ""), at


def test_the_operator_suite_prints_a_table():
    done = run("torch.nn.functional:scaled_dot_product_attention", "--suite", "operator")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| feature | float32 | float16 | bfloat16 |" in done.stdout
    assert re.search(r"\| empty rows \| \d\.\d\d \| \d\.\d\d \| \d\.\d\d \|", done.stdout)
    assert re.search(r"\| causal, fewer queries than keys \| \S+ \(top left\)", done.stdout)
    assert "| softcap | – | – | – |" in done.stdout


def test_the_operator_suite_finds_what_fails():
    wrong = {mistake.name: mistake.function for mistake in CATALOGUE}
    suite = run_suite(wrong["softcap after the mask"], "mine")
    cells = {name: row["float32"].status for name, row in suite.rows.items()}
    assert cells["plain"] == cells["softcap"] == "pass"
    assert cells["softcap and causal"] == "FAIL"
    assert suite.status == 1
    suite = run_suite(wrong["base-2 log-sum-exp returned as natural"], "mine")
    assert suite.rows["log-sum-exp"]["float32"].status == "FAIL"
    suite = run_suite(regard.attention, "mine")
    assert suite.status == 0
    assert suite.rows["window (5, 2)"]["float32"].status == "pass"


def test_a_test_can_raise_with_the_whole_report():
    wrong = CATALOGUE[0].function
    with pytest.raises(WrongAttentionError, match="Diagnosis: no scaling"):
        regard.check(wrong).raise_if_wrong()
    assert issubclass(WrongAttentionError, AssertionError)


FIRST = ("", "import regard.checker.report",
         "from regard.checker.mistakes import CATALOGUE, STRUCTURAL", "from regard import check",
         "import regard.textbook.steps")  # fmt: skip


def test_check_is_the_function_in_any_order_of_imports():
    code = """
import sys
assert "regard" not in sys.modules
{first}
import regard
assert "regard.checker.check" not in sys.modules or {first!r} == "from regard import check"
assert callable(regard.check), regard.check
import regard.checker.cases
assert regard.check(regard.attention, features=("no lengths",)).verdict == "right"
assert "torch" not in sys.modules
assert regard.self_attention.__name__ == "self_attention"
print("right")
"""
    assert run_each([code.format(first=first) for first in FIRST]) == ["right"] * len(FIRST)


def test_the_page_holds_the_whole_catalogue():
    page = (ROOT / "docs" / "check-catalogue.md").read_text()
    for mistake in (*CATALOGUE, *STRUCTURAL):
        assert f"### {mistake.name}\n\n{mistake.about}\n\n```python\n{mistake.fix}\n" in page
        assert mistake.markdown in page
    table = (ROOT / "docs" / "conformance.md").read_text()
    assert "restricted to the flash backend" in table
    assert "restricted to the math backend" in table
