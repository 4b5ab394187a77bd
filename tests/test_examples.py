"""The examples run on the base install, as they are."""

import ast
import json
import runpy
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


def test_hello_is_short():
    assert len((EXAMPLES / "hello_attention.py").read_text(encoding="utf-8").splitlines()) <= 24


def test_the_tour_runs_cell_by_cell(capsys):
    """As a notebook does it: the last expression of a cell is shown."""
    namespace: dict[str, Any] = {}
    shown = [run_cell(cell, namespace) for cell in CELLS]
    printed = capsys.readouterr().out
    assert "weights[good, am] = " in printed
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
