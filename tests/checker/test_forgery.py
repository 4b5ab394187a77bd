"""No code under test can write its own verdict: the judge never runs it and draws fresh numbers."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from regard.checker import sandbox
from regard.checker.sandbox import Limits, check_apart, read_message, write_message

pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors are POSIX's")

REPORT = {
    "function": "x", "verdict": "right", "mistakes": [], "called": "", "findings": [],
    "notes": [], "tried": [], "confidence": "certain", "others": [], "caveats": [],
    "departure": None, "diagnosis": [], "status": 0,
}  # fmt: skip
FORGERIES = f"""
import atexit, gc, json, os, struct, sys
import numpy as np
REPORT = {REPORT!r}

def write_everywhere(data):
    for fd in range(3, 64):
        try:
            os.write(fd, data)
        except OSError:
            pass

def message(value):
    text = json.dumps(value).encode()
    return struct.pack(">QQ", len(text), 0) + text

def report_to_descriptors(q, k, v):
    write_everywhere(b"\\n" + json.dumps(REPORT).encode() + b"\\n")
    os._exit(0)

def report_as_message(q, k, v):
    write_everywhere(message({{"dict": REPORT}}))
    os._exit(0)

def many_messages(q, k, v):
    empty = {{"arrays": [], "changed": [], "error": "", "has_complex": False, "refused": ""}}
    write_everywhere(message({{"dict": empty}}) * 1000)
    os._exit(0)

def patched_check(q, k, v):
    import regard.checker.check as check, regard.checker.sandbox as sandbox
    import regard.checker.compare as compare, regard.checker.report as report
    right = report.Report("x", "right")
    check.check = check.check_prepared = check.judge = lambda *a, **o: right
    sandbox.check_apart = lambda *a, **o: right
    compare.agrees = lambda *a: True
    compare.differ = lambda computed, exact, allowed: np.zeros(computed.shape, bool)
    report.Report.verdict = "right"
    return v + q

def exits(q, k, v):
    sys.exit(0)

def exits_later(q, k, v):
    atexit.register(write_everywhere, message({{"dict": REPORT}}))
    return v + q

def equal_to_everything(q, k, v):
    class Always(np.ndarray):
        def __eq__(self, other):
            return np.ones(self.shape, bool)
        __array_ufunc__ = lambda self, ufunc, method, *inputs, **options: np.ones(self.shape, bool)
    return np.zeros(q.shape[:-1] + v.shape[-1:]).view(Always)

def from_the_judge(q, k, v):
    for frame in gc.get_objects():
        if type(frame).__name__ == "Case":
            raise AssertionError("the judge's memory can be read")
    return v + q

REMEMBERED = {{}}
def known_inputs(q, k, v):
    "Right answers to the inputs of seed 0, and nothing else."
    from regard.checker.cases import PROBES, PROBE_SIZES, SIZES_ASCENDING
    if not REMEMBERED:
        for sizes in (*PROBE_SIZES, *SIZES_ASCENDING):
            for probe in PROBES:
                REMEMBERED[probe.build(sizes).query[0, 0, -1].tobytes()] = True
    if q.size == 120 and q.ndim == 4 and q[0, 0, -1].tobytes() not in REMEMBERED:
        return np.zeros(q.shape[:-1] + v.shape[-1:])
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
"""
NAMES = (
    "report_to_descriptors", "report_as_message", "many_messages", "patched_check", "exits",
    "exits_later", "equal_to_everything", "from_the_judge", "known_inputs",
)  # fmt: skip


@pytest.fixture(scope="module")
def forgeries(tmp_path_factory):
    path = tmp_path_factory.mktemp("forgeries") / "forgeries.py"
    path.write_text(FORGERIES)
    return path


AT_NIGHT = pytest.mark.nightly
RARER = ("many_messages", "report_as_message", "exits_later", "from_the_judge", "Vanishes",
         "BySentence", "ByPlace")  # fmt: skip


def some(names):
    """The names, those of a kind with others at night alone."""
    return [pytest.param(name, marks=AT_NIGHT if name in RARER else ()) for name in names]


@pytest.mark.parametrize("name", some(NAMES))
def test_a_forged_verdict_never_passes(forgeries, name):
    report = check_apart(f"{forgeries}:{name}", {}, Limits())
    assert not report.right, str(report)
    assert report.status in (1, 2)


def test_an_import_that_patches_regard_does_not_pass(tmp_path):
    path = tmp_path / "patches.py"
    path.write_text(
        "import sys, regard.checker.check as c\n"
        f"c.check = lambda f, **k: {REPORT!r}\n"
        f"sys.modules['__main__'].ServedFunction.answer = lambda self, question: {REPORT!r}\n"
        "def attention(q, k, v): return v\n"
    )
    report = check_apart(f"{path}:attention", {}, Limits())
    assert (report.status, report.tried) == (
        2,
        ("its process returned something that is not an answer",),
    )


@pytest.mark.parametrize("name", ["report_to_descriptors", "patched_check"])
def test_a_forged_verdict_gets_no_points(forgeries, tmp_path, name):
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "regard", "check", f"{forgeries}:{name}",
               "--gradescope", str(results)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2), done.stdout
    assert json.loads(results.read_text(encoding="utf-8"))["score"] < 10


def test_fresh_inputs_find_answers_that_were_known_before(forgeries):
    report = check_apart(f"{forgeries}:known_inputs", {}, Limits())
    assert [finding.name for finding in report.failed] == ["fresh inputs"]
    assert report.departure is not None


FORGED_MODULES = """
import sys
import numpy as np
import torch

class Real(torch.nn.Module):
    "A right attention of two heads, until something else is put in its place."
    def __init__(self, d_model=8):
        super().__init__()
        self.qkv = torch.nn.Linear(d_model, 3 * d_model)
    def attend(self, x):
        b, t, e = x.shape
        q, k, v = (a.view(b, t, 2, -1).transpose(1, 2) for a in self.qkv(x).chunk(3, dim=-1))
        w = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return (w @ v).transpose(1, 2).reshape(b, t, e)
    def forward(self, x):
        return self.attend(x)

class Discards(Real):
    "Computes a right attention and its output layer, and returns something else."
    def __init__(self, d_model=8):
        super().__init__(d_model)
        self.out, self.other = torch.nn.Linear(d_model, d_model), torch.nn.Linear(d_model, d_model)
    def forward(self, x):
        self.out(self.attend(x))
        return torch.tanh(self.other(x))

class Vanishes(Discards):
    def forward(self, x):
        return torch.tanh(self.other(x)) + 0 * self.out(self.attend(x))

class Remembers(Real):
    "Right for the inputs of seed 0 alone."
    asked = []
    def forward(self, x):
        if x.dtype == torch.float64 or len(self.asked) < 60:
            self.asked.append(x)
            return self.attend(x)
        return torch.tanh(x)

MIXTURE = np.random.default_rng(3).random((400, 400))
def by_word(x):
    return np.tanh(3 * x)
def by_sentence(x):
    return np.sin(x.cumsum(axis=1))
def by_place(x):
    t = x.shape[1]
    w = np.exp(MIXTURE[:t, :t])
    return w / w.sum(-1, keepdims=True) @ np.tanh(3 * x)

def heads(x):
    b, t, e = x.shape
    return x.reshape(b, t, 2, e // 2).swapaxes(1, 2)
def forged(garbage):
    "Query, key and value that make of any garbage the output of an attention."
    def answer(self, question):
        features = question["ask"] == "features"
        x = question["arrays"][0] if features else question["values"]["source 0"]
        b, t, e = x.shape
        one = np.broadcast_to(np.eye(t), (b, 2, t, t))
        if not features:
            arrays = (garbage(x),)
        elif garbage is by_place:
            arrays = (one * t ** 0.5, np.broadcast_to(MIXTURE[:t, :t].T, one.shape),
                      heads(np.tanh(3 * x)))
        else:
            arrays = (one * 1000, one * 1000, heads(garbage(x)))
        return {"arrays": arrays, "changed": (), "error": "", "has_complex": False, "refused": ""}
    class Forged(Real):
        def __init__(self, d_model=8):
            super().__init__(d_model)
            sys.modules["__main__"].ServedFunction.answer = answer
    return Forged
ByWord, BySentence, ByPlace = forged(by_word), forged(by_sentence), forged(by_place)
"""
FORGED_NAMES = ("Discards", "Vanishes", "Remembers", "ByWord", "BySentence", "ByPlace")


@pytest.fixture(scope="module")
def forged_modules(tmp_path_factory):
    pytest.importorskip("torch", reason="modules need PyTorch")
    path = tmp_path_factory.mktemp("forged") / "forged.py"
    path.write_text(FORGED_MODULES)
    return path


@pytest.mark.parametrize("name", some(FORGED_NAMES))
def test_a_module_cannot_pass_by_what_it_says_of_its_vectors(forged_modules, name):
    report = check_apart(f"{forged_modules}:{name}", {}, Limits())
    assert not report.right, str(report)


def test_the_module_that_the_forgeries_are_made_of_is_right(forged_modules):
    report = check_apart(f"{forged_modules}:Real", {}, Limits())
    assert report.right, str(report)
    assert "fresh inputs" in [finding.name for finding in report.findings]


def test_matrices_of_zero_show_nothing(tmp_path):
    path = tmp_path / "zeros.py"
    path.write_text(
        "import torch\n"
        "class SelfAttention(torch.nn.Module):\n"
        "    def __init__(self, d_model):\n"
        "        super().__init__()\n"
        "        self.query, self.key, self.value = (torch.nn.Linear(d_model, d_model)"
        " for _ in range(3))\n"
        "        for p in self.parameters():\n"
        "            torch.nn.init.zeros_(p)\n"
        "    def forward(self, x):\n"
        "        return torch.zeros_like(x)\n"
    )
    report = check_apart(f"{path}:SelfAttention", {}, Limits())
    assert report.status == 2
    assert report.tried[0].startswith("no attention was found in SelfAttention")


def test_the_worker_that_never_reads_or_closes_everything_ends_at_the_limit(tmp_path):
    path = tmp_path / "mute.py"
    path.write_text(
        "import os, time\ndef closes(q, k, v):\n    os.closerange(3, 64)\n    time.sleep(600)\n"
    )
    report = check_apart(f"{path}:closes", {}, Limits(seconds=2))
    assert "took longer than 2 s (--seconds N for more)" in report.tried[0]


def test_messages_hold_numbers_and_text_alone(tmp_path):
    values = {"x": np.arange(6.0).reshape(2, 3), "mask": np.array([True]), "pair": (1, None, "é")}
    with open(tmp_path / "message", "w+b") as file:
        write_message(file, values)
        file.seek(0)
        back = read_message(file)
    assert back["x"].tolist() == values["x"].tolist()
    assert back["mask"].dtype == bool
    assert back["pair"] == values["pair"]


@pytest.mark.parametrize(
    "text",
    [
        b"[", b'{"array": ["O", [1], 0]}', b'{"array": ["<f8", [-1], 0]}', b'{"a": 1, "b": 2}',
        b'{"array": ["<f8", [9], 0]}', b'{"array": ["<f8", [1], 99]}', b'{"pickle": "x"}',
        b'{"array": ["<f8", [1], -8]}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(tmp_path, text):
    with open(tmp_path / "message", "w+b") as file:
        file.write(sandbox.FRAME.pack(len(text), 8) + text + bytes(8))
        file.seek(0)
        with pytest.raises((ValueError, TypeError, RecursionError)):
            read_message(file)
        file.seek(0)
        file.write(sandbox.FRAME.pack(2**60, 0))
        file.seek(0)
        with pytest.raises(ValueError, match="a message that is too long"):
            read_message(file)


def test_an_array_that_is_named_often_counts_each_time(tmp_path):
    once = '{"array": ["|b1", [1048576], 0]}'
    text = f"[{', '.join([once] * 40)}]".encode()
    with open(tmp_path / "message", "w+b") as file:
        file.write(sandbox.FRAME.pack(len(text), 2**20) + text + bytes(2**20))
        file.seek(0)
        with pytest.raises(ValueError, match="a message that is too long"):
            read_message(file)


@pytest.mark.parametrize(
    "said",
    [
        {"head_width": float("inf")},
        pytest.param({"head_width": 10**9}, marks=AT_NIGHT),
        {"roles": {"form": "x", "names": {}, "required": (), "leading": (), "added": False,
                   "sources": {"source 0": "x", "source 1": "y"}}},
        pytest.param({"reading": {"forms": (("b", "t", 8), ("b", "t", 8)), "sources": (0, 0, 0),
                                  "heads": 2, "returns": ("b", "t", 8), "output": None,
                                  "inside": False, "first_alone": False}}, marks=AT_NIGHT),
        pytest.param({"reading": None}, marks=AT_NIGHT),
        pytest.param({"layouts": ("bthd",), "libraries": (), "dtypes": ()}, marks=AT_NIGHT),
    ],
)  # fmt: skip
def test_a_forged_description_is_a_verdict(forged_modules, tmp_path, said):
    path = tmp_path / "forged_description.py"
    path.write_text(
        f"import sys\nsys.path.insert(0, {str(forged_modules.parent)!r})\n"
        "from forged import Real\nmain = sys.modules['__main__']\nbefore = main._description\n"
        f"inf = float('inf')\nmain._description = lambda *a: before(*a) | {said!r}\n"
    )
    report = check_apart(f"{path}:Real", {"like": "textbook"}, Limits())
    assert report.status == 2
    assert report.tried


def test_a_worker_that_answers_for_ever_ends_at_the_limit(tmp_path):
    path = tmp_path / "slow.py"
    path.write_text(
        "import time\ndef slow(q, k, v):\n    time.sleep(0.3)\n    return q * time.time()\n"
    )
    report = check_apart(f"{path}:slow", {}, Limits(seconds=1))
    assert "took longer than 1 s (--seconds N for more)" in report.tried[0]
