"""The wheel for Pyodide: its tag, and the example notebook on it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.engine.native.compile import WASM_LIBRARY, WASM_PLATFORM
from regard.view.site.parts import NUMPY, find_part

pytestmark = pytest.mark.site
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, site):
    pytest.importorskip("hatchling", reason="the wheel is built by hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    environment = {**os.environ, "REGARD_WHEEL": "wasm32"}
    subprocess.run(
        [*command, "--directory", folder], cwd=ROOT, env=environment, check=True, timeout=300
    )
    (made,) = folder.glob("*.whl")
    return made


def test_the_tag_and_the_kernels(wheel):
    from zipfile import ZipFile

    assert wheel.name.endswith(f"-py3-none-{WASM_PLATFORM}.whl")
    assert f"regard/engine/native/{WASM_LIBRARY}" in ZipFile(wheel).namelist()


def test_the_notebook_runs(wheel, site, wheels, tmp_path):
    notebook = json.loads((ROOT / "examples" / "in_browser.ipynb").read_text(encoding="utf-8"))
    code = ["".join(x["source"]) for x in notebook["cells"] if x["cell_type"] == "code"]
    assert code[0] == "%pip install regard"  # the rest is plain Python
    (tmp_path / "cells.json").write_text(json.dumps(code[1:]))
    script, numpy = Path(__file__).with_name("notebook.mjs"), find_part(NUMPY, wheels)
    arguments = [site.path / site.version, numpy, wheel, tmp_path / "cells.json"]
    ended = subprocess.run(["node", script, *arguments], check=True, capture_output=True, text=True)
    assert "Un chien a mangé" in ended.stdout
    assert "('no scaling',)" in ended.stdout
    assert "simd128" in ended.stdout
