"""The types that the page is checked with are those that Python answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")

ROOT = Path(__file__).parents[3]


@pytest.mark.nightly  # it runs a model, a survey and a check
def test_the_types_are_what_python_answers():
    arguments = [sys.executable, ROOT / "tools" / "answer_types.py", "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = subprocess.run(
        arguments, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
