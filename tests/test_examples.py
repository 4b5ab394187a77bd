"""The examples run on the base install, as they are."""

import ast
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
CELLS = [
    "".join(cell["source"])
    for cell in json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))["cells"]
    if cell["cell_type"] == "code"
]
ENDS = {
    "hello_attention": "output[good, 0] = ",
    "observe_long_text": "Look at it: regard open long_text.regard",
    "check_my_kernel": "Diagnosis: causal mask after the softmax",
}


@pytest.mark.parametrize("name", ENDS)
def test_an_example_prints_what_it_promises(name, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [f"{name}.py"])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert ENDS[name] in capsys.readouterr().out


@pytest.mark.parametrize(("folder", "tests"), [("course", 3), ("kernel_ci", 5)])
def test_a_folder_of_tests_runs_in_a_clone(folder, tests):
    """As docs/check-in-your-course.md prints it; this project's own settings do not apply there."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, f"examples/{folder}"], cwd=EXAMPLES.parent, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout.count("::")) == (0, tests), run.stdout


def test_hello_is_short():
    assert len((EXAMPLES / "hello_attention.py").read_text(encoding="utf-8").splitlines()) <= 24


def test_the_tour_runs_cell_by_cell(capsys):
    """As a notebook does it: the last expression of a cell is shown."""
    namespace: dict[str, Any] = {}
    shown = [run_cell(cell, namespace) for cell in CELLS]
    printed = capsys.readouterr().out
    assert "weights[good, am] = " in printed
    taught = re.search(r"weights\[it, dog\] = .* = ([\d.]+)$", printed, flags=re.MULTILINE)
    assert taught is not None
    assert float(taught[1]) > 0.99, "the tour shows another head than the one that was taught"
    assert "no scaling" in printed
    assert any(text.startswith("<svg") for text in shown)


def test_the_tour_is_stored_without_outputs():
    notebook = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") for cell in notebook["cells"])


def run_cell(source: str, namespace: dict[str, Any]) -> str:
    """Text or SVG of the last expression, as a notebook would show it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)  # noqa: S102 (our own notebook)
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)  # noqa: S307
    return value._repr_svg_() if hasattr(value, "_repr_svg_") else repr(value)
