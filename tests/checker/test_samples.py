"""The collections of other people's attention: each index is whole, and the samples hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"
FOLDERS = ("first", "second", "third")
BESIDE = ("verify.py", "references.py")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_is_in_the_index_once(folder: str) -> None:
    index = json.loads((SAMPLES / folder / "index.json").read_text(encoding="utf-8"))
    files = [path.name for path in (SAMPLES / folder).glob("*.py") if path.name not in BESIDE]
    assert sorted(entry["file"] for entry in index) == sorted(files)
    wrong = sorted(entry["file"] for entry in index if entry["kind"] == "wrong")
    twins = [entry.get("of") or entry["twin_of"] for entry in index if entry["kind"] == "twin"]
    assert wrong == sorted(twins)


@pytest.mark.nightly
@pytest.mark.parametrize("folder", FOLDERS)
def test_right_samples_equal_their_references_and_wrong_ones_differ(folder: str) -> None:
    pytest.importorskip("torch", reason="the samples are torch modules")
    command = [sys.executable, str(SAMPLES / folder / "verify.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
