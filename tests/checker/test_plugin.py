"""The plugin, hints, grades and seeds: what a course and a CI are given; their pages run."""

import ast
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch
from tests.checker.samples import attention_right as right
from tests.checker.samples import attention_wrong as wrong

from regard.checker.check import check
from regard.checker.grading import grade, gradescope, read_points
from regard.checker.mistakes import CATALOGUE
from regard.checker.mistakes.fixes import fix_for
from regard.checker.report import WrongAttentionError
from regard.errors import ArgumentError

ROOT = Path(__file__).parents[2]


def run_pytest(*arguments):
    """pytest in a process of its own, with the plugin whether or not it is installed."""
    installed = importlib.metadata.entry_points(group="pytest11")
    plugin = [] if "regard" in installed.names else ["-p", "regard.checker.plugin"]
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider",
               *plugin, *map(str, arguments)]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_course_example_fails_by_name(tmp_path):
    done = run_pytest("examples/course", "--regard-hints", "0", f"--junitxml={tmp_path}/r.xml")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert "test_attention.py::attention[no scaling]" in done.stdout
    assert "The step that is wrong: scores." in done.stdout
    assert "np.sqrt" not in done.stdout
    cases = ET.parse(tmp_path / "r.xml").getroot().iter("testcase")  # noqa: S314 (our own file)
    names = {case.get("name"): len(case.findall("failure")) for case in cases}
    assert names == {"attention[no scaling]": 1, "causal_attention": 0, "test_the_causal_part": 0}


LISTED = """
import os, sys
import numpy as np

def right(q, k, v):
    e = np.exp((s := q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5) - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v

def leaves(q, k, v):
    os._exit(0)

def exits(q, k, v):
    sys.exit(0)

regard_attention = [leaves, exits, right, lambda q, k, v: v]

def test_another():
    pass
"""


def test_listed_functions_run_apart_and_not_at_collection(tmp_path):
    path = tmp_path / "test_listed.py"
    path.write_text(LISTED)
    done = run_pytest(path, "--collect-only")
    assert "5 tests collected" in done.stdout, done.stdout
    assert "INTERNALERROR" not in done.stdout
    done = run_pytest(path, "-rA")
    assert "3 failed, 2 passed" in done.stdout, done.stdout
    assert "the process ended with status 0: it printed nothing" in done.stdout
    assert "test_listed.py::right\n" in done.stdout
    assert "test_listed.py::<lambda>[value returned unchanged]" in done.stdout


STUDENT = """
import os

def leaves(q, k, v):
    os._exit(0)

def loops(q, k, v):
    while True:
        pass
"""
OF_THE_FIXTURE = """
from student import leaves, loops

def test_leaves(regard_check):
    regard_check(leaves)

def test_loops(regard_check):
    regard_check(loops)

def test_by_place(regard_check):
    regard_check({place!r})
"""


def test_the_fixture_runs_functions_apart(tmp_path):
    (tmp_path / "student.py").write_text(STUDENT)
    place = f"{tmp_path / 'student.py'}:leaves"
    (tmp_path / "test_student.py").write_text(OF_THE_FIXTURE.format(place=place))
    done = run_pytest(tmp_path, "-k", "not loops")
    assert "2 failed" in done.stdout, done.stdout
    assert "the process ended with status 0: it printed nothing" in done.stdout
    done = run_pytest(tmp_path, "-k", "loops", "--regard-seconds", "2")
    assert "1 failed" in done.stdout, done.stdout
    assert "it took longer than 2 s (--seconds N for more)" in done.stdout


def test_an_odd_time_limit_is_refused():
    done = run_pytest("examples/course", "--regard-seconds", "0")
    assert done.returncode == 4
    assert "argument --regard-seconds: invalid" in done.stderr


def test_strict_fails_a_row_that_may_see_nothing():
    done = run_pytest("examples/course", "--regard-strict")
    assert "attention[a row that may see nothing gives a uniform row]" in done.stdout
    assert "The fix:" in done.stdout


@pytest.mark.nightly  # test_suite asks functions the same; here Triton interprets a kernel
def test_the_kernel_example_passes():
    done = run_pytest("examples/kernel_ci")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", ["check-in-your-course.md", "check-in-your-kernel-ci.md"])
def test_the_pages_show_the_files_that_run(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    folder = re.search(r"\(\.\./(examples/\w+)\)", text)[1]
    (test,) = (ROOT / folder).glob("test_*.py")
    source = test.read_text(encoding="utf-8").partition('"""\n\n')[2]
    assert f"```python\n{source}```" in text


def test_hints_give_away_step_by_step():
    report = check(wrong.brackets)
    assert report.hint(0) == "The step that is wrong: softmax."
    assert report.hint(1) == "softmax before scaling."
    assert report.hint(2).startswith("softmax before scaling.\nsoftmax(Q K^T) / sqrt(d): the")
    assert report.hint(3).endswith(
        "scaled = scores / math.sqrt(query.shape[-1])\nweights = torch.softmax(scaled, dim=-1)"
    )
    assert check(right.with_matmul).hint(0) == "Every step is right."
    with pytest.raises(WrongAttentionError, match=r"^softmax before scaling\.$"):
        report.require(hints=1)


def test_grades_are_by_step():
    grades = {g.step: g.points for g in grade(check(wrong.brackets), max_points=6.0)}
    assert grades["The softmax"] == 0.0
    assert list(grades) == [
        "The scores and their scaling",
        "The softmax",
        "The heads",
        "The result",
    ]
    assert sum(grades.values()) == 4.5  # nothing was asked about masks
    results = gradescope(check(right.with_matmul))
    assert results["score"] == 10.0
    assert {test["status"] for test in results["tests"]} == {"passed"}
    assert gradescope(check(wrong.not_attention))["score"] == 0.0
    assert gradescope(check(lambda q, k, v: q))["score"] == 0.0
    assert json.loads(json.dumps(results)) == results


def zeros(q, k, v, mask=None):
    return torch.zeros_like(q)


def the_value(q, k, v, mask=None):
    return v


def the_mean(q, k, v, mask=None):
    return v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1])


def noise(q, k, v, mask=None):
    return torch.randn(*q.shape[:-1], v.shape[-1])


def seeded_noise(q, k, v, mask=None):
    return torch.randn(*q.shape[:-1], v.shape[-1], generator=torch.Generator().manual_seed(1))


def to_do(q, k, v, mask=None):
    raise NotImplementedError("your code here")


def nothing(q, k, v, mask=None):
    q @ k.transpose(-1, -2)


def misspelt(q, k, v, mask=None):
    return sofmax(q @ k.transpose(-1, -2)) @ v  # noqa: F821


@pytest.mark.parametrize("function", [zeros, the_value, the_mean, noise, seeded_noise])
def test_what_is_no_attention_earns_nothing(function):
    assert gradescope(check(function))["score"] == 0.0


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (to_do, "to_do raises NotImplementedError: your code here"),
        (nothing, "nothing returned NoneType, not an array"),
        (misspelt, "misspelt raises NameError: name 'sofmax' is not defined"),
    ],
)
def test_a_function_that_gives_nothing_gets_one_sentence_once(function, sentence):
    report = check(function)
    assert report.tried == (sentence,)
    points = {"scores": 5.0, "softmax": 5.0}
    assert [g.comment for g in grade(report, points=points)] == [sentence, ""]


def test_the_points_of_a_step_can_be_set():
    points = read_points(["scores=2", "softmax=5", "causal mask=3"])
    grades = grade(check(wrong.brackets), points=points)
    assert [(g.points, g.max_points) for g in grades] == [(2.0, 2.0), (0.0, 5.0), (0.0, 3.0)]
    assert grades[2].comment == "not asked about"
    for word in ("scores", "scores=x", "beauty=3", "scores=-1", "scores=inf"):
        with pytest.raises(ArgumentError, match="points must be a step and its points, such as"):
            read_points([word])


def test_fixes_are_in_the_framework_of_the_student():
    for mistake in CATALOGUE:
        for library, other in (("torch", ("np.", "axis=", "keepdims")), ("jax", (" np.",))):
            fix = fix_for(mistake.fix, library)
            ast.parse(fix)
            assert not any(x in fix for x in other), fix
            names = re.findall(r"torch\.(\w+)", fix)
            assert all(hasattr(torch, name) for name in names), fix
            assert max(map(len, fix.splitlines())) <= 76, fix
    assert "torch" in check(wrong.brackets).hint(3)
    assert "torch" not in check(wrong.whole_matrix).hint(3)


def test_the_command_writes_grades_and_hints(tmp_path):
    target = f"{ROOT}/examples/course/student_attention.py:attention"
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "regard", "check", target, "--hints", "0",
               "--gradescope", str(results), "--seed", "7"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout == f"WRONG: {target}\nThe step that is wrong: scores.\n"
    written = json.loads(results.read_text(encoding="utf-8"))
    assert written["score"] == 8.0  # four of the five steps that were asked about


@pytest.mark.parametrize("seed", [1, 20261116])
def test_other_seeds_give_the_same_names(seed):
    for function in (wrong.brackets, wrong.dim_one, wrong.causal_upside_down, wrong.model_width):
        assert check(function, seed=seed).mistakes == wrong.WRONG[function]
    assert check(right.with_matmul, seed=seed).right
    with pytest.raises(ArgumentError, match=r"seed must be 0 or more, got -1\."):
        check(right.with_matmul, seed=-1)


def test_the_plugin_loads_nothing_heavy():
    """Every pytest run of everybody who has regard installed imports it."""
    code = """
import sys
import pytest
before = set(sys.modules)
import regard.checker.plugin
print(sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "['regard', 'regard.checker', 'regard.checker.plugin']\n", done.stderr
